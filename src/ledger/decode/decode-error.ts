import type { Remedy } from "../../waiting/remedy.ts";

/**
 * The bytes of a checkpoint are not what they should be: truncated, altered, followed by more bytes,
 * of an unknown variant, or contradicting a digest they carry. Nothing of that checkpoint was used.
 *
 * `offset` counts from the start of `RawCheckpoint.bytes` (in a `.chk` file the encoding byte comes
 * before it). A reader fetches the checkpoint again; when the same bytes keep coming, from another source too,
 * this version of the decoder does not know them and must be updated.
 */
export class CheckpointDecodeError extends Error {
  override readonly name = "CheckpointDecodeError";
  readonly remedy: Remedy = "retry";
  /** Number the checkpoint was asked for by; null when it was to be read from the bytes. */
  readonly sequence: bigint | null;
  /** Byte offset at which reading failed. */
  readonly offset: number;
  /** What was wrong there, without sequence and offset. */
  readonly what: string;

  constructor(sequence: bigint | null, offset: number, what: string) {
    super(`checkpoint ${sequence ?? "of unknown number"}, byte ${offset}: ${what}`);
    this.sequence = sequence;
    this.offset = offset;
    this.what = what;
  }
}
