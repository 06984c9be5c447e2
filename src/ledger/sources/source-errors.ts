import type { Remedy } from "../../waiting/remedy.ts";
import type { CheckpointFileError } from "./chk-file.ts";

/**
 * The source could not be reached, or kept pushing back, for as many attempts as one call makes.
 * Nothing is lost: open it again later from the same checkpoint.
 */
export class SourceUnavailableError extends Error {
  override readonly name = "SourceUnavailableError";
  readonly remedy: Remedy = "retry";

  constructor(source: string, wanted: string, attempts: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${source}: ${wanted} failed ${attempts} time(s) in a row; the last reason: ${reason}`, {
      cause,
    });
  }
}

/** The source understood and said no: a wrong address, key or permission. Asking again is no use. */
export class SourceRefusedError extends Error {
  override readonly name = "SourceRefusedError";
  readonly remedy: Remedy = "stop";

  constructor(source: string, wanted: string, answer: string, options?: ErrorOptions) {
    super(
      `${source}: ${wanted} was refused: ${answer}. Check LEDGER_SOURCE and what it is allowed to read.`,
      options,
    );
  }
}

/**
 * The bytes of one checkpoint were damaged every time they were fetched. Indexing stops before it;
 * everything earlier is safe.
 */
export class CheckpointDamagedError extends Error {
  override readonly name = "CheckpointDamagedError";
  readonly remedy: Remedy = "stop";
  readonly sequence: bigint;

  constructor(source: string, sequence: bigint, attempts: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `${source}: checkpoint ${sequence} is damaged (read ${attempts} time(s)): ${reason}. ` +
        `Repair it at the source, or read this range from another one.`,
      { cause },
    );
    this.sequence = sequence;
  }
}

/** A checkpoint is larger than the configured bound. Raise the bound when it is genuine. */
export class CheckpointTooLargeError extends Error {
  override readonly name = "CheckpointTooLargeError";
  readonly remedy: Remedy = "stop";
  readonly sequence: bigint;

  constructor(source: string, sequence: bigint, detail: string, options?: ErrorOptions) {
    super(`${source}: checkpoint ${sequence} is larger than allowed: ${detail}`, options);
    this.sequence = sequence;
  }
}

/** Whether a file could not be opened because it decompresses to more than allowed. */
export const isTooLarge = ({ cause }: CheckpointFileError): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";

/**
 * A checkpoint is not there although later ones are, and stayed away for longer than a writer that
 * finishes out of order needs. Skipping it would lose facts, so indexing stops before it.
 */
export class CheckpointMissingError extends Error {
  override readonly name = "CheckpointMissingError";
  readonly remedy: Remedy = "stop";
  readonly sequence: bigint;

  constructor(source: string, sequence: bigint, laterSeen: bigint) {
    super(
      `${source}: checkpoint ${sequence} is missing although ${laterSeen} is there. ` +
        `Put it in place, or start at one that is there: FIRST_CHECKPOINT=${laterSeen}, index --first ${laterSeen}.`,
    );
    this.sequence = sequence;
  }
}

/** The node no longer keeps checkpoints this old. */
export class CheckpointPrunedError extends Error {
  override readonly name = "CheckpointPrunedError";
  readonly remedy: Remedy = "stop";
  readonly sequence: bigint;
  /** The first checkpoint that the node still serves whole. */
  readonly firstAvailable: bigint;

  constructor(source: string, sequence: bigint, firstAvailable: bigint) {
    super(
      `${source}: checkpoint ${sequence} was pruned; the first one available is ${firstAvailable}. ` +
        `Read the older ones from an archive (an object store), or set FIRST_CHECKPOINT=${firstAvailable}.`,
    );
    this.sequence = sequence;
    this.firstAvailable = firstAvailable;
  }
}

/** The address now answers for another chain than it did before. */
export class SourceChainChangedError extends Error {
  override readonly name = "SourceChainChangedError";
  readonly remedy: Remedy = "stop";

  constructor(source: string, before: string, now: string) {
    super(
      `${source}: answered as chain ${before} before and as chain ${now} now. ` +
        `Its name leads to nodes of different networks; point LEDGER_SOURCE at one network.`,
    );
  }
}
