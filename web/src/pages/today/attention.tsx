/** What needs attention, each with a link to where it is dealt with. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { AsOf, Failed } from "../../blocks/answered.tsx";
import { Figure, type Tone } from "../../blocks/blocks.tsx";
import type { Summary } from "../../data/answers.ts";
import { askPath, pathWith } from "../../data/ask.ts";
import { again, NOW, ROWS_PER_REQUEST, useRead } from "../../data/queries.ts";
import { useService } from "../../data/service.tsx";
import { useSession } from "../../data/session.ts";
import { keepToken, keepTokenWith, type Token } from "../../data/tokens.ts";
import { useExceptions } from "../../register/register.ts";
import { countText } from "../../shown/amount.ts";
import { Amount } from "../../shown/fitted.tsx";
import { Ago } from "../../shown/shown.tsx";

export const Attention = ({ token, since }: { readonly token: Token; readonly since: number }) => {
  const { state, lost } = useService();
  const { kind } = useSession();
  const exceptions = useExceptions(token.coinType);
  const { data, error } = exceptions;
  const { loose = [], frozen: frozenRows = [] } = data ?? {};
  const frozen = frozenRows.flatMap(({ wallets }) =>
    wallets.filter(({ isFrozen, balance }) => isFrozen && balance > 0n),
  );
  /** @param rows the rows that were read: at the limit there may be more */
  const wallets = (
    label: string,
    only: "loose" | "frozen",
    found: readonly { readonly balance: bigint }[],
    rows: readonly unknown[],
  ) => (
    <Item
      tone={data === undefined || lost ? "plain" : found.length === 0 ? "good" : "warn"}
      label={label}
      value={
        data === undefined
          ? pendingText(error)
          : `${countText(found.length)}${rows.length === ROWS_PER_REQUEST ? " or more" : ""}`
      }
      about={
        <>
          {found.length === 0 ? null : (
            <Amount
              units={found.reduce((sum, { balance }) => sum + balance, 0n)}
              decimals={token.decimals}
            />
          )}{" "}
          {data?.isLong ? <Ago at={data.timeMs} /> : null}
          <AsOf of={exceptions} flush />
        </>
      }
      link={
        <Link to="/cap-table" search={keepTokenWith({ only })}>
          Show
        </Link>
      }
    />
  );
  return (
    <section
      aria-label="Needs attention"
      className="grid grid-cols-1 gap-3 sm:grid-cols-2 lg:grid-cols-4"
    >
      <Item
        tone={state.tone}
        label="Service"
        value={state.word}
        about={
          <span className="line-clamp-2" title={state.detail ?? undefined}>
            {state.detail}
          </span>
        }
        link={
          <Link to="/status" search={keepToken}>
            Status
          </Link>
        }
      />
      {wallets("Unassigned wallets with a balance", "loose", loose, loose)}
      {wallets("Frozen wallets with a balance", "frozen", frozen, frozenRows)}
      {kind === "operator" ? (
        <Failures since={since} />
      ) : (
        <Item
          tone="plain"
          label={FAILURES}
          value="not shown"
          about="needs an operator key"
          link={
            <Link to="/requests" search={keepToken}>
              Sign in
            </Link>
          }
        />
      )}
      {error !== null && data === undefined ? (
        <div className="sm:col-span-2 lg:col-span-4">
          <Failed error={error} what="The register" onRetry={() => void exceptions.refetch()} />
        </div>
      ) : null}
    </section>
  );
};

const FAILURES = "Failed requests and deliveries";

const pendingText = (error: Error | null): string => (error === null ? "…" : "not answered");

/** A failure need not change the register, which tells of all else. Milliseconds. */
const SUMMARY_MS = 30_000;

/** @param since unix seconds */
const Failures = ({ since }: { readonly since: number }) => {
  const { lost } = useService();
  const path = pathWith("/operator/summary", { since: new Date(since * 1_000).toISOString() });
  const summary = useRead(NOW, ["summary", since], (asking) => askPath<Summary>(path, asking), {
    refetchInterval: again(SUMMARY_MS),
  });
  const { data, error } = summary;
  const { failed = 0, alreadyDone = 0, undelivered = 0 } = data?.requests ?? {};
  const [requests, deliveries, receivers] = [
    // Neither is a failure of the request.
    failed - alreadyDone - undelivered,
    data?.deliveries.failed ?? 0,
    data?.receivers.disabled ?? 0,
  ];
  const isWell = requests + deliveries + receivers === 0;
  return (
    <Item
      tone={data === undefined || lost ? "plain" : isWell ? "good" : "bad"}
      label={FAILURES}
      value={data === undefined ? pendingText(error) : countText(requests + deliveries)}
      about={
        data === undefined ? undefined : (
          <>
            {`${countText(requests)} requests, ${countText(deliveries)} deliveries`}
            {receivers === 0 ? "" : `, ${countText(receivers)} endpoints disabled`}
            <AsOf of={summary} flush />
          </>
        )
      }
      link={
        <Link to="/requests" search={keepTokenWith({ status: "FAILED" })}>
          Show
        </Link>
      }
    />
  );
};

const Item = ({
  tone,
  label,
  value,
  about,
  link,
}: {
  readonly tone: Tone;
  readonly label: string;
  readonly value: string;
  readonly about?: ReactNode;
  readonly link: ReactNode;
}) => (
  <Figure
    edge={tone}
    tone={tone === "bad" ? "bad" : "plain"}
    label={label}
    value={value}
    about={
      // Room for two lines from the start, so that nothing moves when they come.
      <div className="flex min-h-[2lh] justify-between gap-x-3">
        <div className="min-w-0">{about}</div>
        <span className="shrink-0 text-accent hover:underline">{link}</span>
      </div>
    }
  />
);
