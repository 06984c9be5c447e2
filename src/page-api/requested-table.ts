/** The cap table of a download: its token and moment. */
import { z } from "zod";
import type { Reads } from "../database/readers.ts";
import { type AsOf, checkpointOf, markOf } from "../graphql/past.ts";
import { HttpError } from "../http/http-error.ts";
import { resolveCoin } from "../log/coins.ts";
import { askingFor, type FindSummaries } from "../projections/asking.ts";
import type { SeenTableOf } from "../projections/cap-table-json.ts";
import { type GuardedReads, guardedReads } from "../projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../projections/needed.ts";
import { BeforeLogError, NotYetIndexedError } from "../projections/past.ts";
import { token } from "../projections/tokens.ts";
import { canonicalType, MoveTypeError } from "../values/move-type.ts";

const decimal = (what: string, mostDigits: number) =>
  z
    .string()
    .regex(new RegExp(`^\\d{1,${mostDigits}}$`), `must be ${what}, decimal`)
    .transform(BigInt)
    .optional();

/** Canonicalizes a text; refuses one without a canonical form. */
export const canonicalBy =
  (canonical: (text: string) => string) =>
  (text: string, context: z.RefinementCtx): string => {
    try {
      return canonical(text);
    } catch (error) {
      if (!(error instanceof MoveTypeError)) throw error;
      context.addIssue(`is ${error.message}`);
      return z.NEVER;
    }
  };

export const tableParameters = {
  coinType: z
    .string()
    .max(2_000, "is too long")
    .transform(canonicalBy(canonicalType))
    .meta({ description: "Coin type; addresses in it in short form, too." }),
  // Nine digits fewer than 63 bits allow: positions contain checkpoints.
  atCheckpoint: decimal("a checkpoint", 9).meta({
    description: "As of the end of this checkpoint; default: the newest.",
  }),
  atTimestamp: decimal("unix seconds", 15).meta({
    description:
      "As of the end of this second, unix seconds. 409 until a checkpoint after it is indexed. Not together with atCheckpoint.",
  }),
};

type TableQuery = {
  readonly coinType: string;
  readonly atCheckpoint?: bigint | undefined;
  readonly atTimestamp?: bigint | undefined;
};

const momentOf = ({ atCheckpoint, atTimestamp }: TableQuery): AsOf | undefined => {
  if (atCheckpoint !== undefined && atTimestamp !== undefined) {
    throw new HttpError(400, "give atCheckpoint or atTimestamp, not both");
  }
  if (atCheckpoint !== undefined) return { kind: "checkpoint", checkpoint: atCheckpoint };
  return atTimestamp === undefined ? undefined : { kind: "second", unixSeconds: atTimestamp };
};

type RequestedTable = { readonly table: SeenTableOf; readonly reads: GuardedReads };

const tableOn = async (on: Reads, query: TableQuery): Promise<RequestedTable> => {
  const known = await resolveCoin(on, query.coinType);
  const { coinType } = known;
  const all = guardedReads(on, FOR_CAP_TABLES).ofCoin(coinType);
  const checkpoint = await checkpointOf(all, momentOf(query));
  const reads = all.at(checkpoint);
  const seen = await token(reads, { coinType, at: checkpoint });
  if (seen === null) {
    throw new HttpError(404, `no token ${coinType} was seen up to checkpoint ${checkpoint}`);
  }
  const mark = await markOf(on, checkpoint);
  const { symbol, totalSupply } = seen;
  return { table: { ...known, mark, symbol, totalSupply }, reads };
};

/**
 * Finds the requested table, and the reads of it; asks for a moment between two that were read.
 * @throws HttpError 400 before the log began, 404 for a token not seen by then, 409 if not indexed
 *   yet
 */
export const requestedTable = async (
  on: Reads,
  query: TableQuery,
  find: FindSummaries,
  signal: AbortSignal,
): Promise<RequestedTable> => {
  try {
    return await askingFor(find, () => tableOn(on, query), signal);
  } catch (error) {
    if (error instanceof NotYetIndexedError) throw new HttpError(409, error.message);
    if (error instanceof BeforeLogError) throw new HttpError(400, error.message);
    throw error;
  }
};
