import type { Remedy } from "../../waiting/remedy.ts";
import type { CheckpointFileError } from "./chk-file.ts";

/**
 * A source says something wrong, or nothing. It is asked again at growing intervals: most of it passes by itself, and
 * what does not is mended at the source, or by naming another one (LEDGER_SOURCE).
 */
export abstract class SourceError extends Error {
  readonly remedy: Remedy = "retry";
}

/**
 * The source could not be reached, or kept pushing back, for as many attempts as one call makes.
 * Nothing is lost: open it again later from the same checkpoint.
 */
export class SourceUnavailableError extends SourceError {
  override readonly name = "SourceUnavailableError";

  constructor(source: string, wanted: string, attempts: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${source}: ${wanted} failed ${attempts} time(s) in a row; the last reason: ${reason}`, {
      cause,
    });
  }
}

/**
 * The source understood and said no: a wrong address, key or permission, or a gate in front of it that is unwell. It is
 * asked again; when it goes on refusing, check LEDGER_SOURCE and the key in LEDGER_HEADERS.
 */
export class SourceRefusedError extends SourceError {
  override readonly name = "SourceRefusedError";

  constructor(source: string, wanted: string, answer: string, options?: ErrorOptions) {
    super(
      `${source}: ${wanted} was refused: ${answer}. Check LEDGER_SOURCE and what it is allowed to read.`,
      options,
    );
  }
}

/**
 * The bytes of one checkpoint were damaged every time they were fetched. Indexing waits before it and fetches it
 * again; everything earlier is safe.
 */
export class CheckpointDamagedError extends SourceError {
  override readonly name = "CheckpointDamagedError";
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

/** A checkpoint is larger than the bound. It is fetched again; one that is genuine needs a version with a larger bound. */
export class CheckpointTooLargeError extends SourceError {
  override readonly name = "CheckpointTooLargeError";
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
 * finishes out of order needs. Skipping it would lose facts, so indexing waits before it and looks again.
 */
export class CheckpointMissingError extends SourceError {
  override readonly name = "CheckpointMissingError";
  readonly sequence: bigint;

  constructor(source: string, sequence: bigint, laterSeen: bigint) {
    super(
      `${source}: checkpoint ${sequence} is missing although ${laterSeen} is there. ` +
        `Put it in place: nothing can be said of a range that lacks it. Only an empty log may begin behind it, with index --first.`,
    );
    this.sequence = sequence;
  }
}

/** The node no longer keeps checkpoints this old. It is asked again; list an archive in LEDGER_SOURCE, too. */
export class CheckpointPrunedError extends SourceError {
  override readonly name = "CheckpointPrunedError";
  readonly sequence: bigint;
  /** The first checkpoint that the node still serves whole. */
  readonly firstAvailable: bigint;

  constructor(source: string, sequence: bigint, firstAvailable: bigint) {
    super(
      `${source}: checkpoint ${sequence} was pruned; the first one available is ${firstAvailable}. ` +
        `Read the older ones from an archive (an object store). Only an empty log may begin later, with index --first.`,
    );
    this.sequence = sequence;
    this.firstAvailable = firstAvailable;
  }
}

/** The address now answers for another chain than it did before. It is asked again; `OtherChainError` confirms it. */
export class SourceChainChangedError extends SourceError {
  override readonly name = "SourceChainChangedError";

  constructor(source: string, before: string, now: string) {
    super(
      `${source}: answered as chain ${before} before and as chain ${now} now. ` +
        `Its name leads to nodes of different networks; point LEDGER_SOURCE at one network.`,
    );
  }
}

/** LEDGER_SOURCE lists sources of several chains. Nothing of them was read: take out those of the other chain. */
export class SourceChainsDifferError extends Error {
  override readonly name = "SourceChainsDifferError";
  readonly remedy: Remedy = "stop";

  constructor(one: SourceOfChain, other: SourceOfChain) {
    super(
      `${one.source} is of chain ${one.chainId}, and ${other.source} of chain ${other.chainId}: LEDGER_SOURCE lists sources of one chain; take the other out`,
    );
  }
}

/** A source by its description, and the chain that it is of. */
export type SourceOfChain = { readonly source: string; readonly chainId: string };
