/** The steps of a comparison, their order, and the sample sizes used without `--full`. */
import { type Parameter, type Reads, read } from "../../database/readers.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { followPosition } from "../../projections/position.ts";
import { compareCapTable, ownRoot } from "./cap-table.ts";
import { compareCheckpoints, compareDigests, compareHeads } from "./checkpoints.ts";
import { LISTS, type List, PRESENT, pastOf, TOKENS } from "./lists.ts";
import { NotAnsweredError, type RootVersion } from "./other-deployment.ts";
import { compareOwners, comparePresent, OWNERS_PER_QUERY } from "./present.ts";
import type { Compared, Progress } from "./progress.ts";
import { type ComparedPage, comparePage, membersApart } from "./rows.ts";
import { PAGE } from "./served-rows.ts";

/** Sample sizes: lengths of lists read, and random picks. */
export const SAMPLE = {
  /** Coins; more are sampled at random. */
  coins: 50,
  /** Pages from a list's beginning, its end, and at random. */
  firstPages: 5,
  newestPages: 3,
  randomPages: 4,
  /** Cap tables per coin beside the last one, and pages of each. */
  capTables: 2,
  capTablePages: 20,
  /** Queries of a dozen owners each. */
  ownerBatches: 10,
  roots: 20,
  heads: 200,
  checkpoints: 24,
} as const;

/** Everything; random picks are bounded so that a comparison ends within a night. */
const FULL: Bounds = {
  ...SAMPLE,
  coins: Number.POSITIVE_INFINITY,
  firstPages: Number.POSITIVE_INFINITY,
  capTables: 10,
  capTablePages: Number.POSITIVE_INFINITY,
  ownerBatches: Number.POSITIVE_INFINITY,
  roots: Number.POSITIVE_INFINITY,
  heads: Number.POSITIVE_INFINITY,
  checkpoints: 240,
};

type Bounds = { readonly [Name in keyof typeof SAMPLE]: number };

export type Step = {
  /** Shown as progress. */
  readonly name: string;
  /** Pipelines whose rows it compares; omitted: all. */
  readonly pipelines?: readonly string[];
  /**
   * @param keep records that everything before a place is done; a step without places runs whole
   */
  run(from: string | undefined, keep: (next: string) => Promise<void>): Promise<unknown>;
};

type Coin = { readonly coinType: string; readonly firstCheckpoint: bigint };

const COINS = `
  select coin_type as "coinType", first_checkpoint as "firstCheckpoint" from tokens
  where first_checkpoint <= $1 order by coin_type`;

/** Steps of a comparison; deterministic for the same progress. */
export const stepsOf = async (
  compared: Compared,
  pipelines: readonly Pipeline[],
): Promise<readonly Step[]> => {
  const { on, progress, isFull } = compared;
  const bounds = isFull ? FULL : SAMPLE;
  const coins = await read<Coin>(on, COINS, [progress.through]);
  const chosen = coins
    .map((coin) => ({ coin, lot: progress.random(coin.coinType, 2n ** 64n) }))
    .toSorted((one, other) => (one.lot < other.lot ? -1 : 1))
    .slice(0, bounds.coins)
    .map(({ coin }) => coin);
  return [
    ...pipelines.map((pipeline) => ({
      name: `digests of ${pipeline.name}`,
      pipelines: [pipeline.name],
      run: () => compareDigests(compared, pipeline),
    })),
    { name: "checkpoints", run: () => compareCheckpoints(compared, bounds.checkpoints) },
    { name: "heads of the log", run: () => compareHeads(compared, bounds.heads) },
    // Few: compare each of them.
    listStep(compared, { ...bounds, firstPages: Number.POSITIVE_INFINITY }, TOKENS, null),
    ...(await Promise.all(chosen.map((coin) => stepsOfCoin(compared, bounds, coin)))).flat(),
    {
      name: "coins",
      run: async () =>
        progress.count("coins", {
          rows: chosen.length,
          lists: 1,
          inPart: chosen.length < coins.length ? 1 : 0,
        }),
    },
  ];
};

