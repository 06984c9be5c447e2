/**
 * Checkpoint files: `<sequence>.chk` (an encoding byte, then the checkpoint) and
 * `<sequence>.binpb.zst` (the object store's compressed protobuf; `.binpb` uncompressed).
 */

import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { type ZstdOptions, zstdDecompress, zstdDecompressSync } from "node:zlib";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Encoding, RawCheckpoint } from "../decode/checkpoint.ts";
import { readSequenceOf } from "../decode/decode.ts";

/** First byte of a `.chk` file with BCS. */
export const CHK_BCS = 1;

/** Default limit after decompression: 256 MiB. */
const DEFAULT_MAX_CHECKPOINT_BYTES = 256 * 1024 * 1024;

/** The file is not a valid checkpoint file. Fetch it again, or use another. */
export class CheckpointFileError extends Error {
  override readonly name = "CheckpointFileError";
  readonly remedy: Remedy = "stop";

  constructor(file: string, what: string, options?: ErrorOptions) {
    super(`${file}: ${what}`, options);
  }
}

const FILE_NAME = /^(?:.*\/)?(\d{1,20})\.(?:chk|binpb|binpb\.zst)$/;

/** The number in a file's name; null without one. */
export const sequenceInName = (path: string): bigint | null => {
  const digits = FILE_NAME.exec(path)?.[1];
  return digits === undefined ? null : BigInt(digits);
};

/**
 * Reads a checkpoint file.
 * @throws CheckpointFileError (stop) also when unreadable or too large
 * @throws CheckpointDecodeError (retry) when neither name nor bytes have a number
 */
export const readCheckpointFile = async (
  path: string,
  maxBytes: number = DEFAULT_MAX_CHECKPOINT_BYTES,
): Promise<RawCheckpoint> => openCheckpointFile(path, await readWhole(path, maxBytes), maxBytes);

/**
 * Opens a file's bytes by its name's ending. The number comes from the name, or else from the
 * bytes.
 * @throws CheckpointFileError (stop) on an unknown ending or encoding, damaged compression, or too
 * large a result
 * @throws CheckpointDecodeError (retry) when neither name nor bytes have a number
 */
export const openCheckpointFile = async (
  path: string,
  bytes: Uint8Array,
  maxBytes: number = DEFAULT_MAX_CHECKPOINT_BYTES,
): Promise<RawCheckpoint> => {
  if (path.endsWith(".chk")) return rawCheckpoint(path, "bcs", afterEncodingByte(path, bytes));
  if (path.endsWith(".binpb")) return rawCheckpoint(path, "protobuf", bytes);
  if (path.endsWith(".binpb.zst")) {
    return rawCheckpoint(path, "protobuf", await decompressCheckpoint(path, bytes, maxBytes));
  }
  throw new CheckpointFileError(path, "a checkpoint file ends in .chk, .binpb or .binpb.zst");
};

/**
 * Decompresses a checkpoint. Stops at `maxBytes`, as a small file can expand to gigabytes.
 * @param name for errors
 * @throws CheckpointFileError (stop), with cause ERR_BUFFER_TOO_LARGE when too large
 */
export type Decompress = (
  name: string,
  compressed: Uint8Array,
  maxBytes?: number,
) => Promise<Uint8Array>;

const decompressing =
  (
    run: (compressed: Uint8Array, bounds: ZstdOptions) => Promise<Uint8Array> | Uint8Array,
  ): Decompress =>
  async (name, compressed, maxBytes = DEFAULT_MAX_CHECKPOINT_BYTES) => {
    // Genuine ones grow three- to fivefold, and one chunk takes half the time of several.
    const chunkSize = Math.min(1 << 20, Math.max(1 << 14, compressed.byteLength * 5));
    try {
      return await run(compressed, { maxOutputLength: maxBytes, chunkSize });
    } catch (cause) {
      const tooLarge =
        cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
      const what = tooLarge
        ? `decompresses to more than ${maxBytes} bytes`
        : "the zstd compression is damaged or cut off";
      throw new CheckpointFileError(name, what, { cause });
    }
  };

/** In the background. */
export const decompressCheckpoint = decompressing(promisify(zstdDecompress));

/** On the calling thread, which it blocks: half the processor time. */
export const decompressBlocking = decompressing(zstdDecompressSync);

const readWhole = async (path: string, maxBytes: number): Promise<Uint8Array> => {
  try {
    const { size } = await stat(path);
    if (size > maxBytes) throw new CheckpointFileError(path, `${size} bytes, at most ${maxBytes}`);
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof CheckpointFileError) throw cause;
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new CheckpointFileError(path, `cannot be read: ${what}`, { cause });
  }
};

const afterEncodingByte = (path: string, bytes: Uint8Array): Uint8Array => {
  const encoding = bytes[0];
  if (encoding === CHK_BCS) return bytes.subarray(1);
  const found = encoding === undefined ? "the file is empty" : `found ${encoding}`;
  throw new CheckpointFileError(path, `the first byte must be ${CHK_BCS} (BCS), ${found}`);
};

const rawCheckpoint = (path: string, encoding: Encoding, bytes: Uint8Array): RawCheckpoint => ({
  sequence: sequenceInName(path) ?? readSequenceOf(encoding, bytes),
  encoding,
  bytes,
});
