import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";

const decompress = promisify(zstdDecompress);

/** The decompressed bytes would be more than allowed. */
export class DecompressedTooLargeError extends Error {
  override readonly name = "DecompressedTooLargeError";

  constructor(maxBytes: number) {
    super(`decompresses to more than ${maxBytes} bytes`);
  }
}

/**
 * Decompresses one zstd frame off the main thread.
 *
 * @param maxBytes the most it may decompress to: a small file can announce gigabytes
 * @throws DecompressedTooLargeError, or an Error of zlib when the frame is cut short or damaged
 */
export const decompressZstd = async (bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> => {
  try {
    // Checkpoints compress about four to one: most are then put together from very few pieces.
    const chunkSize = Math.min(1 << 20, Math.max(1 << 14, bytes.byteLength * 4));
    return await decompress(bytes, { maxOutputLength: maxBytes, chunkSize });
  } catch (error) {
    const tooLarge =
      error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    throw tooLarge ? new DecompressedTooLargeError(maxBytes) : error;
  }
};
