import type { Remedy } from "../../waiting/remedy.ts";
import type { CheckpointFileError } from "./chk-file.ts";

/**
 * The source fails or is wrong. Retried with growing delays; fix the source or use another
 * (LEDGER_SOURCE).
 */
export abstract class SourceError extends Error {
  readonly remedy: Remedy = "retry";
}

/**
 * The source was unreachable or overloaded for all attempts. Retry later from the same checkpoint.
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
 * The source refused: wrong address, key or permission, or an unwell gateway. Retried; check
 * LEDGER_SOURCE and LEDGER_HEADERS.
 */
export class SourceRefusedError extends SourceError {
  override readonly name = "SourceRefusedError";

  constructor(source: string, wanted: string, answer: string, options?: ErrorOptions) {
    super(
      `${source}: ${wanted} was refused: ${answer}. Check LEDGER_SOURCE and its permissions.`,
      options,
    );
  }
}

/** A checkpoint was damaged in every attempt. Indexing waits before it; earlier ones are safe. */
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

/** A checkpoint exceeds the limit. Retried; a genuine one needs a version with a larger limit. */
export class CheckpointTooLargeError extends SourceError {
  override readonly name = "CheckpointTooLargeError";
  readonly sequence: bigint;

  constructor(source: string, sequence: bigint, detail: string, options?: ErrorOptions) {
    super(`${source}: checkpoint ${sequence} is larger than allowed: ${detail}`, options);
    this.sequence = sequence;
  }
}

/** Whether decompression exceeded the limit. */
export const isTooLarge = ({ cause }: CheckpointFileError): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";

/**
 * A checkpoint is missing though later ones exist. Indexing waits, as skipping it would lose facts.
 */
export class CheckpointMissingError extends SourceError {
  override readonly name = "CheckpointMissingError";
  readonly sequence: bigint;

  constructor(source: string, sequence: bigint, laterSeen: bigint) {
    super(
      `${source}: checkpoint ${sequence} is missing although ${laterSeen} is there. ` +
        `Restore it: without it no later checkpoint can be indexed. Only an empty log can begin after it, with index --first.`,
    );
    this.sequence = sequence;
  }
}

/** The node pruned this checkpoint. Retried; add an archive to LEDGER_SOURCE. */
export class CheckpointPrunedError extends SourceError {
  override readonly name = "CheckpointPrunedError";
  readonly sequence: bigint;
  /** First checkpoint that the node serves completely. */
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

/** The address now serves another chain. Retried; `OtherChainError` confirms it. */
export class SourceChainChangedError extends SourceError {
  override readonly name = "SourceChainChangedError";

  constructor(source: string, before: string, now: string) {
    super(
      `${source}: answered as chain ${before} before and as chain ${now} now. ` +
        `Its name leads to nodes of different networks; point LEDGER_SOURCE at one network.`,
    );
  }
}

/** LEDGER_SOURCE lists several chains; nothing was read. Remove the other chain's sources. */
export class SourceChainsDifferError extends Error {
  override readonly name = "SourceChainsDifferError";
  readonly remedy: Remedy = "stop";

  constructor(one: SourceOfChain, other: SourceOfChain) {
    super(
      `${one.source} is of chain ${one.chainId}, and ${other.source} of chain ${other.chainId}: LEDGER_SOURCE lists sources of one chain; take the other out`,
    );
  }
}

export type SourceOfChain = { readonly source: string; readonly chainId: string };
