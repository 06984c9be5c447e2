/**
 * Heads: the newest version of each live object in the log is the one that a node serves, or the
 * node's newer one leads back to it over changes after the log's end.
 *
 * A node's list of heads is its word: nothing on the ledger shows that an object did not change.
 * What a node says that the log lacks is shown by the ledger, though.
 */
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import type { LedgerIndex, ObjectHead } from "../../ledger/history/ledger-index.ts";
import { pause } from "../../waiting/backoff.ts";
import { CHANGES, type Gap } from "./chains.ts";
import { changesIn, walkBack } from "./object-walk.ts";
import { touchingFrom } from "./touching.ts";
import { WalkEndedError, type WholeCheckpoints } from "./whole-checkpoints.ts";

export type LiveObject = {
  readonly coinType: string;
  readonly objectId: string;
  readonly version: bigint;
  /** Checkpoint of this version. */
  readonly seen: bigint;
};

export type CheckedHeads = {
  /** The node. */
  readonly source: string;
  /** Its newest checkpoint before it was asked. */
  readonly at: bigint;
  /** ISO 8601, when it was asked first. */
  readonly askedAt: string;
  readonly counts: ReadonlyMap<string, HeadCounts>;
  /** Newer versions that the ledger shows and the log lacks: the first of each coin. */
  readonly gaps: readonly Gap[];
  /**
   * On the node's word alone: objects that are live in the log and that it says are gone, or whose
   * newer version it dates to the log's range: the first of each coin.
   */
  readonly said: readonly Gap[];
  readonly notShown: readonly NotShown[];
};

/** Live objects of a coin. */
export type HeadCounts = {
  /** Those whose newest version is the log's. */
  readonly same: bigint;
  /** Those that changed after the log's end, shown by the ledger. */
  readonly changed: bigint;
};

/** What could not be shown about a coin. */
export type NotShown = {
  readonly coinType: string;
  readonly what: string;
  /** An object with the newer version that a node serves. */
  readonly newer?: { readonly objectId: string; readonly version: bigint };
};

type CheckHeads = {
  readonly index: LedgerIndex;
  /** Other nodes, whose lists are asked where it has none. */
  readonly others?: readonly LedgerIndex[] | undefined;
  /** Before a node is asked again, ms; doubles. */
  readonly againMs?: number | undefined;
  readonly checkpoints: WholeCheckpoints;
  readonly through: bigint;
};

/** As many as a node's lists take in several requests at the same time. */
const OBJECTS_PER_READ = 800;
/** Kept of each coin; the rest is no news. */
const MOST_PER_COIN = 10;

const LIVE = `
  select coin_type as "coinType", object_id as "objectId", version, checkpoint as seen
  from (${CHANGES}) as changes where last and not removed
  order by coin_type collate "C", object_id collate "C"`;

/**
 * Live objects at the end of a checkpoint, by coin and id.
 * @param sql a connection that does nothing else until the end
 */
export async function* liveObjects(
  sql: Sql,
  through: bigint,
  coins: readonly string[],
  perRead = OBJECTS_PER_READ,
): AsyncGenerator<readonly LiveObject[]> {
  type Row = Omit<LiveObject, "version"> & { readonly version: string };
  const pages = sql.unsafe<Row[]>(LIVE, [`${through}`, texts(coins)]).cursor(perRead);
  for await (const page of pages) {
    yield page.map((row) => ({ ...row, version: BigInt(row.version) }));
  }
}

export type HeadsCheck = {
  page(objects: readonly LiveObject[], signal: AbortSignal): Promise<void>;
  result(): CheckedHeads;
};

/** Asks a node for the heads of live objects, page by page. */
export const openHeadsCheck = async (
  asked: CheckHeads,
  signal: AbortSignal,
): Promise<HeadsCheck> => {
  const { index, through } = asked;
  const { description: source } = index;
  const at = await index.newest(signal);
  const askedAt = new Date().toISOString();
  const counts = new Map<string, HeadCounts>();
  const gaps: Gap[] = [];
  const said: Gap[] = [];
  const notShown: NotShown[] = [];
  const add = <T extends { readonly coinType: string }>(list: T[], one: T): void => {
    const ofCoin = list.filter(({ coinType }) => coinType === one.coinType).length;
    if (ofCoin < MOST_PER_COIN) list.push(one);
  };
  return {
    page: async (objects, signal) => {
      const heads = at < through ? null : await headsOf(asked, objects, signal);
      for (const object of objects) {
        signal.throwIfAborted();
        const { coinType, objectId } = object;
        if (heads === null) {
          if (notShown.some((one) => one.coinType === coinType)) continue;
          const what = `heads: ${source} has checkpoints up to ${at}, before the log's ${through}`;
          notShown.push({ coinType, what });
          continue;
        }
        const verdict = await checkHead(asked, object, heads.get(objectId) ?? null, at, signal);
        const { same, changed } = counts.get(coinType) ?? { same: 0n, changed: 0n };
        if (verdict === "same") counts.set(coinType, { same: same + 1n, changed });
        else if (verdict === "changed") counts.set(coinType, { same, changed: changed + 1n });
        else if ("shown" in verdict) add(gaps, verdict.shown);
        else if ("said" in verdict) add(said, verdict.said);
        else add(notShown, verdict);
      }
    },
    result: () => ({ source, at, askedAt, counts, gaps, said, notShown }),
  };
};

