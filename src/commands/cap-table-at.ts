/** The cap table of a command: its token and moment. */
import { InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import type { Reads } from "../database/readers.ts";
import { type AsOf, checkpointOf, markOf } from "../graphql/past.ts";
import { resolveCoin } from "../log/coins.ts";
import { askingFor, type FindSummaries } from "../projections/asking.ts";
import type { SeenTableOf } from "../projections/cap-table-json.ts";
import { type GuardedReads, guardedReads } from "../projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../projections/needed.ts";
import { token } from "../projections/tokens.ts";
import { canonicalType } from "../values/move-type.ts";
import { moveArgument } from "./arguments.ts";
import { UsageError } from "./usage.ts";

/** `--coin`: a canonical coin type. */
export const coinOption = () =>
  new Option("--coin <type>", "coin type of the token")
    .makeOptionMandatory()
    .argParser(moveArgument(canonicalType));

/** Refuses dates that do not exist: `Date.parse` reads June 31 as July 1. */
const dateTime = z.iso.datetime({ offset: true });

const momentArgument = (text: string): AsOf => {
  if (/^\d{1,10}$/.test(text)) return { kind: "checkpoint", checkpoint: BigInt(text) };
  const ms = dateTime.safeParse(text).success ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms) || ms < 0) {
    throw new InvalidArgumentError(
      "It must be a checkpoint number, or a date and time with its offset, such as 2026-06-30T23:59:59Z.",
    );
  }
  return { kind: "second", unixSeconds: BigInt(Math.floor(ms / 1_000)) };
};

/** A moment, or a date: the end of that day, UTC. */
export const dateArgument = (text: string): AsOf =>
  momentArgument(z.iso.date().safeParse(text).success ? `${text}T23:59:59Z` : text);

export const atOption = () =>
  new Option(
    "--at <moment>",
    "checkpoint number, or date and time such as 2026-06-30T23:59:59Z; default: the newest checkpoint",
  ).argParser(momentArgument);

export const AT_HELP =
  "\nA date and time needs its offset, such as Z or +02:00, and means the end of that second.";

/** A table, and the reads of its coin. */
export type TableAt = { readonly table: SeenTableOf; readonly db: GuardedReads };

/**
 * Finds the requested table.
 * @throws UsageError for a token not seen by then; BeforeLogError (stop), NotYetIndexedError (wait), QuarantinedError (wait)
 */
export const tableAt = (
  on: Reads,
  coin: string,
  asOf: AsOf | undefined,
  find: FindSummaries,
): Promise<TableAt> => askingFor(find, () => tableOn(on, coin, asOf));

const tableOn = async (on: Reads, coin: string, asOf: AsOf | undefined): Promise<TableAt> => {
  const known = await resolveCoin(on, coin);
  const { coinType } = known;
  const db = guardedReads(on, FOR_CAP_TABLES).ofCoin(coinType);
  const checkpoint = await checkpointOf(db, asOf);
  const seen = await token(db.at(checkpoint), { coinType, at: checkpoint });
  if (seen === null) {
    throw new UsageError(`no token ${coinType} existed at checkpoint ${checkpoint}`);
  }
  const { symbol, totalSupply } = seen;
  const mark = await markOf(on, checkpoint);
  return { table: { ...known, mark, symbol, totalSupply }, db: db.at(checkpoint) };
};
