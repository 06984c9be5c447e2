/** Every change of the balances of a few wallets, and the line they draw together. */
import { useQuery } from "@tanstack/react-query";
import { allPages } from "../../data/all-pages.ts";
import { ask } from "../../data/ask.ts";
import { graph, type ResultOf } from "../../data/graph.ts";
import { NOW } from "../../data/queries.ts";
import { useSession } from "../../data/session.ts";
import { fromSeconds } from "../../shown/moment.ts";

const changesPage = graph(`query ChangesPage($coinType: String!, $owner: String!, $after: String) {
  balanceChanges(coinType: $coinType, owner: $owner, after: $after, limit: 1000) {
    owner part cause change balanceAfter checkpoint checkpointTimestamp position txDigest cursor
  }
}`);

type Listed = NonNullable<ResultOf<typeof changesPage>["balanceChanges"]>[number];

const changeOf = (row: Listed) => ({
  ...row,
  change: BigInt(row.change),
  balanceAfter: BigInt(row.balanceAfter),
  position: BigInt(row.position),
  timeMs: fromSeconds(row.checkpointTimestamp),
});
export type Change = ReturnType<typeof changeOf>;

/** Changes of one wallet that are read: beyond them the oldest are shown, and said to be all that are. */
const MOST_PAGES = 10;

const changesOf = async (
  coinType: string,
  owner: string,
  asking: { readonly key: string; readonly signal: AbortSignal },
): Promise<{ readonly changes: readonly Change[]; readonly whole: boolean }> => {
  const { rows, whole } = await allPages<Listed>(
    MOST_PAGES,
    async (after) => (await ask(changesPage, { coinType, owner, after }, asking)).balanceChanges,
    ({ cursor }) => cursor,
  );
  return { changes: rows.map(changeOf), whole };
};

/** Of all these wallets, in chain order. */
export const useChanges = (coinType: string, addresses: readonly string[]) => {
  const { key } = useSession();
  return useQuery({
    queryKey: [NOW, "changes", coinType, addresses],
    queryFn: async ({ signal }) => {
      const found = await Promise.all(
        addresses.map((owner) => changesOf(coinType, owner, { key, signal })),
      );
      const changes = found.flatMap((one) => one.changes);
      changes.sort((a, b) => (a.position < b.position ? -1 : a.position > b.position ? 1 : 0));
      return { changes, whole: found.every(({ whole }) => whole) };
    },
  });
};

/** What all of them held together after each moment at which that changed. */
export const balancesOver = (
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