const stepsOfCoin = async (
  compared: Compared,
  bounds: Bounds,
  coin: Coin,
): Promise<readonly Step[]> => {
  const { progress } = compared;
  const { coinType, firstCheckpoint } = coin;
  const span = progress.through - firstCheckpoint + 1n;
  const checkpoints = new Set([progress.through]);
  for (let number = 0; number < bounds.capTables; number += 1) {
    const at = firstCheckpoint + progress.random(`cap table ${number} ${coinType}`, span);
    checkpoints.add(await compared.known(at));
  }
  return [
    ...[...LISTS, ...PRESENT.map(pastOf)].map((list) => listStep(compared, bounds, list, coinType)),
    ...PRESENT.map((list) => ({
      name: `${list.name} now, of ${coinType}`,
      pipelines: list.pipelines,
      run: (from: string | undefined, keep: (next: string) => Promise<void>) =>
        readList(progress, `${list.name} now`, bounds.firstPages, from, keep, (after) =>
          comparePresent(compared, list, coinType, after),
        ),
    })),
    ownersStep(compared, bounds, coinType),
    ...[...checkpoints].map((at) => ({
      name: `cap table of ${coinType} at checkpoint ${at}`,
      run: async () => {
        const { capTablePages: mostPages } = bounds;
        const found = await compareCapTable(compared, { coinType, at, mostPages });
        progress.count("capTable", { rows: found.rows, lists: 1, inPart: found.isWhole ? 0 : 1 });
        progress.add(found.differences);
      },
    })),
    ...([1, 2] as const).map((version) => ({
      name: `roots of version ${version} of ${coinType}`,
      run: () => compareRoots(compared, version, coinType, bounds.roots),
    })),
  ];
};

type ComparePage = (after: string | undefined) => Promise<ComparedPage>;

/** Compares pages up to the end of a list or a limit; returns whether it reached the end. */
const readPages = async (
  progress: Progress,
  name: string,
  most: number,
  from: string | undefined,
  compare: ComparePage,
  keep?: (next: string) => Promise<void>,
): Promise<boolean> => {
  let after = from;
  for (let pages = 0; pages < most; pages += 1) {
    const { rows, differences, next } = await compare(after);
    progress.count(name, { rows });
    progress.add(differences);
    if (next === undefined) return true;
    after = next;
    if (most === Number.POSITIVE_INFINITY) await keep?.(next);
  }
  return false;
};

/** Reads a list from its beginning, or from where an earlier run stopped. */
const readList = async (
  progress: Progress,
  name: string,
  most: number,
  from: string | undefined,
  keep: (next: string) => Promise<void>,
  compare: ComparePage,
): Promise<boolean> => {
  if (from === undefined) progress.count(name, { lists: 1 });
  const isWhole = await readPages(progress, name, most, from, compare, keep);
  if (!isWhole) progress.count(name, { inPart: 1 });
  return isWhole;
};

const listStep = (
  compared: Compared,
  bounds: Bounds,
  list: List,
  coinType: string | null,
): Step => ({
  name: coinType === null ? list.name : `${list.name} of ${coinType}`,
  pipelines: list.pipelines,
  run: async (from, keep) => {
    const { here, there, progress, on, first } = compared;
    const { through } = progress;
    const page = (after: string | undefined) =>
      comparePage(here, there, list, { coinType, through, after });
    if (await readList(progress, list.name, bounds.firstPages, from, keep, page)) return;
    const starts: (string | undefined)[] = [];
    const behind = list.behind;
    if (list.inChainOrder !== undefined && behind !== undefined) {
      const newest = await newestStretch(on, list.inChainOrder, [
        coinType,
        followPosition(through),
      ]);
      if (newest !== undefined) starts.push(behind(newest - 1n));
      // Rows may differ where stored digests first do.
      for (const pipeline of list.pipelines) {
        const hint = progress.hintOf(pipeline);
        if (hint !== undefined) starts.push(behind(followPosition(hint - 1n)));
      }
    }
    for (const start of starts) {
      await readPages(progress, list.name, bounds.newestPages, start, page);
    }
    for (let number = 0; list.start !== undefined && number < bounds.randomPages; number += 1) {
      const random = (below: bigint) =>
        progress.random(`${list.name} ${number} ${coinType}`, below);
      await readPages(progress, list.name, 1, list.start({ random, first, through }), page);
    }
  },
});

