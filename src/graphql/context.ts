import type { Readers, Reads, Snapshot } from "../database/readers.ts";
import { createRemembered, type MaybePromise } from "../database/remembered.ts";
import { ADMISSION, createAdmission, type Place } from "../http/edge/admission.ts";
import { decimalsOf, type KnownCoin, resolveCoin } from "../log/coins.ts";
import { type CapTables, createCapTables } from "../projections/cap-tables.ts";
import { type GuardedReads, guardedReads, type Needed } from "../projections/guarded-reads.ts";
import type { WatchedPipeline } from "../projections/read-watermarks.ts";
import { canonicalType } from "../values/move-type.ts";
import type { Pace } from "./follow.ts";
import { createFollowing, type Following } from "./following.ts";
import { coinTypeIn } from "./input.ts";
import type { RoleQuery, Statements } from "./statements.ts";

/** What the API is made over; the same for all requests. */
export type GraphSources = {
  /** For what the queries ask, and coin types; read-only, with a statement timeout. */
  readonly readers: {
    for(...request: Parameters<Readers["for"]>): Reads;
    snapshot(...request: Parameters<Readers["snapshot"]>): Reads & Pick<Snapshot, "end">;
  };
  /** Addresses of the security-token package as the log knows them: roles of these types have bits. */
  readonly packages: () => MaybePromise<readonly string[]>;
  /** In the order `indexerStatus` lists them. */
  readonly pipelines: readonly WatchedPipeline[];
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Registers that are kept: one for all who read them in this process. Of its own unless given. */
  readonly capTables?: CapTables | undefined;
  /**
   * Calls `heard` after every append to the log, until `signal` aborts; some may be missed. Subscriptions
   * look every few seconds without it.
   */
  readonly onAppend?: ((heard: () => void, signal: AbortSignal) => void) | undefined;
  /** Told of what keeps subscriptions from what is new; it is tried again. */
  readonly onTrouble?: ((error: Error) => void) | undefined;
};

/** What a subscription is given to follow logs with. */
export type Subscriber = {
  readonly following: Following;
  readonly pace: Pace;
  /** Aborts when it is over. */
  readonly signal: AbortSignal;
  /** Where it goes on, as it told in the header of a reconnection: instead of its argument `after`. */
  readonly lastEventId: string | undefined;
  /** Told where one begins that named no place, as callers write it in `after`. */
  readonly beganAt: (place: string) => void;
};

/** A list of roles; those of the past have lengths of their own. */
export type RoleList = { readonly coinType: string; readonly isPast: boolean };

/** How many rows lists without a limit had last time. */
type ListLengths = {
  /** As long as last time, or longer by little: read as quickly as a page. Not known: perhaps long. */
  isShort(list: RoleList): boolean;
  set(list: RoleList, rows: number): void;
};

/** What the resolvers of one request share. */
export type GraphContext = Pick<GraphSources, "packages" | "pipelines" | "now"> & {
  /** Of a subscription alone. */
  readonly subscriber?: Subscriber | undefined;
  /** Kept for all requests of a process. */
  readonly capTables: CapTables;
  /**
   * Statements of this request, for a field that needs these pipelines; they end when its caller hangs up.
   * Naming them is the only way to read: what is being rebuilt is refused.
   */
  readsOf(needed: readonly Needed[]): GuardedReads;
  /** The same, for one that may take long although its answer is small. */
  longReadsOf(needed: readonly Needed[]): GuardedReads;
  /** Statements about the log and the watermarks alone. */
  readonly watermarkReads: Reads;
  readonly listLengths: ListLengths;
  /**
   * Reads what may be of any length, one at a time of all requests.
   * @throws HttpError (503) when it cannot wait, or waited in vain
   */
  alone<Rows>(work: () => Promise<Rows>): Promise<Rows>;
  /**
   * Canonical form of a coin type as the caller wrote it.
   * @throws BAD_USER_INPUT when it is not the form of a type at all
   */
  coinType(input: string): MaybePromise<string>;
  /** Decimals of a coin type that `coinType` gave in this request; null while they are unknown. */
  decimals(coinType: string): number | null;
  /** Of coin types as they were read, outside the snapshot; those that are not known are left out. */
  decimalsOf(coinTypes: readonly string[]): Promise<ReadonlyMap<string, number>>;
};

/** How long other decimals of a coin type may go unnoticed, in milliseconds. */
const COIN_FRESH_MS = 900;

/** One row, by its key. */
const LOOK_UP_WEIGHT = 1;

const KEPT_COINS = 1_000;

/** Rows that are read as quickly as a page. */
const SHORT_LIST = 300;

/**
 * Long requests of one key at once, fewer than there are connections for them by default: another key's
 * long one, and a short one that lasts, do not wait behind them.
 */
const LONG_PER_KEY = 2;

/** Longer ones fit no index; they are looked up each time. */
const LONGEST_KEPT = 1_024;

/** A request whose resolvers are about to run. */
export type RequestContext = {
  readonly context: GraphContext;
  /** Called when its execution has ended, whatever became of it. */
  end(): void;
};

