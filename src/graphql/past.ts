/** Answers about the past: from `atCheckpoint` and `atTimestamp` to the checkpoint they name. */
import type { Reads } from "../database/readers.ts";
import { isBetween, type Moment } from "../log/between.ts";
import { checkpointBefore, checkpointMark } from "../log/blocks.ts";
import type { CheckpointMark } from "../log/fact.ts";
import type { GuardedReads } from "../projections/guarded-reads.ts";
import { NO_COIN } from "../projections/held-coins.ts";
import {
  assertCommitted,
  BeforeLogError,
  BetweenReadError,
  NotYetIndexedError,
  STILL_FILLING,
} from "../projections/past.ts";
import { lowest } from "../values/bigints.ts";
import { badInput } from "./errors.ts";
import { show } from "./input.ts";

/** The point in the past that a caller asks about; undefined is the present. */
export type AsOf = Moment;

/** Digits of the largest u64. */
const MAX_DIGITS = 20;

/** Larger checkpoints fit no position; no log will reach them. */
const MAX_CHECKPOINT = 9_000_000_000n;

/** Larger times in milliseconds do not fit 63 bits. */
const MAX_SECONDS = 9_000_000_000_000_000n;

/** The arguments that ask about the past. */
type PastArguments = {
  readonly atCheckpoint?: string | null | undefined;
  readonly atTimestamp?: string | null | undefined;
  readonly allowStale?: boolean | null | undefined;
};

export const isPast = ({ atCheckpoint, atTimestamp, allowStale }: PastArguments): boolean =>
  atCheckpoint != null || atTimestamp != null || allowStale === true;

/** For `several` of a field's `reads`: these checkpoints are found by a statement of its own. */
export const isByTime = ({ atTimestamp, allowStale }: PastArguments): boolean =>
  atTimestamp != null || allowStale === true;

/** @throws BAD_USER_INPUT when both are given, or one is no decimal number */
export const asOfIn = ({ atCheckpoint, atTimestamp }: PastArguments): AsOf | undefined => {
  const [checkpoint, unixSeconds] = [
    numberIn(atCheckpoint, "atCheckpoint", "a checkpoint"),
    numberIn(atTimestamp, "atTimestamp", "unix seconds"),
  ];
  if (checkpoint !== undefined && unixSeconds !== undefined) {
    throw badInput("give atCheckpoint or atTimestamp, not both", {
      argument: "atCheckpoint",
      reason: "CONFLICTS_WITH",
      conflictsWith: "atTimestamp",
    });
  }
  if (checkpoint !== undefined) return { kind: "checkpoint", checkpoint };
  return unixSeconds === undefined ? undefined : { kind: "second", unixSeconds };
};

const numberIn = (
  text: string | null | undefined,
  argument: string,
  kind: string,
): bigint | undefined => {
  if (text === null || text === undefined) return undefined;
  const number = decimalIn(text);
  if (number !== undefined) return number;
  throw badInput(
    `${argument} must be ${kind}, decimal, such as "1700000000"; it is ${show(text)}`,
    { argument, reason: "MALFORMED" },
  );
};

const decimalIn = (text: string): bigint | undefined =>
  /^\d+$/.test(text) && text.length <= MAX_DIGITS ? BigInt(text) : undefined;

type MinCheckpointArgument = { readonly minCheckpoint?: string | null | undefined };

/** The checkpoint that the request waits for; undefined also for what `assertMinCheckpoint` refuses. */
export const minCheckpointIn = ({ minCheckpoint }: MinCheckpointArgument): bigint | undefined =>
  decimalIn(minCheckpoint ?? "");

/** @throws BAD_USER_INPUT when it is no checkpoint */
export const assertMinCheckpoint = ({ minCheckpoint }: MinCheckpointArgument): void => {
  numberIn(minCheckpoint, "minCheckpoint", "a checkpoint");
};

