/** Reading single checkpoints of sources that may withhold some. */
import { isGone } from "../reading/trust.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { SourceError, SourceUnavailableError } from "../sources/source-errors.ts";
import { fetchOne } from "./fetch-each.ts";

/** A source that works lacks this checkpoint. Retried; add another source to LEDGER_SOURCE. */
export class CheckpointWithheldError extends SourceError {
  override readonly name = "CheckpointWithheldError";
  readonly sequence: bigint;

  constructor(sequence: bigint, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`checkpoint ${sequence} cannot be had: ${reason}`, { cause });
    this.sequence = sequence;
  }
}

/** After this many withheld checkpoints, an announced one is waited for less long. */
const PATIENT = 3;
const HURRIED_MS = 5_000;

/**
 * Reads a checkpoint from each listed source in turn, until one has it.
 * @param read gets how long an announced checkpoint may be missing, ms; undefined: as usual
 * @throws CheckpointWithheldError (retry) when the sources work without it, at once if that is known
 * @throws errors of a source that fails as a whole
 */
export type ReadPatiently = <T>(
  sequence: bigint,
  read: (graceMs: number | undefined) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/** @param isFalse further errors that say as much, such as of a forged checkpoint */
export const createPatience = (
  source: CheckpointSource,
  isFalse: (error: unknown) => boolean = () => false,
): ReadPatiently => {
  const withheld = new Map<bigint, CheckpointWithheldError>();
  return async (sequence, read, signal) => {
    const known = withheld.get(sequence);
    if (known !== undefined) throw known;
    for (let left = source.listed?.count ?? 1; ; left -= 1) {
      const asked = source.listed?.inUse ?? 0;
      try {
        return await read(withheld.size < PATIENT ? undefined : HURRIED_MS);
      } catch (error) {
        if (signal.aborted) throw error;
        const isWithheld =
          isGone(error) ||
          isFalse(error) ||
          (error instanceof SourceUnavailableError && (await works(source, sequence, signal)));
        if (!isWithheld || !(error instanceof Error)) throw error;
        if (left > 1) {
          source.failed?.(error, asked);
          continue;
        }
        const failure = new CheckpointWithheldError(sequence, error);
        withheld.set(sequence, failure);
        throw failure;
      }
    }
  };
};

/** Whether a source answers, and serves its newest checkpoint: an overloaded one does not. */
const works = async (
  source: CheckpointSource,
  without: bigint,
  signal: AbortSignal,
): Promise<boolean> => {
  try {
    const newest = await source.latest(signal);
    if (newest === null || newest <= without) return false;
    await fetchOne(source, newest, signal);
    return true;
  } catch {
    return false;
  }
};