/** Behind one address may be several nodes, of which one lags: such answers are asked for again. */
const ASKED_AGAIN = 3;
const AGAIN_MS = 500;

const headsOf = async (
  { index, againMs = AGAIN_MS }: CheckHeads,
  objects: readonly LiveObject[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ObjectHead | null>> => {
  const heads = new Map<string, ObjectHead | null>();
  let due = objects;
  for (let again = 0; ; again += 1) {
    const ids = due.map(({ objectId }) => objectId);
    for (const [id, head] of await index.heads(ids, signal)) heads.set(id, head);
    due = due.filter(({ objectId, version }) => (heads.get(objectId)?.version ?? -1n) < version);
    if (due.length === 0 || again === ASKED_AGAIN) return heads;
    await pause(againMs * 2 ** again, signal);
  }
};

type Verdict = "same" | "changed" | { readonly shown: Gap } | { readonly said: Gap } | NotShown;

const checkHead = async (
  asked: CheckHeads,
  object: LiveObject,
  head: ObjectHead | null,
  at: bigint,
  signal: AbortSignal,
): Promise<Verdict> => {
  const { coinType, objectId, version } = object;
  if (head?.version === version) return "same";
  const { description } = asked.index;
  if (head !== null && head.version < version) {
    const what = `heads: ${description} has version ${head.version} of object ${objectId}, older than the log's ${version}`;
    return { coinType, what };
  }
  try {
    return head === null
      ? await removedSince(asked, object, at, signal)
      : await changedSince(asked, object, head, signal);
  } catch (error) {
    if (!(error instanceof WalkEndedError)) throw error;
    if (head !== null) return await notFollowed(asked, object, head, error, signal);
    return { coinType, what: `heads: the end of object ${objectId}: ${error.message}` };
  }
};

/** A newer version that does not lead back: the node's word says whether it is of the log's range. */
const notFollowed = async (
  { index, through }: CheckHeads,
  { coinType, objectId, version: known, seen }: LiveObject,
  { version, previousTransaction }: ObjectHead,
  { message }: WalkEndedError,
  signal: AbortSignal,
): Promise<Verdict> => {
  const changed =
    (await index.checkpointOf(previousTransaction, signal)) ?? (await index.newest(signal));
  const what = `${index.description} serves this version, and the last one read is ${known}: ${message}`;
  if (changed <= through) {
    return { said: { coinType, objectId, version, from: seen + 1n, what } };
  }
  return {
    coinType,
    what: `heads: object ${objectId}, version ${version}: ${what}; whether it changed up to checkpoint ${through} is open`,
    newer: { objectId, version },
  };
};

/** A newer version leads back to the log's, over checkpoints after its end. */
const changedSince = async (
  { through, ...walking }: CheckHeads,
  { coinType, objectId, version: known, seen }: LiveObject,
  head: ObjectHead,
  signal: AbortSignal,
): Promise<Verdict> => {
  for await (const { version, before, whole } of walkBack(walking, objectId, head, signal)) {
    const { sequence } = whole.checkpoint;
    const gap = { coinType, objectId, version, from: seen + 1n };
    if (sequence <= through) {
      const what = `it changed to this version at checkpoint ${sequence}, which was not read; the last one read is ${known}`;
      return { shown: { ...gap, what } };
    }
    if (before === known) return "changed";
    if (before === null || before < known) {
      const what = `it changed from version ${before ?? "none"} to ${version} at checkpoint ${sequence}, without this version of the log between`;
      return { shown: { ...gap, version: known, what } };
    }
  }
  return { coinType, what: `heads: the versions of object ${objectId} do not lead to ${known}` };
};

/** The node has no such object: a removal after the log's end explains it. */
const removedSince = async (
  { index, others = [], checkpoints, through }: CheckHeads,
  { coinType, objectId, version, seen }: LiveObject,
  at: bigint,
  signal: AbortSignal,
): Promise<Verdict> => {
  let found: readonly bigint[] | null = null;
  const range = { first: through + 1n, least: at };
  for (const node of [index, ...others])
    found ??= await touchingFrom(node, objectId, range, signal);
  if (found === null) {
    const what = `heads: ${index.description} has no object ${objectId}, and no lists up to checkpoint ${at} to show since when`;
    return { coinType, what };
  }
  let newest: bigint | null = version;
  for (const sequence of found) {
    const { checkpoint } = await checkpoints.read(sequence, signal);
    for (const { before, after } of changesIn(checkpoint, objectId)) {
      if (before === newest) newest = after;
    }
  }
  if (newest === null) return "changed";
  const what = `it is live in the log, but ${index.description} has no such object: its end was not read`;
  return { said: { coinType, objectId, version, from: seen + 1n, what } };
};
