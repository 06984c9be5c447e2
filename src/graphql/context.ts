import type { Readers, Reads } from "../database/readers.ts";
import { createRemembered, type Soon } from "../database/remembered.ts";
import { ADMISSION, createAdmission } from "../http/edge/admission.ts";
import { type KnownCoin, resolveCoin } from "../log/coins.ts";
import type { WatchedPipeline } from "../projections/read-watermarks.ts";
import { canonicalType, MoveTypeError } from "../values/move-type.ts";
import { badInput } from "./errors.ts";

/** What the API is made over; the same for all requests. */
export type GraphSources = {
  /** For what the queries ask, and coin types; read-only, with a statement timeout. */
  readonly readers: { for(...request: Parameters<Readers["for"]>): Reads };
  /** Addresses of the security-token package, canonical: roles of these types have bits. */
  readonly packages: readonly string[];
  /** In the order `indexerStatus` lists them. */
  readonly pipelines: readonly WatchedPipeline[];
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
};

type Remembering = {
  get(coinType: string): number | undefined;
  set(coinType: string, rows: number): void;
};

/** What the resolvers of one request share. */
export type GraphContext = Pick<GraphSources, "packages" | "pipelines" | "now"> & {
  /** Statements of this request; they end when its caller hangs up. */
  readonly reads: Reads;
  /** The same, for one that may take long although its answer is small. */
  readonly longReads: Reads;
  /** Rows that a list without a limit had last time, by coin type; absent: not known. */
  readonly listLengths: Remembering;
  /**
   * Reads what may be of any length, one at a time of all requests.
   * @throws HttpError (503) when it cannot wait, or waited in vain
   */
  alone<Rows>(work: () => Promise<Rows>): Promise<Rows>;
  /**
   * Canonical form of a coin type as the caller wrote it.
   * @throws BAD_USER_INPUT when it is not the form of a type at all
   */
  coinType(input: string): Soon<string>;
  /** Decimals of a coin type that `coinType` gave in this request; null while they are unknown. */
  decimals(coinType: string): number | null;
};

/** How long other decimals of a coin type may go unnoticed, in milliseconds. */
const COIN_FRESH_MS = 900;

/** One row, by its key. */
const LOOK_UP_WEIGHT = 1;

const KEPT_COINS = 1_000;

/** Longer ones fit no index; they are looked up each time. */
const LONGEST_KEPT = 1_024;

/**
 * Makes the contexts of requests.
 * @param signal aborts when the caller of the request hangs up
 * @param weight of the request, see `Admission`
 */
export const contextsOver = (sources: GraphSources) => {
  const { readers, packages, pipelines, now } = sources;
  // Shared by all requests for the same coin: a caller who hangs up does not end it for the others.
  const lookUps = readers.for(undefined, LOOK_UP_WEIGHT);
  const coins = createRemembered<KnownCoin>({
    freshMs: COIN_FRESH_MS,
    max: KEPT_COINS,
    // A coin may have got its decimals just now.
    worth: ({ decimals }) => decimals !== null,
  });

  const ones = createAdmission({ ...ADMISSION, perKey: 1, perProcess: 1 });
  const lengths = new Map<string, number>();
  const listLengths: Remembering = {
    get: (coinType) => lengths.get(coinType),
    set: (coinType, rows) => {
      if (lengths.size >= KEPT_COINS) lengths.clear();
      lengths.set(coinType, rows);
    },
  };

  const coinOf = (input: string): Soon<KnownCoin> => {
    const canonical = canonicalOf(input);
    return canonical.length > LONGEST_KEPT
      ? resolveCoin(lookUps, canonical)
      : coins.get(canonical, () => resolveCoin(lookUps, canonical));
  };

  return (signal: AbortSignal | undefined, weight?: number): GraphContext => {
    const met = new Map<string, number | null>();
    const meet = ({ coinType, decimals }: KnownCoin): string => {
      met.set(coinType, decimals);
      return coinType;
    };
    return {
      packages,
      pipelines,
      now,
      reads: readers.for(signal, weight),
      longReads: readers.for(signal),
      listLengths,
      alone: async (work) => {
        const place = await ones.enter("", 1, signal);
        return work().finally(place.left);
      },
      coinType: (input) => {
        const coin = coinOf(input);
        return coin instanceof Promise ? coin.then(meet) : meet(coin);
      },
      decimals: (coinType) => met.get(coinType) ?? null,
    };
  };
};

const canonicalOf = (input: string): string => {
  try {
    return canonicalType(input);
  } catch (error) {
    if (error instanceof MoveTypeError) throw badInput(`coinType is ${error.message}`);
    throw error;
  }
};
