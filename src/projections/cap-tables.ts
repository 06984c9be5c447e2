/**
 * Registers of the past: who held a coin at the end of a checkpoint, by wallet and holder. Their
 * order has no index, so each is built from the last movements and cached for its other pages.
 */
import { type CapPlace, comparePlaces, placeOf } from "../../client/cap-rows.ts";
import type { Step } from "../../client/sum-tree.ts";
import { type Reads, read } from "../database/readers.ts";
import type { HolderPlace, TokenHolder } from "./balances.ts";
import {
  type AtMark,
  BEFORE_ROWS,
  type CapRow,
  inStretches,
  OWNERS,
  readRows,
} from "./cap-rows.ts";
import type { GuardedReads } from "./guarded-reads.ts";
import { type Clock, createListCache, createShared, KEPT_MS } from "./list-cache.ts";
import { createSumTree } from "./merkle-sum.ts";
import { positionsEnd } from "./position.ts";

export type { AtMark, CapRow, CapWallet } from "./cap-rows.ts";

/** Totals of all rows. */
export type CapTotals = {
  readonly issued: bigint;
  readonly holderCount: number;
  /** Owners (wallets) with a positive balance. */
  readonly ownerCount: number;
  /** Root of the Merkle sum tree over all rows; hex without 0x. */
  readonly root: string;
  /** Version-2 root, which covers the decimals; null when these were not given. */
  readonly root2: string | null;
};

/** A row, its table's totals, and its paths to the roots of version 1 and 2. */
type ProvenRow = CapTotals & {
  readonly row: CapRow;
  readonly path: readonly Step[];
  readonly path2: readonly Step[] | null;
};

export type Matches = (row: CapRow) => boolean;

/** A holder by number, or the wallet whose row it is (its holder's, if it has one). */
export type Whose = { readonly holderId: bigint } | { readonly owner: string };

export const isRowOf = (whose: Whose): Matches =>
  "owner" in whose
    ? ({ wallets }) => wallets.some(({ address }) => address === whose.owner)
    : ({ holderId }) => holderId === whose.holderId;

type SummedTable = {
  readonly coinType: string;
  readonly at: AtMark;
  /** For version 2 of the root, null if unknown; omitted: that root is not computed. */
  readonly decimals?: number | null | undefined;
};

type RowsQuery = {
  readonly coinType: string;
  readonly at: AtMark;
  readonly limit: number;
  readonly after?: CapPlace | undefined;
  readonly matches?: Matches | undefined;
};

export type CapTables = {
  /**
   * A page of matching rows (default: all): largest first, ties by holder id, then wallets without
   * a holder by address.
   */
  rows(on: GuardedReads, query: RowsQuery): Promise<readonly CapRow[]>;
  totals(on: GuardedReads, query: SummedTable): Promise<CapTotals>;
  /** The first matching row with its path; null if none matches. */
  proven(
    on: GuardedReads,
    query: SummedTable & { readonly matches: Matches },
  ): Promise<ProvenRow | null>;
  /** Owners in the order of `tokenHolders`, at the end of a checkpoint. */
  owners(
    on: GuardedReads,
    query: {
      readonly coinType: string;
      readonly checkpoint: bigint;
      readonly limit: number;
      readonly after?: HolderPlace | undefined;
    },
  ): Promise<readonly TokenHolder[]>;
};

const BEFORE_OWNERS: HolderPlace = { balance: 2n ** 128n, owner: "" };

const compareOwners = (a: HolderPlace, b: HolderPlace): number => {
  if (a.balance !== b.balance) return a.balance > b.balance ? -1 : 1;
  return a.owner === b.owner ? 0 : a.owner < b.owner ? -1 : 1;
};

const readOwners = async (
  on: Reads,
  coinType: string,
  checkpoint: bigint,
  after: HolderPlace,
  limit: number,
): Promise<TokenHolder[]> => {
  const rows = await read<{
    readonly owner: string;
    readonly balance: string;
    readonly timelockBalance: string;
  }>(on, OWNERS, [
    coinType,
    positionsEnd(checkpoint),
    (-after.balance).toString(),
    after.owner,
    limit,
  ]);
  return inStretches(rows, (row) => ({
    owner: row.owner,
    balance: BigInt(row.balance),
    timelockBalance: BigInt(row.timelockBalance),
    timelocksIncluded: true,
  }));
};