/** Position of the row one page before the newest. */
const newestStretch = async (
  on: Reads,
  table: string,
  given: Parameter[],
): Promise<bigint | undefined> => {
  const text = `
    select position from ${table}
    where coin_type = $1 and position <= $2 order by position desc offset ${PAGE - 1} limit 1`;
  const [row] = await read<{ readonly position: bigint }>(on, text, given);
  return row?.position;
};

const ownersOf = (table: string) => `
  (select distinct owner from ${table} where coin_type = $1 and owner > $2
   order by owner limit ${OWNERS_PER_QUERY})`;

/** All present and past owners. */
const OWNERS = `${ownersOf("token_changes")} union ${ownersOf("grant_changes")}
  order by owner limit ${OWNERS_PER_QUERY}`;

const ownersStep = (compared: Compared, bounds: Bounds, coinType: string): Step => ({
  name: `balances of ${coinType}`,
  pipelines: ["shared_token_objects", "timelock_objects"],
  run: async (from, keep) => {
    const { on, progress } = compared;
    const name = "tokenBalance and tokenObjects, now and then";
    const batch = async (after = ""): Promise<ComparedPage> => {
      const found = await read<{ readonly owner: string }>(on, OWNERS, [coinType, after]);
      const owners = found.map(({ owner }) => owner);
      const next = owners.length < OWNERS_PER_QUERY ? undefined : owners.at(-1);
      return { ...(await compareOwners(compared, coinType, owners)), next };
    };
    if (await readList(progress, name, bounds.ownerBatches, from, keep, batch)) return;
    for (let number = 0; number < bounds.randomPages; number += 1) {
      const lot = progress.random(`owners ${number} ${coinType}`, 2n ** 256n);
      await readPages(progress, name, 1, `0x${lot.toString(16).padStart(64, "0")}`, batch);
    }
  },
});

/** Compares the other deployment's published roots with this one's. */
const compareRoots = async (
  { here, there, progress, first }: Compared,
  version: RootVersion,
  coinType: string,
  most: number,
): Promise<void> => {
  const what = `roots of version ${version} that are published there`;
  progress.count(what, { lists: 1 });
  let left = most;
  for (let before = progress.through + 1n; ; ) {
    const page = await there.roots(version, coinType, before);
    if (page === null) throw new NotAnsweredError("it publishes none");
    // Two keys may have signed roots of one checkpoint.
    let reached = before - 1n;
    for (const { checkpoint, checkpointDigest, decimals = null, ...published } of page) {
      if (checkpoint > reached) throw new NotAnsweredError("its pages do not advance");
      reached = checkpoint;
      if (checkpoint < first) return;
      if (left === 0) {
        progress.count(what, { inPart: 1 });
        return;
      }
      left -= 1;
      const [own, stated] =
        version === 1
          ? [await ownRoot(here, coinType, checkpoint), {}]
          : [await ownRoot(here, coinType, checkpoint, decimals), { decimals }];
      // A corrected root holds even before it is published.
      const { root, total } = published.corrections.at(-1)?.to ?? published;
      const other = { root, issued: total, checkpointDigest, ...stated };
      const apart = own === null ? { here: null, there: other } : membersApart(own, other);
      progress.count(what, { rows: 1 });
      if (apart !== null)
        progress.add([{ what, coinType, row: `checkpoint ${checkpoint}`, ...apart }]);
    }
    if (page.length === 0) return;
    before = reached;
  }
};