/**
 * Makes the contexts of queries and of subscriptions.
 * @param signal aborts when the caller of the request hangs up
 * @param weight of the request, see `Admission`
 * @param statements of the request; one unless given
 * @param key id of the caller's key; without one, its long requests are not counted
 */
export const contextsOver = (sources: GraphSources) => {
  const { readers, packages, pipelines, now, onAppend, onTrouble } = sources;
  // Shared by all requests for the same coin: a caller who hangs up does not end it for the others.
  const lookUps = readers.for(undefined, LOOK_UP_WEIGHT);
  const coins = createRemembered<KnownCoin>({
    freshMs: COIN_FRESH_MS,
    max: KEPT_COINS,
    // A coin may have got its decimals just now.
    worth: ({ decimals }) => decimals !== null,
  });

  const following = createFollowing({
    reads: lookUps,
    packages,
    pipelines,
    onAppend: onAppend ?? (() => undefined),
    onTrouble: onTrouble ?? (() => undefined),
  });

  const { capTables = createCapTables() } = sources;
  const ones = createAdmission({ ...ADMISSION, perKey: 1, perProcess: 1 });
  const longs = createAdmission({
    ...ADMISSION,
    perKey: LONG_PER_KEY,
    perProcess: Number.POSITIVE_INFINITY,
  });
  const lengths = new Map<string, number>();
  const listName = ({ coinType, isPast }: RoleList) => (isPast ? `past ${coinType}` : coinType);
  const listLengths: ListLengths = {
    isShort: (list) => (lengths.get(listName(list)) ?? Number.POSITIVE_INFINITY) <= SHORT_LIST,
    set: (list, rows) => {
      if (lengths.size >= KEPT_COINS) lengths.clear();
      lengths.set(listName(list), rows);
    },
  };

  const coinOf = (input: string): MaybePromise<KnownCoin> => {
    const canonical = coinTypeIn(input, "coinType");
    return canonical.length > LONGEST_KEPT
      ? resolveCoin(lookUps, canonical)
      : coins.get(canonical, () => resolveCoin(lookUps, canonical));
  };

  /** What all resolvers of a request are given, besides how it reads. */
  const shared = (reads: Reads, longReads: Reads): Omit<GraphContext, "alone"> => {
    const met = new Map<string, number | null>();
    const meet = ({ coinType, decimals }: KnownCoin): string => {
      met.set(coinType, decimals);
      return coinType;
    };
    return {
      readsOf: (needed) => guardedReads(reads, needed),
      longReadsOf: (needed) => guardedReads(longReads, needed),
      watermarkReads: reads,
      packages,
      pipelines,
      now,
      listLengths,
      capTables,
      coinType: (input) => {
        const coin = coinOf(input);
        return coin instanceof Promise ? coin.then(meet) : meet(coin);
      },
      decimals: (coinType) => met.get(coinType) ?? null,
      decimalsOf: (coinTypes) => decimalsOf(lookUps, coinTypes),
    };
  };

  /** A caller's list is short when its coin type is spelt as the ledger does, and was so last time. */
  const isLong = ({ coinType, isPast }: RoleQuery): boolean => {
    const canonical = orUndefined(coinType);
    return canonical !== undefined && !listLengths.isShort({ coinType: canonical, isPast });
  };

  /** One snapshot for all statements. What may take long waits before it is taken, not inside. */
  const inSnapshot = async (
    signal: AbortSignal | undefined,
    weight: number | undefined,
    { long, lists }: Statements,
    key: string | undefined,
  ): Promise<RequestContext> => {
    const isAlone = lists.some(isLong);
    const places: Place[] = [];
    const leave = () => {
      for (const place of places) place.left();
    };
    try {
      if (long && key !== undefined) places.push(await longs.enter(key, 1, signal));
      if (isAlone) places.push(await ones.enter("", 1, signal));
    } catch (error) {
      leave();
      throw error;
    }
    const reads = long || isAlone ? readers.snapshot(signal) : readers.snapshot(signal, weight);
    return {
      context: { ...shared(reads, reads), alone: (work) => work() },
      end: () => {
        reads.end();
        leave();
      },
    };
  };

  const ofQuery = (
    signal: AbortSignal | undefined,
    weight?: number,
    statements?: Statements,
    key?: string,
  ): MaybePromise<RequestContext> => {
    if (statements?.several) return inSnapshot(signal, weight, statements, key);
    return {
      context: {
        ...shared(readers.for(signal, weight), readers.for(signal)),
        alone: async (work) => {
          const place = await ones.enter("", 1, signal);
          return work().finally(place.left);
        },
      },
      end: () => undefined,
    };
  };

  const alone: GraphContext["alone"] = (work) => work();
  return {
    ofQuery,
    /** The context of a subscription, for as long as it lasts: all of them read together. */
    ofSubscription: (subscriber: Omit<Subscriber, "following">): GraphContext => ({
      ...shared(lookUps, lookUps),
      alone,
      subscriber: { ...subscriber, following },
    }),
  };
};

/** Undefined for what is refused where it is used. */
const orUndefined = (coinType: string): string | undefined => {
  try {
    return canonicalType(coinType);
  } catch {
    return undefined;
  }
};
