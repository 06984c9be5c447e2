/** A holder's balance over time, and its movements. */
import { useCallback, useMemo } from "react";
import { Loading } from "../../blocks/answered.tsx";
import { Card } from "../../blocks/blocks.tsx";
import { changeColumns } from "../../blocks/columns.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { Chart, type Colours, overTime } from "../../charts/chart.tsx";
import { type Asking, ask, graph } from "../../data/ask.ts";
import { NOW, readAll, useRead } from "../../data/queries.ts";
import type { Token } from "../../data/tokens.ts";
import { amountText, countText, mostOf, proportion } from "../../shown/amount.ts";
import { fromSeconds, momentText } from "../../shown/moment.ts";

const changesPage = graph(`query ChangesPage($coinType: String!, $owner: String!, $after: String) {
  balanceChanges(coinType: $coinType, owner: $owner, after: $after, limit: 1000) {
    owner part cause change balanceAfter checkpoint checkpointTimestamp position txDigest cursor
  }
}`);

/** Pages that are read of one wallet; beyond them only the oldest changes are shown. */
const MAX_PAGES = 10;

const changesOf = async (coinType: string, owner: string, asking: Asking) => {
  const { rows, whole } = await readAll(
    MAX_PAGES,
    async (after) => (await ask(changesPage, { coinType, owner, after }, asking)).balanceChanges,
    ({ cursor }) => cursor,
  );
  const changes = rows.map((row) => ({
    ...row,
    change: BigInt(row.change),
    balanceAfter: BigInt(row.balanceAfter),
    position: BigInt(row.position),
    timeMs: fromSeconds(row.checkpointTimestamp),
  }));
  return { changes, whole };
};

type Change = Awaited<ReturnType<typeof changesOf>>["changes"][number];

/** Changes of all these wallets, in chain order. */
const useChanges = (coinType: string, addresses: readonly string[]) =>
  useRead(NOW, ["changes", coinType, addresses], async (asking) => {
    const found = await Promise.all(addresses.map((owner) => changesOf(coinType, owner, asking)));
    const changes = found.flatMap((one) => one.changes);
    changes.sort((a, b) => (a.position < b.position ? -1 : a.position > b.position ? 1 : 0));
    return { changes, whole: found.every(({ whole }) => whole) };
  });

/** The sum of the balances after each change. */
const balancesOver = (
  changes: readonly Change[],
): readonly { readonly timeMs: number; readonly balance: bigint }[] => {
  const line: { timeMs: number; balance: bigint }[] = [];
  let balance = 0n;
  for (const { change, timeMs } of changes) {
    balance += change;
    const last = line.at(-1);
    if (last !== undefined && last.timeMs === timeMs) last.balance = balance;
    else line.push({ timeMs, balance });
  }
  return line;
};

export const BalanceOverTime = ({
  token: { coinType, decimals },
  addresses,
  untilMs,
}: {
  readonly token: Token;
  readonly addresses: readonly string[];
  /** Leaves out later changes; undefined: none. */
  readonly untilMs: number | undefined;
}) => {
  const query = useChanges(coinType, addresses);
  const { data } = query;
  const changes = useMemo(
    () => (data?.changes ?? []).filter(({ timeMs }) => untilMs === undefined || timeMs <= untilMs),
    [data, untilMs],
  );
  const newestFirst = useMemo(() => changes.toReversed(), [changes]);
  const option = useCallback(
    (colours: Colours) => {
      const line = balancesOver(changes);
      const most = mostOf(line.map(({ balance }) => balance));
      const end = line.at(-1);
      const points = line.map(
        ({ timeMs, balance }) => [timeMs, proportion(balance, most)] as const,
      );
      if (end !== undefined) points.push([untilMs ?? Date.now(), proportion(end.balance, most)]);
      return overTime(colours, colours.accent, points, (atMs) => {
        const at = line.findLast(({ timeMs }) => timeMs <= atMs);
        return at === undefined
          ? ""
          : `${amountText(at.balance, decimals)}\nfrom ${momentText(at.timeMs)}`;
      });
    },
    [changes, untilMs, decimals],
  );
  return (
    <>
      {data === undefined && query.error === null ? (
        <Card title="Balance over time">
          <Loading lines={9} />
        </Card>
      ) : changes.length === 0 ? null : (
        <Card title="Balance over time" about="Tokens and grants of all its wallets">
          <Chart
            label="Balance over time; the table of movements has the numbers"
            option={option}
            height={220}
          />
        </Card>
      )}
      <ListCard
        title={data === undefined ? "Movements" : `${countText(changes.length)} movements`}
        about={
          data === undefined || data.whole
            ? "All changes of its wallets' balances, newest first"
            : "The oldest 10,000 of each wallet; there are more"
        }
        of={query}
        what="The movements"
        label="Movements of this holder"
        height="26rem"
        columns={changeColumns(decimals)}
        rows={() => newestFirst}
        keyOf={({ cursor }) => cursor}
        empty={{ title: "No movements" }}
      />
    </>
  );
};
