/**
 * Checkpoints as files: `<sequence>.chk` (one byte naming the encoding, then the checkpoint) and
 * `<sequence>.binpb.zst` (the object store's zstd-compressed protobuf; `.binpb` without compression).
 */

import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Encoding, RawCheckpoint } from "../decode/checkpoint.ts";
import { readSequenceOf } from "../decode/decode.ts";

/** The first byte of a `.chk` file when BCS follows. */
export const CHK_BCS = 1;

/** What a checkpoint may have after decompression, unless configured otherwise: 256 MiB. */
const DEFAULT_MAX_CHECKPOINT_BYTES = 256 * 1024 * 1024;

/** A file is no checkpoint file, or is damaged on the outside. Fetch it again, or give another. */
export class CheckpointFileError extends Error {
  override readonly name = "CheckpointFileError";
  readonly remedy: Remedy = "stop";

  constructor(file: string, what: string, options?: ErrorOptions) {
    super(`${file}: ${what}`, options);
  }
}

const FILE_NAME = /^(?:.*\/)?(\d{1,20})\.(?:chk|binpb|binpb\.zst)$/;

/** The number in a checkpoint file's name; null when the name has none. */
export const sequenceInName = (path: string): bigint | null => {
  const digits = FILE_NAME.exec(path)?.[1];
  return digits === undefined ? null : BigInt(digits);
};

/**
 * Reads a checkpoint file from disk and opens it.
 * @throws CheckpointFileError (stop) also when the file cannot be read or is larger than `maxBytes`
 * @throws CheckpointDecodeError (retry) when neither its name nor its bytes have a number
 */
export const readCheckpointFile = async (
  path: string,
  maxBytes: number = DEFAULT_MAX_CHECKPOINT_BYTES,
): Promise<RawCheckpoint> => openCheckpointFile(path, await readWhole(path, maxBytes), maxBytes);

/**
 * Opens the bytes of a checkpoint file, by the ending of its name. The checkpoint's number is taken
 * from the name, or, when it has none, from the bytes.
 * @throws CheckpointFileError (stop) for an unknown ending or encoding byte, damaged compression, or
 *   more than `maxBytes` after decompression
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
 * Decompresses one zstd-compressed checkpoint, off the main thread. Bytes that expand beyond
 * `maxBytes` are refused before they are all in memory: a small file can announce gigabytes.
 * @param name what the bytes are, for errors
 * @throws CheckpointFileError (stop); its cause has the code ERR_BUFFER_TOO_LARGE when it is too large
 */
export const decompressCheckpoint = async (
  name: string,
  compressed: Uint8Array,
  maxBytes: number = DEFAULT_MAX_CHECKPOINT_BYTES,
): Promise<Uint8Array> => {
  // Checkpoints compress about four to one: most are then put together from very few pieces.
  const chunkSize = Math.min(1 << 20, Math.max(1 << 14, compressed.byteLength * 4));
  try {
    return await decompress(compressed, { maxOutputLength: maxBytes, chunkSize });
  } catch (cause) {
    const tooLarge =
      cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    const what = tooLarge
      ? `decompresses to more than ${maxBytes} bytes`
      : "the zstd compression is damaged or cut off";
    throw new CheckpointFileError(name, what, { cause });
  }
};

const decompress = promisify(zstdDecompress);

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
