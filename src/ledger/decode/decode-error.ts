import type { Remedy } from "../../waiting/remedy.ts";

/**
 * The bytes of a checkpoint are truncated, altered, too long, of an unknown variant or contradict a
 * digest. Nothing was used.
 *
 * A reader fetches the checkpoint again; if the same bytes come from another source too, this
 * decoder needs an update.
 */
export class CheckpointDecodeError extends Error {
  override readonly name = "CheckpointDecodeError";
  readonly remedy: Remedy = "retry";
  /** Number requested; null when unknown. */
  readonly sequence: bigint | null;
  /** Offset in `RawCheckpoint.bytes` (without the encoding byte of a `.chk` file). */
  readonly offset: number;
  /** The fault, without sequence and offset. */
  readonly what: string;

  constructor(sequence: bigint | null, offset: number, what: string) {
    super(`checkpoint ${sequence ?? "of unknown number"}, byte ${offset}: ${what}`);
    this.sequence = sequence;
    this.offset = offset;
    this.what = what;
  }
}