/** Register cache of one process; keeps the most recently used. */
export const createCapTables = (now: Clock = () => performance.now()): CapTables => {
  const rows = createListCache<CapRow, CapPlace>(KEPT_ROWS, {
    compare: comparePlaces,
    placeOf,
    sizeOf: ({ wallets }) => wallets.length,
    now,
  });
  const owners = createListCache<TokenHolder, HolderPlace>(KEPT_OWNERS, {
    compare: compareOwners,
    placeOf: (row) => row,
    now,
  });
  const totals = new Map<string, { readonly made: CapTotals; readonly untilMs: number }>();
  const shared = createShared<CapTotals>();
  // Keyed by rebuilds: a rebuild may change past results.
  const keyOf = async (on: GuardedReads, coinType: string, checkpoint: bigint) =>
    `${coinType} ${checkpoint} ${(await on.committed()).rebuilds}`;
  const page = async (
    on: GuardedReads,
    { coinType, at, limit, after = BEFORE_ROWS }: Omit<RowsQuery, "matches">,
  ) =>
    rows.page(await keyOf(on, coinType, at.checkpoint), after, limit, BEFORE_ROWS, (from, most) =>
      readRows(on, coinType, at, from, most),
    );
  const all = (on: GuardedReads, coinType: string, at: AtMark) => (after: CapPlace | undefined) =>
    page(on, { coinType, at, limit: ROWS_PER_PAGE, after });
  return {
    rows: async (on, { matches, ...query }) => {
      if (matches === undefined) return page(on, query);
      const found: CapRow[] = [];
      for (let { after } = query; ; ) {
        const some = await page(on, { ...query, limit: ROWS_PER_PAGE, after });
        await inStretches(some, (row) => {
          if (found.length < query.limit && matches(row)) found.push(row);
        });
        const last = some.at(-1);
        if (last === undefined || some.length < ROWS_PER_PAGE || found.length === query.limit)
          return found;
        after = placeOf(last);
      }
    },
    proven: async (on, { matches, ...table }) => {
      const { row, path, path2, ...totals } = await sumUp(
        table,
        all(on, table.coinType, table.at),
        matches,
      );
      return row === undefined || path === undefined
        ? null
        : { ...totals, row, path, path2: path2 ?? null };
    },
    owners: async (on, { coinType, checkpoint, limit, after = BEFORE_OWNERS }) =>
      owners.page(
        await keyOf(on, coinType, checkpoint),
        after,
        limit,
        BEFORE_OWNERS,
        (from, most) => readOwners(on, coinType, checkpoint, from, most),
      ),
    totals: async (on, table) => {
      const { coinType, at, decimals } = table;
      const key = `${await keyOf(on, coinType, at.checkpoint)} ${decimals}`;
      const known = () => {
        const found = totals.get(key);
        return found && found.untilMs > now() ? found.made : undefined;
      };
      return shared(key, known, async () => {
        const { issued, holderCount, ownerCount, root, root2 } = await sumUp(
          table,
          all(on, coinType, at),
        );
        const made = { issued, holderCount, ownerCount, root, root2 };
        if (totals.size >= KEPT_TOTALS) totals.clear();
        totals.set(key, { made, untilMs: now() + KEPT_MS });
        return made;
      });
    },
  };
};

/**
 * Totals, and the path to the first matching row. `read` gives the rows behind a place,
 * `ROWS_PER_PAGE` at most.
 */
const sumUp = async (
  { coinType, at: { checkpoint }, decimals }: SummedTable,
  read: (after: CapPlace | undefined) => Promise<readonly CapRow[]>,
  matches: Matches = () => false,
) => {
  const tree = createSumTree();
  const tree2 = createSumTree();
  let row: CapRow | undefined;
  let [issued, holderCount, ownerCount] = [0n, 0, 0];
  let after: CapPlace | undefined;
  for (;;) {
    const some = await read(after);
    await inStretches(some, (next) => {
      const isFirst = row === undefined && matches(next);
      if (isFirst) row = next;
      const leaf = { coinType, checkpoint, row: next };
      tree.add(leaf, isFirst);
      if (decimals !== undefined) tree2.add({ ...leaf, version: 2, decimals }, isFirst);
      issued += next.balance;
      holderCount += 1;
      ownerCount += next.wallets.filter(({ balance }) => balance > 0n).length;
    });
    const last = some.at(-1);
    if (last === undefined || some.length < ROWS_PER_PAGE) break;
    after = placeOf(last);
  }
  const { root: root2, path: path2 } = tree2.top();
  return {
    issued,
    holderCount,
    ownerCount,
    row,
    ...tree.top(),
    ...(decimals === undefined ? { root2: null, path2: undefined } : { root2, path2 }),
  };
};

/** Cached wallets, about 600 bytes each with their rows; cached owners, 200 bytes each. */
const KEPT_ROWS = 120_000;
const KEPT_OWNERS = 100_000;

/** Rows read per page for the totals; an uncached table is rebuilt for each page. */
const ROWS_PER_PAGE = 30_000;

/** Cached totals, a few hundred bytes each. */
const KEPT_TOTALS = 1_000;
