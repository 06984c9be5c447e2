/** What needs somebody, each with where to go; a line says so when nothing does. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { AsOf } from "../../blocks/answered.tsx";
import { Failed, type Tone } from "../../blocks/blocks.tsx";
import { askPath } from "../../data/ask.ts";
import { useTokenSearch } from "../../data/here.ts";
import { readSummary } from "../../data/operator.ts";
import { NOW } from "../../data/queries.ts";
import { useService } from "../../data/service.tsx";
import { useSession } from "../../data/session.ts";
import type { Token } from "../../data/tokens.ts";
import { PAGE_ROWS } from "../../register/load.ts";
import { useExceptions } from "../../register/use-register.ts";
import { countText } from "../../shown/amount.ts";
import { Amount } from "../../shown/fitted.tsx";
import { Ago } from "../../shown/shown.tsx";

/** Failed requests and deliveries since a time; null where the key does not show them. */
const useOffice = (since: number) => {
  const { key, kind } = useSession();
  return useQuery({
    queryKey: [NOW, "summary", since],
    queryFn: ({ signal }) => {
      const asked = new URLSearchParams({ since: new Date(since * 1_000).toISOString() });
      return askPath(`/operator/summary?${asked}`, readSummary, { key, signal });
    },
    enabled: kind === "operator",
  });
};

export const Attention = ({ token, since }: { readonly token: Token; readonly since: number }) => {
  const { state, lost } = useService();
  const office = useOffice(since);
  const failures = office.data && {
    requests: office.data.requests.failed,
    deliveries: office.data.deliveries.failed,
    receivers: office.data.receivers.disabled,
  };
  const exceptions = useExceptions(token.coinType);
  const kept = useTokenSearch();
  const { kind } = useSession();
  const { loose = [], frozen: frozenRows = [], isLong, timeMs } = exceptions.data ?? {};
  const frozen = frozenRows.flatMap(({ wallets }) =>
    wallets.filter(({ isFrozen, balance }) => isFrozen && balance > 0n),
  );
  const asOf = (
    <>
      {isLong && timeMs !== undefined ? <Ago ms={timeMs} /> : null}
      <AsOf of={exceptions} flush />
    </>
  );
  /** Wallets that somebody should look at; of the rows that were read there may be more. */
  const wallets = (
    label: string,
    only: "loose" | "frozen",
    found: readonly { readonly balance: bigint }[],
    rows: readonly unknown[],
  ) => (
    <Item
      tone={exceptions.data === undefined || lost ? "plain" : found.length === 0 ? "good" : "warn"}
      label={label}
      value={
        exceptions.data === undefined
          ? exceptions.error === null
            ? "…"
            : "not answered"
          : `${countText(found.length)}${rows.length === PAGE_ROWS ? " or more" : ""}`
      }
      about={
        found.length === 0 ? (
          asOf
        ) : (
          <>
            <Amount
              units={found.reduce((sum, { balance }) => sum + balance, 0n)}
              decimals={token.decimals}
            />{" "}
            {asOf}
          </>
        )
      }
      link={
        <Link to="/cap-table" search={{ ...kept, only }}>
          Show them
        </Link>
      }
    />
  );
  return (
    <section
      aria-label="What needs attention"
      className="grid grid-cols-1 gap-3 sm:grid-cols-2 lg:grid-cols-4"
    >
      <Item
        tone={state.tone}
        label="Service"
        value={state.word}
        about={state.detail}
        link={
          <Link to="/status" search={kept}>
            Status
          </Link>
        }
      />
      {wallets("Unassigned wallets with a balance", "loose", loose, loose)}
      {wallets("Frozen wallets with a balance", "frozen", frozen, frozenRows)}
      {kind === "operator" ? (
        <Item
          tone={
            failures === undefined || lost
              ? "plain"
              : failures.requests + failures.deliveries + failures.receivers === 0
                ? "good"
                : "bad"
          }
          label="Failed requests and deliveries"
          value={
            failures === undefined
              ? office.error === null
                ? "…"
                : "not answered"
              : countText(failures.requests + failures.deliveries)
          }
          about={
            failures === undefined ? undefined : (
              <>
                {`${countText(failures.requests)} requests, ${countText(failures.deliveries)} deliveries, ${countText(failures.receivers)} addresses disabled`}
                <AsOf of={office} flush />
              </>
            )
          }
          link={
            <Link to="/requests" search={{ ...kept, status: "FAILED" }}>
              Show them
            </Link>
          }
        />
      ) : (
        <Item
          tone="plain"
          label="Failed requests and deliveries"
          value="not shown"
          about="an operator key shows them"
          link={
            <Link to="/requests" search={kept}>
              Sign in with one
            </Link>
          }
        />
      )}
      {exceptions.error !== null && exceptions.data === undefined ? (
        <div className="sm:col-span-2 lg:col-span-4">
          <Failed
            error={exceptions.error}
            what="The register"
            onRetry={() => void exceptions.refetch()}
          />
        </div>
      ) : null}
    </section>
  );
};

const EDGES: Readonly<Record<Tone, string>> = {
  plain: "border-l-line",
  good: "border-l-good",
  warn: "border-l-warn",
  bad: "border-l-bad",
  accent: "border-l-accent",
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
  <div
    className={`relative min-w-0 rounded-xl border border-l-4 border-line bg-surface px-4 py-3 ${EDGES[tone]}`}
  >
    <div className="text-xs font-medium text-muted">{label}</div>
    <div
      className={`figures mt-0.5 text-lg font-semibold tracking-tight ${tone === "bad" ? "text-bad" : ""}`}
    >
      {value}
    </div>
    <div className="mt-0.5 flex flex-wrap justify-between gap-x-3 text-xs text-muted">
      <span className="min-w-0">{about}</span>
      <span className="text-accent hover:underline">{link}</span>
    </div>
  </div>
);
