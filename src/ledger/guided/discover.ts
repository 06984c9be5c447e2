/**
 * Discovery: which checkpoints of a range concern the contract.
 *
 * Asks a node's lists, fetches what they name, verifies it, and notes the chain of versions of each
 * object. What chains lack is asked for in turn, object by object over the gap alone; what the lists
 * do not give is followed back from the transaction that gave the missing version. Ends when every
 * chain goes from its creation to its removal or to the version that the node serves.
 *
 * Nothing rests on the lists: they only save work. Excerpts are staged, so a restart repeats the
 * questions and fetches nothing twice. Memory: some 500 bytes per object, 50 per checkpoint, ten
 * kilobytes per epoch, and the checkpoints under way.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { LogCommittee } from "../../log/fact.ts";
import { highest, lowest } from "../../values/bigints.ts";
import { splitType } from "../../values/move-type.ts";
import { pause } from "../../waiting/backoff.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { CheckpointDecodeError } from "../decode/cursor.ts";
import type { LedgerIndex, ListedRange, ObjectHead, Touch } from "../history/ledger-index.ts";
import { loadBls } from "../proof/bls.ts";
import { CertificateError, TrustNotReachedError } from "../proof/proof-errors.ts";
import { LONGEST_STRETCH_MS } from "../reading/pass.ts";
import type { GuidedProgress } from "../reading/progress.ts";
import { REFETCH_PAUSE_MS } from "../reading/proving.ts";
import { isGone, type Trust } from "../reading/trust.ts";
import type { CheckpointSource } from "../sources/source.ts";
import {
  type Chain,
  createChains,
  type Gap,
  gapsOf,
  headOf,
  lastVersionOf,
  wholeUpTo,
} from "./chains.ts";
import { createCommittees } from "./committees.ts";
import { fetchEach, fetchOne, type Listed } from "./fetch-each.ts";
import { ListsBehindError, PackageUnknownError, SourceBehindError } from "./guided-errors.ts";
import { type Found, previousTransactionOf, readFound, readStaged } from "./read-found.ts";
import { type FoundExcerpt, type Staging, stagedAfter } from "./staging.ts";

/** A live object of the log that a range continues. */
export type KnownObject = {
  readonly id: string;
  readonly coinType: string | null;
  readonly kind: Chain["kind"];
  readonly version: bigint;
  readonly checkpoint: bigint;
};

export type DiscoverOptions = {
  readonly index: LedgerIndex;
  readonly source: CheckpointSource;
  /** Committees that were verified before. */
  readonly committees?: readonly LogCommittee[] | undefined;
  readonly trust: Trust;
  readonly staging: Staging;
  /** Canonical, original first. */
  readonly packages: readonly string[];
  /** First and last checkpoint; the last one is always read. */
  readonly range: ListedRange;
  /** What the log knows before the range; nothing by default. */
  readonly known?: AsyncIterable<KnownObject> | Iterable<KnownObject>;
  /** Checkpoints fetched at once; 32 by default. */
  readonly concurrency?: number;
  /** Repeated fetches of an invalid checkpoint; 2 by default. */
  readonly refetches?: number;
  /** Longest wait in place for a source that is behind the lists, ms; a minute by default. */
  readonly sourceWaitMs?: number;
  readonly onProgress?: (progress: GuidedProgress) => void;
  readonly onRefused?: (error: Error) => void;
  readonly onNotice?: (notice: string) => void;
};

/** A chain that cannot be completed. */
export type Missing = {
  readonly objectId: string;
  readonly coinType: string | null;
  readonly version: bigint;
  /** Checkpoint of the last known change before it; null: the chain's beginning is missing. */
  readonly after: bigint | null;
  readonly reason: string;
};

export type Discovered = {
  readonly packages: readonly string[];
  /** Coin types of the contract. */
  readonly coins: ReadonlySet<string>;
  /** The committee that signed each staged checkpoint, by epoch. */
  readonly committeeOf: ReturnType<typeof createCommittees>["of"];
  readonly missing: readonly Missing[];
  readonly fetched: number;
  readonly bytes: number;
  readonly objects: number;
};

