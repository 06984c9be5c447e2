import { createBLAKE2b } from "hash-wasm";

/**
 * In WebAssembly, because in plain JavaScript digests take ten times as long as all other decoding
 * of a checkpoint, and OpenSSL's BLAKE2b makes only 64-byte digests.
 */
const hasher = await createBLAKE2b(256);

/** Unkeyed BLAKE2b-256 over `prefix` and `data`. */
export const blake2b256 = (prefix: Uint8Array, data: Uint8Array): Uint8Array =>
  hasher.init().update(prefix).update(data).digest("binary");
