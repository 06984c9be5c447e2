/** A holder's balance over time, and its movements. */
import { useMemo } from "react";
import { type Answer, Answered } from "../../blocks/answered.tsx";
import { Cut } from "../../blocks/blocks.tsx";
import type { Column } from "../../blocks/column.ts";
import { amountColumn, timeColumn, transactionColumn } from "../../blocks/columns.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { Side, WalletName } from "../../blocks/names.tsx";
import { amounts } from "../../charts/measure.ts";
import { OverTime } from "../../charts/over-time.tsx";
import type { Token } from "../../data/tokens.ts";
import { CAUSES } from "../../register/words.ts";
import { countText } from "../../shown/amount.ts";
import type { Change, History } from "./history.ts";

export const Balance = ({
  token,
  of,
  untilMs,
}: {
  readonly token: Token;
  readonly of: Answer<History>;
  /** Undefined: now. */
  readonly untilMs: number | undefined;
}) => {
  const history = of.data;
  const columns = useMemo(() => columnsOf(token), [token]);
  // A list that is shown before the picture would be pushed down by it.
  if (history === undefined) {
    return (
      <Answered of={of} what="The movements" lines={6} card>
        {() => null}
      </Answered>
    );
  }
  return (
    <>
      {history.changes.length === 0 ? null : (
        <Picture token={token} history={history} untilMs={untilMs} />
      )}
      <ListCard
        title={`${countText(history.changes.length)} movements`}
        about={
          history.isWhole
            ? "All changes of its balance, over the wallets that it had then, newest first"
            : "The first 10,000 shown; there are more"
        }
        of={of}
        what="The movements"
        label="Movements of this holder"
        view="holder"
        height="26rem"
        columns={columns}
        rows={({ changes }) => changes}
        keyOf={({ cursor }) => cursor}
        empty={{ title: "No movements" }}
      />
    </>
  );
};

const Picture = ({
  token,
  history: { changes },
  untilMs,
}: {
  readonly token: Token;
  readonly history: History;
  readonly untilMs: number | undefined;
}) => {
  const { times, lines } = useMemo(() => {
    const steps: { timeMs: number; total: bigint }[] = [];
    for (const { timeMs, totalAfter } of changes.toReversed()) {
      const last = steps.at(-1);
      // The last change of a second is its end.
      if (last?.timeMs === timeMs) last.total = totalAfter;
      else steps.push({ timeMs, total: totalAfter });
    }
    const end = steps.at(-1);
    if (end !== undefined) steps.push({ timeMs: untilMs ?? Date.now(), total: end.total });
    const values = steps.map(({ total }) => total);
    return {
      times: steps.map(({ timeMs }) => timeMs),
      lines: [{ name: "Balance", colour: "accent", values }] as const,
    };
  }, [changes, untilMs]);
  const measure = useMemo(() => amounts(token), [token]);
  return (
    <OverTime
      title="Balance over time"
      about="Tokens and grants of all wallets that it had then"
      caption="Balance of this holder over time"
      kind="steps"
      times={times}
      lines={lines}
      measure={measure}
      height={220}
    />
  );
};

const columnsOf = (token: Token): readonly Column<Change>[] => [
  timeColumn("Time", ({ timeMs }) => timeMs),
  {
    header: "Type",
    cell: ({ cause }) => <Cut text={CAUSES[cause]} />,
    plain: ({ cause }) => CAUSES[cause],
  },
  amountColumn("Change", token, ({ change }) => change, { signed: true }),
  amountColumn("Total after", token, ({ totalAfter }) => totalAfter, { wideOnly: true }),
  {
    header: "Counterparty",
    wideOnly: true,
    cell: ({ counterparty, counterpartyHolderId }) =>
      counterparty && (
        <Side
          coinType={token.coinType}
          address={counterparty}
          holderId={counterpartyHolderId}
          none=""
          brief
        />
      ),
    plain: ({ counterparty }) => counterparty,
  },
  {
    header: "Wallet",
    wideOnly: "very",
    cell: ({ wallet }) => <WalletName address={wallet} to="movements" />,
    plain: ({ wallet }) => wallet,
  },
  {
    header: "Held in",
    wideOnly: "very",
    cell: ({ part }) => part && HELD_IN[part],
    plain: ({ part }) => part && HELD_IN[part],
  },
  transactionColumn(({ txDigest }) => txDigest),
];

const HELD_IN = { TOKENS: "tokens", GRANTS: "grants" } as const;