/** Literals of a request that nodes accept. */
const LITERALS = 10;
/** Requests under way at once. */
const REQUESTS = 4;
/** Objects per question for newest versions. */
const HEADS = 200;
/** Checkpoints between gaps that one request may scan needlessly. */
const SHARED_SCAN = 10_000n;
const SOURCE_WAIT_MS = 60_000;
/** Staged together. */
const STAGE_EXCERPTS = 100;
const STAGE_BYTES = 4 * 1024 * 1024;

/** How far the search for a chain went; each step is taken once. */
type Search = {
  listed: boolean;
  /** After the newest known version: lists of the range, then beyond it, then the head itself. */
  tail: "unasked" | "listed" | "listed beyond" | "given up";
  /** The version last compared with the node's. */
  compared: bigint | null;
  /** Why the newest version could not be followed to the node's. */
  tailFailed: string | null;
  /** Why gaps could not be closed, by `keyOf`. */
  readonly failed: Map<string, string>;
};

const keyOf = ({ version, before }: Gap): string => `${version} ${before}`;

/**
 * @throws ListsBehindError (retry), SourceBehindError (wait), PackageUnknownError (stop), errors of index, source and signatures
 */
export const discover = async (
  options: DiscoverOptions,
  signal: AbortSignal,
): Promise<Discovered> => {
  const { index, source, staging, range, concurrency = 32, refetches = 2 } = options;
  const { sourceWaitMs = SOURCE_WAIT_MS } = options;
  const { first, last } = range;
  const packages = [...options.packages];
  const coins = new Set<string>();
  const coinsDescribed = new Set<string>();
  const chains = createChains();
  /** Metadata objects that the log knows. */
  const inLog = new Set<string>();
  const searches = new Map<string, Search>();
  const read = new Set<bigint>();
  /** Each once: the end of an epoch may be fetched twice. */
  let staged = new Map<bigint, FoundExcerpt>();
  let stagedBytes = 0;
  let [fetched, bytes, open] = [0, 0, 0];
  let step = "lists";
  let at: bigint | null = null;
  let stretchFrom = performance.now();

  const show = () => {
    if (options.onProgress === undefined) return;
    // Counted now and then: there may be many.
    if (fetched % 16 === 0) open = [...chains.open].filter(isTracked).length;
    options.onProgress({ step, fetched, bytes, objects: chains.size, open, at, last });
  };

  const flush = async () => {
    const some = [...staged.values()];
    staged = new Map();
    stagedBytes = 0;
    if (some.length > 0) await staging.add(some);
  };
  const stage = async (checkpoint: bigint, excerpt: Uint8Array) => {
    staged.set(checkpoint, { checkpoint, excerpt });
    stagedBytes += excerpt.byteLength;
    if (staged.size >= STAGE_EXCERPTS || stagedBytes >= STAGE_BYTES) await flush();
  };

  const committees = createCommittees({
    source,
    index,
    bls: await loadBls(),
    trust: options.trust,
    verified: options.committees ?? [],
    onEnd: async (raw) => {
      // Verified; read like others, as it may hold facts too.
      if (!read.has(raw.sequence)) await note(raw, readFound(raw, packages), true);
    },
  });

  /** Checkpoints after an upgrade that were read without its types. */
  let again: bigint[] = [];
  /** Addresses whose events and calls were not asked for. */
  let unasked: string[] = [...packages];

  const noteFound = ({ sequence, certified, changes, coins: met, joined }: Found) => {
    read.add(sequence);
    if (certified.nextCommittee !== null) committees.keep(certified);
    for (const { id, kind, coinType, change } of changes) {
      // What the log has of it is known; before it begins, nothing can be appended.
      if (sequence < first && (kind === "contract" || inLog.has(id))) continue;
      // A right to upgrade that is given up names no package.
      const isForeign = kind === "upgrade cap" && change.after === null;
      if (isForeign && chains.get(id) === undefined) continue;
      chains.note(id, { kind, coinType }, change);
    }
    for (const coinType of sequence < first ? [] : met) coins.add(coinType);
    packages.push(...joined);
    unasked.push(...joined);
  };

  const note = async (
    raw: RawCheckpoint,
    found: ReturnType<typeof readFound>,
    isEnd: boolean,
  ): Promise<void> => {
    const { sequence, joined, isRelevant } = found;
    fetched += 1;
    bytes += raw.bytes.byteLength;
    at = sequence;
    if (joined.length > 0) {
      // Before the upgrade is staged: a restart must not take these for complete.
      await flush();
      await staging.dropAfter(sequence);
      again = [...again, ...[...read].filter((each) => each > sequence)];
    }
    noteFound(found);
    const isStaged = sequence >= first && sequence <= last;
    if (isStaged && (isRelevant || isEnd || sequence === last)) {
      await stage(sequence, await found.excerpt());
    }
    show();
    if (performance.now() - stretchFrom > LONGEST_STRETCH_MS) {
      await turn();
      stretchFrom = performance.now();
    }
  };

  /** Reads and verifies a checkpoint; fetches it again on failure, as if damaged. */
  const take = async (raw: RawCheckpoint): Promise<void> => {
    let current = raw;
    for (let left = refetches; ; left -= 1) {
      try {
        const known = packages.length;
        let found = readFound(current, packages);
        await committees.verify(found.certified, signal);
        // An end of an epoch on the way to its committee upgraded the contract.
        if (packages.length > known) found = readFound(current, packages);
        // The end of an epoch was read while its committee was followed.
        const isEnd = found.certified.nextCommittee !== null;
        return await note(current, found, isEnd);
      } catch (error) {
        // Before the range nothing is appended: what trust does not reach is not needed.
        if (error instanceof TrustNotReachedError && raw.sequence < first) {
          read.add(raw.sequence);
          return;
        }
        if (!isInvalid(error)) throw error;
        options.onRefused?.(error);
        if (left <= 0 || signal.aborted) throw error;
        await pause(REFETCH_PAUSE_MS, signal);
        current = await fetchOne(source, raw.sequence, signal);
      }
    }
  };

  const takeEach = async (list: Listed): Promise<void> => {
    const unread = (own: AbortSignal) => notRead(list(own), read);
    for await (const raw of fetchEach(source, unread, concurrency, signal)) await take(raw);
    await flush();
  };

  const ask = (what: readonly Touch[], { first: from, last: to }: ListedRange) =>
    takeEach((own) => index.touching(what, { first: from, last: to }, own));

  const searchOf = ({ id }: Chain): Search => {
    const known = searches.get(id);
    if (known !== undefined) return known;
    const begun: Search = {
      ...{ listed: false, tail: "unasked", compared: null },
      ...{ tailFailed: null, failed: new Map() },
    };
    searches.set(id, begun);
    return begun;
  };

  /** The log has all changes of its objects before the range. */
  const notInLog = ({ kind, id }: Chain, from: bigint): bigint =>
    kind === "contract" || inLog.has(id) ? highest(from, first) : from;

  const isTracked = ({ kind, coinType }: Chain): boolean =>
    kind !== "metadata" || (coinType !== null && coins.has(coinType));

  /** Newest checkpoint that lists and source both have. */
  const reach = async (): Promise<bigint> => {
    const [listed, newest] = await Promise.all([index.covers(signal), source.latest(signal)]);
    return lowest(listed.last, newest ?? last);
  };

  /** The lists' node may be ahead of the source. @throws SourceBehindError (wait) */
  const untilSourceHas = async (sequence: bigint): Promise<void> => {
    const deadline = performance.now() + sourceWaitMs;
    for (;;) {
      const newest = await source.latest(signal);
      if (newest === null || newest >= sequence) return;
      signal.throwIfAborted();
      if (performance.now() >= deadline) {
        throw new SourceBehindError(source.description, newest, sequence);
      }
      await pause(REFETCH_PAUSE_MS, signal);
    }
  };

  /** The checkpoint of a transaction; reads it, if it can be had. Null: read, or the reason why not. */
  const takeTransaction = async (digest: string): Promise<string | null> => {
    const sequence = await index.checkpointOf(digest, signal);
    if (sequence === null) return `the node knows no checkpoint of transaction ${digest}`;
    if (read.has(sequence)) return `checkpoint ${sequence} does not show it`;
    if (sequence > last) await untilSourceHas(sequence);
    try {
      await takeEach(() => [sequence]);
      return null;
    } catch (error) {
      if (!isGone(error)) throw error;
      return `checkpoint ${sequence}, of transaction ${digest}, cannot be had`;
    }
  };

  /** Gaps that may still be closed. */
  const openGapsOf = (chain: Chain): readonly Gap[] =>
    gapsOf(chain).filter((gap) => !searchOf(chain).failed.has(keyOf(gap)));

  /** Follows the latest open gap of a chain back by one transaction. */
  const walkBack = async (chain: Chain): Promise<void> => {
    const gap = openGapsOf(chain).at(-1);
    // Another chain's transaction may have closed it meanwhile.
    if (gap === undefined) return;
    const failed = await closeByInput(gap);
    if (failed !== null) searchOf(chain).failed.set(keyOf(gap), failed);
  };

  /** Reads the transaction that gave the version that a gap lacks. Null: read, or the reason why not. */
  const closeByInput = async ({ chain, version, before }: Gap): Promise<string | null> => {
    if (version === null) return "its removal is missing";
    const raw = await fetchOne(source, before, signal);
    const digest = previousTransactionOf(raw, chain.id, version);
    return digest === null
      ? `checkpoint ${before} does not show which transaction gave it`
      : takeTransaction(digest);
  };

  /** Asks for objects over ranges, several in a request where their ranges are close. */
  const askForObjects = async (asked: readonly Asked[]): Promise<void> => {
    const requests = together(asked);
    for (let from = 0; from < requests.length; from += REQUESTS) {
      const some = requests.slice(from, from + REQUESTS);
      await takeEach((own) =>
        each(some, ({ ids, first: low, last: high }) =>
          index.touching(
            ids.map((address) => ({ kind: "object" as const, address })),
            { first: low, last: high },
            own,
          ),
        ),
      );
    }
  };

  /** A staged excerpt, verified as if it was fetched; null when it and all after it must be found again. */
  const verifiedAgain = async ({ checkpoint, excerpt }: FoundExcerpt): Promise<Found | null> => {
    const known = packages.length;
    try {
      const found = readStaged({ sequence: checkpoint, bytes: excerpt }, packages);
      await committees.verify(found.certified, signal);
      // An end of an epoch that was not staged upgrades the contract: what follows is dropped.
      return packages.length === known ? found : null;
    } catch (error) {
      if (!isInvalid(error)) throw error;
      options.onNotice?.(
        `staged checkpoints (log_found) from ${checkpoint} on are dropped and found again: ${error.message}`,
      );
      await staging.dropAfter(checkpoint - 1n);
      return null;
    }
  };

  const begin = async (): Promise<bigint> => {
    for await (const { id, kind, coinType, version, checkpoint } of options.known ?? []) {
      chains.note(id, { kind, coinType }, { checkpoint, before: null, after: version });
      if (kind === "contract" && coinType !== null) coins.add(coinType);
      if (kind !== "metadata" || coinType === null) continue;
      inLog.add(id);
      coinsDescribed.add(coinType);
    }
    for await (const { checkpoint, excerpt } of stagedAfter(staging, first - 1n)) {
      if (checkpoint > last) break;
      const found = await verifiedAgain({ checkpoint, excerpt });
      if (found === null) break;
      noteFound(found);
      if (performance.now() - stretchFrom <= LONGEST_STRETCH_MS) continue;
      await turn();
      stretchFrom = performance.now();
    }
    const { last: listedUpTo } = await index.covers(signal);
    if (listedUpTo < last) throw new ListsBehindError(index.description, listedUpTo, last);
    await untilSourceHas(last);
    const [original = ""] = packages;
    const published = (await index.heads([original], signal)).get(original) ?? null;
    const begins =
      published === null ? null : await index.checkpointOf(published.previousTransaction, signal);
    if (begins === null) throw new PackageUnknownError(index.description, original);
    return begins;
  };

  /** Metadata of a coin: all that its package's publication made, and what the node names. */
  const describe = async (coinType: string): Promise<void> => {
    const home = splitType(coinType).address;
    const ids = await index.metadataOf(coinType, signal);
    const unknown = ids.filter((id) => chains.get(id) === undefined);
    const heads = await index.heads([home, ...unknown], signal);
    const wanted = coinsDescribed.has(coinType) ? unknown : [home, ...unknown];
    coinsDescribed.add(coinType);
    for (const id of wanted) {
      const head = heads.get(id) ?? null;
      if (head !== null) await takeTransaction(head.previousTransaction);
    }
  };

  const began = await begin();
  const listedFrom = highest(began, first);
  const wholeRange = { first: listedFrom, last };
  const described = new Set<string>();

  /** Asks for what is open, one step further each time, until nothing is. */
  const settle = async (isAsked: (chain: Chain) => boolean): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      if (again.length > 0) {
        const due = again;
        again = [];
        for (const sequence of due) read.delete(sequence);
        await takeEach(() => due);
        continue;
      }
      const newCoin = [...coins].find((coinType) => !described.has(coinType));
      if (newCoin !== undefined) {
        step = "metadata";
        described.add(newCoin);
        await describe(newCoin);
        continue;
      }
      const gaps = [...chains.open].filter(isAsked).flatMap(openGapsOf);
      const listable = gaps.filter(({ chain }) => !searchOf(chain).listed);
      if (listable.length > 0) {
        step = "objects";
        for (const { chain } of listable) searchOf(chain).listed = true;
        await askForObjects(
          listable.map(({ chain, after, before }) => ({
            id: chain.id,
            first: after === null ? began : notInLog(chain, after + 1n),
            last: before - 1n,
          })),
        );
        continue;
      }
      if (gaps.length > 0) {
        step = "walking back";
        for (const chain of new Set(gaps.map(({ chain: each }) => each))) await walkBack(chain);
        continue;
      }
      step = "newest versions";
      if (!(await followTails(isAsked))) return;
    }
  };

  /** Compares newest versions with the node's; false when nothing is left to ask. */
  const followTails = async (isAsked: (chain: Chain) => boolean): Promise<boolean> => {
    const live = [...chains.all()].filter((chain) => {
      const head = headOf(chain);
      if (head === null || head.checkpoint > last || !isAsked(chain)) return false;
      const { tail, compared } = searchOf(chain);
      return tail !== "given up" && compared !== head.version;
    });
    if (live.length === 0) return false;
    const later: Asked[] = [];
    const beyond: Omit<Asked, "last">[] = [];
    const unlisted: (readonly [Chain, ObjectHead | null])[] = [];
    for (let from = 0; from < live.length; from += HEADS) {
      const some = live.slice(from, from + HEADS);
      const heads = await index.heads(
        some.map(({ id }) => id),
        signal,
      );
      for (const chain of some) {
        const ours = headOf(chain);
        const head = heads.get(chain.id) ?? null;
        const search = searchOf(chain);
        if (ours === null) continue;
        const next = notInLog(chain, ours.checkpoint + 1n);
        // A node behind the range may serve an older version, which says nothing.
        if (head !== null && head.version <= ours.version) search.compared = ours.version;
        else if (search.tail === "unasked") {
          search.tail = "listed";
          later.push({ id: chain.id, first: next, last });
        } else if (search.tail === "listed") {
          search.tail = "listed beyond";
          beyond.push({ id: chain.id, first: highest(next, last + 1n) });
        } else unlisted.push([chain, head]);
      }
    }
    await askForObjects(later);
    if (beyond.length > 0) {
      // The first change after the range shows whether one before it is missing.
      const upTo = await reach();
      await askForObjects(beyond.map((asked) => ({ ...asked, last: upTo })));
    }
    for (const [chain, head] of unlisted) await locate(chain, head);
    return true;
  };

  /** The latest failed search of a chain that another chain's transaction did not end. */
  const missingOf = (chain: Chain): readonly Missing[] => {
    if (!isTracked(chain)) return [];
    const { compared, tailFailed, failed } = searchOf(chain);
    const of = { objectId: chain.id, coinType: chain.coinType, after: wholeUpTo(chain) };
    const gap = gapsOf(chain).findLast((each) => failed.has(keyOf(each)));
    if (gap !== undefined) {
      const version = gap.version ?? lastVersionOf(chain);
      return [{ ...of, version, reason: failed.get(keyOf(gap)) ?? "" }];
    }
    const head = headOf(chain);
    const isBehind = head !== null && head.checkpoint <= last && compared !== head.version;
    return isBehind && tailFailed !== null
      ? [{ ...of, version: head.version, reason: tailFailed }]
      : [];
  };

  /** Reads the change that the node's version comes from, which its lists do not name. */
  const locate = async (chain: Chain, head: ObjectHead | null): Promise<void> => {
    const search = searchOf(chain);
    const ours = headOf(chain);
    // Another chain's transaction may have changed it meanwhile.
    if (ours === null || ours.checkpoint > last || head?.version === ours.version) return;
    search.tail = "given up";
    search.tailFailed =
      head === null
        ? "the node serves no such object any more, and lists no transaction that removed it"
        : await takeTransaction(head.previousTransaction);
    if (search.tailFailed === null) search.tail = "listed beyond";
  };

  // The last checkpoint first: it leads to the committees of all epochs.
  if (!read.has(last)) await takeEach(() => [last]);
  // Then the package's publication and its upgrades, so that what follows is read with all types.
  await takeEach(() => [began]);
  await settle(({ kind }) => kind === "upgrade cap");
  while (unasked.length > 0) {
    const what = unasked.flatMap((address): Touch[] => [
      { kind: "events", address },
      { kind: "calls", address },
    ]);
    unasked = [];
    step = "lists";
    for (let from = 0; from < what.length; from += LITERALS) {
      await ask(what.slice(from, from + LITERALS), wholeRange);
    }
    await settle(isTracked);
  }
  await flush();
  show();
  return {
    packages,
    coins,
    committeeOf: committees.of,
    missing: [...chains.all()].flatMap(missingOf),
    fetched,
    bytes,
    objects: chains.size,
  };
};