/**
 * Reads rows as of a point in the past with one statement: `rowsAt` gets the checkpoint (undefined for the
 * present) and the reads to use.
 * @throws BeforeLogError (stop), NotYetIndexedError (wait) and so RebuildingError, QuarantinedError (wait)
 */
export const readAsOf = async <Rows>(
  reads: GuardedReads,
  asOf: AsOf | undefined,
  rowsAt: (at: bigint | undefined, on: Reads) => Promise<Rows>,
): Promise<Rows> => {
  if (asOf === undefined && !reads.allowsStale) return rowsAt(undefined, reads);
  const isNamed = asOf?.kind === "checkpoint" && asOf.checkpoint <= MAX_CHECKPOINT;
  const at = isNamed ? asOf.checkpoint : await checkpointOf(reads, asOf);
  return rowsAt(at, reads.at(at));
};

/**
 * The checkpoint that the caller asks about; for the present the last one that the pipelines have committed.
 * @throws BeforeLogError (stop), NotYetIndexedError (wait)
 */
export const checkpointOf = async (
  reads: GuardedReads,
  asOf: AsOf | undefined,
): Promise<bigint> => {
  if (asOf === undefined) {
    const committed = await reads.committed();
    if (committed.last === null) throw new NotYetIndexedError("no checkpoint is indexed yet");
    assertCommitted(committed.last, committed);
    return committed.last;
  }
  // Statements that read the coin at that checkpoint throw if it is held.
  const ofNone = reads.ofCoin(NO_COIN);
  if (asOf.kind === "checkpoint") {
    assertCommitted(asOf.checkpoint, await ofNone.committed());
    return asOf.checkpoint;
  }
  const { unixSeconds } = asOf;
  const [committed, before] = await Promise.all([
    ofNone.committed(),
    unixSeconds > MAX_SECONDS
      ? { kind: "not_yet" as const, filling: false }
      : checkpointBefore(ofNone, unixSeconds),
  ]);
  if (before.kind === "before_log") {
    throw new BeforeLogError(`the second ${unixSeconds}`, before.firstCheckpoint);
  }
  if (before.kind === "between") throw new BetweenReadError(asOf);
  if (before.kind === "not_yet" && before.filling) throw new NotYetIndexedError(STILL_FILLING);
  const { last } = committed;
  // The next checkpoint must be committed, too: until then another one of the same second may come.
  if (before.kind === "not_yet" || last === null || before.checkpoint >= last) {
    const reached = last === null ? "none is" : `the last one is ${last}`;
    throw new NotYetIndexedError(
      `no checkpoint after the second ${unixSeconds} is indexed yet; ${reached}`,
    );
  }
  assertCommitted(before.checkpoint, committed);
  return before.checkpoint;
};

/**
 * The last checkpoint of a second that was read, `last` at most: between two that were read guided nothing happened.
 * @throws NotYetIndexedError (wait) while times from before an upgrade are being filled in
 */
export const lastOfSecond = async (
  reads: Reads,
  unixSeconds: bigint,
  last: bigint,
): Promise<bigint> => {
  const before = await checkpointBefore(reads, unixSeconds);
  switch (before.kind) {
    case "found":
      return lowest(before.checkpoint, last);
    case "between":
      return lowest(before.after, last);
    case "before_log":
      return before.firstCheckpoint - 1n;
    case "not_yet":
      if (before.filling) throw new NotYetIndexedError(STILL_FILLING);
      return last;
  }
};

/**
 * Time and digest of a checkpoint that is committed.
 * @throws NotYetIndexedError (wait) while times from before an upgrade are being filled in;
 * BetweenReadError (wait)
 */
export const markOf = async (reads: Reads, checkpoint: bigint): Promise<CheckpointMark> => {
  const mark = await checkpointMark(reads, checkpoint);
  if (mark !== null) return mark;
  if (await isBetween(reads, checkpoint)) {
    throw new BetweenReadError({ kind: "checkpoint", checkpoint });
  }
  throw new NotYetIndexedError(`the time of checkpoint ${checkpoint} is still being filled in`);
};
