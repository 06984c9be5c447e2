/**
 * Asks for checkpoints in guided ranges that were not read: `log_summaries` gets their verified
 * summaries (ledger/reading/find-summaries.ts).
 */
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { checkpointBefore } from "./blocks.ts";
import type { StretchProof } from "./fact.ts";
import { middleOf, neighboursOf, summaryAt } from "./guided.ts";

/** What a caller asks about. */
export type Moment =
  | { readonly kind: "checkpoint"; readonly checkpoint: bigint }
  /** Its last checkpoint. */
  | { readonly kind: "second"; readonly unixSeconds: bigint };

/** Its payloads: `checkpoint <number>` or `second <unix seconds>`. */
export const ASKED_CHANNEL = "holderbook_asked";

/** The moment of a payload; null for other text. */
export const readAsked = (payload: string): Moment | null => {
  const [, kind, digits = ""] = /^(checkpoint|second) (\d{1,18})$/.exec(payload) ?? [];
  if (kind === undefined) return null;
  return kind === "checkpoint"
    ? { kind, checkpoint: BigInt(digits) }
    : { kind: "second", unixSeconds: BigInt(digits) };
};

export const payloadOf = (asked: Moment): string =>
  `${asked.kind} ${asked.kind === "checkpoint" ? asked.checkpoint : asked.unixSeconds}`;

/** Asks the indexing process for the missing summaries of a moment; does not wait. */
export const askFor = async (sql: Sql, asked: Moment): Promise<void> => {
  await sql`select pg_notify(${ASKED_CHANNEL}, ${payloadOf(asked)})`;
};

/** Whether parts of the log were read guided. */
export const hasGuided = async (reads: Reads): Promise<boolean> =>
  (await read(reads, HAS_GUIDED, [])).length > 0;

const HAS_GUIDED = "select first_checkpoint from log_guided limit 1";

/** Whether a checkpoint lies in a guided range, was not read, and has no summary. */
export const isBetween = async (reads: Reads, checkpoint: bigint): Promise<boolean> =>
  (await neighboursOf(reads, checkpoint)) !== null;

/** The next checkpoint whose summary is missing for an answer; null when none is. */
export const missingSummary = async (reads: Reads, asked: Moment): Promise<bigint | null> => {
  if (asked.kind === "checkpoint") {
    return (await isBetween(reads, asked.checkpoint)) ? asked.checkpoint : null;
  }
  const before = await checkpointBefore(reads, asked.unixSeconds);
  return before.kind === "between" ? middleOf(before) : null;
};

/** The proof of a checkpoint that was not read; null without its summary. */
export const summaryProof = async (
  reads: Reads,
  checkpoint: bigint,
): Promise<StretchProof | null> => {
  const found = await summaryAt(reads, checkpoint);
  if (found === null) return null;
  const { epoch, summary, signature, signers } = found;
  return {
    firstCheckpoint: checkpoint,
    lastCheckpoint: checkpoint,
    ...{ epoch, summary, signature, signers },
  };
};