/** A checkpoint that contradicts a digest or its committee's signature. */
const isInvalid = (error: unknown): error is CertificateError | CheckpointDecodeError =>
  error instanceof CertificateError || error instanceof CheckpointDecodeError;

/** An object, and the checkpoints to ask about, bounds included. */
type Asked = { readonly id: string; readonly first: bigint; readonly last: bigint };

type Request = { readonly ids: string[]; first: bigint; last: bigint };

/** Requests for objects, several in one where that scans little more. Empty ranges are left out. */
const together = (asked: readonly Asked[]): readonly Request[] => {
  const inOrder = asked
    .filter(({ first, last }) => first <= last)
    .toSorted((a, b) =>
      a.first < b.first ? -1 : a.first > b.first ? 1 : a.last < b.last ? -1 : 1,
    );
  const requests: Request[] = [];
  for (const { id, first, last } of inOrder) {
    const open = requests.at(-1);
    const union = open === undefined || last > open.last ? last : open.last;
    const isClose =
      open !== undefined &&
      open.ids.length < LITERALS &&
      first - open.first <= SHARED_SCAN + (open.last - open.first) / 2n &&
      union - open.last <= SHARED_SCAN + (open.last - open.first) / 2n;
    if (!isClose) requests.push({ ids: [id], first, last });
    else {
      if (!open.ids.includes(id)) open.ids.push(id);
      open.last = union;
    }
  }
  return requests;
};

/** The results of several lists, one after the other. */
async function* each<T>(
  all: readonly T[],
  list: (one: T) => AsyncIterable<bigint>,
): AsyncGenerator<bigint> {
  for (const one of all) yield* list(one);
}

/** Numbers that were not read, each once. */
async function* notRead(
  list: AsyncIterable<bigint> | Iterable<bigint>,
  read: ReadonlySet<bigint>,
): AsyncGenerator<bigint> {
  const given = new Set<bigint>();
  for await (const sequence of list) {
    if (read.has(sequence) || given.has(sequence)) continue;
    given.add(sequence);
    yield sequence;
  }
}
