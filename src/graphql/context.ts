import DataLoader from "dataloader";
import type { Db } from "../database/connect.ts";
import type { WatchedPipeline } from "../http/progress.ts";
import { MoveTypeError } from "../ledger/move-type.ts";
import { decimalsOf, resolveCoinType } from "../log/coins.ts";
import { badInput } from "./errors.ts";

/** What the API is made over; the same for all requests. */
export type GraphSources = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  /** Addresses of the security-token package, canonical: roles of these types have bits. */
  readonly packages: readonly string[];
  /** In the order `indexerStatus` lists them. */
  readonly pipelines: readonly WatchedPipeline[];
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
};

/** What the resolvers of one request share. */
export type GraphContext = GraphSources & {
  /**
   * Canonical form of a coin type as the caller wrote it; each spelling is looked up once.
   * @throws BAD_USER_INPUT when it is not the form of a type at all
   */
  coinType(input: string): Promise<string>;
  /** Decimals by canonical coin type, null while unknown: one statement for all that are asked at once. */
  readonly decimals: DataLoader<string, number | null>;
};

/** The context of one request. */
export const createContext = (sources: GraphSources): GraphContext => {
  const spellings = new Map<string, Promise<string>>();
  return {
    ...sources,
    coinType(input) {
      const found = spellings.get(input) ?? resolve(sources.db, input);
      spellings.set(input, found);
      return found;
    },
    decimals: new DataLoader(async (coinTypes) => {
      const known = await decimalsOf(sources.db, [...coinTypes]);
      return coinTypes.map((coinType) => known.get(coinType) ?? null);
    }),
  };
};

const resolve = async (db: Db, input: string): Promise<string> => {
  try {
    return await resolveCoinType(db, input);
  } catch (error) {
    if (error instanceof MoveTypeError) throw badInput(`coinType is ${error.message}`);
    throw error;
  }
};
