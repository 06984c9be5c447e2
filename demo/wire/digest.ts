import { blake2b256 } from "../../src/values/blake2b.ts";

const NOTHING = new Uint8Array(0);

/** BLAKE2b-256 over the concatenated parts. */
export const hash = (...parts: readonly Uint8Array[]): Uint8Array => {
  const [first = NOTHING] = parts;
  if (parts.length <= 1) return blake2b256(NOTHING, first);
  return blake2b256(NOTHING, Buffer.concat(parts));
};
