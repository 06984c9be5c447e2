import { assembleBlake2b, BLOCK_BYTES, INITIALIZATION_VECTOR } from "./blake2b-module.ts";

/** State at address 0, then one chunk of input. */
const PAGES = 2;
const BUFFER = 128;
const CHUNK = 64 * 1024;
const DIGEST_BYTES = 32;

const { memory, compress } = instantiate();

/** Initial state: no key, 32-byte digests (RFC 7693, 2.5 and 3.3). */
const initialState = new Uint8Array(
  BigUint64Array.from(INITIALIZATION_VECTOR, (word, i) =>
    i === 0 ? word ^ BigInt(0x01010000 ^ DIGEST_BYTES) : word,
  ).buffer,
);

/** Unkeyed BLAKE2b-256 over `prefix` (at most 128 bytes) and `data`. */
export const blake2b256 = (prefix: Uint8Array, data: Uint8Array): Uint8Array => {
  memory.set(initialState, 0);
  memory.set(prefix, BUFFER);
  let filled = prefix.length;
  let taken = 0;
  let hashed = 0;
  // The last block is mixed differently, so hash whole chunks only while more follows.
  while (data.length - taken > CHUNK - filled) {
    memory.set(data.subarray(taken, taken + CHUNK - filled), BUFFER + filled);
    taken += CHUNK - filled;
    filled = 0;
    compress(BUFFER, CHUNK / BLOCK_BYTES, hashed, 0);
    hashed += CHUNK;
  }
  memory.set(data.subarray(taken), BUFFER + filled);
  filled += data.length - taken;
  const blocks = Math.max(0, Math.ceil(filled / BLOCK_BYTES) - 1);
  const last = BUFFER + blocks * BLOCK_BYTES;
  const padding = last + BLOCK_BYTES - (BUFFER + filled);
  memory.fill(0, BUFFER + filled, last + BLOCK_BYTES);
  if (blocks > 0) compress(BUFFER, blocks, hashed, 0);
  compress(last, 1, hashed + blocks * BLOCK_BYTES - padding, -1);
  return memory.slice(0, DIGEST_BYTES);
};

type Compress = (at: number, blocks: number, counter: number, final: number) => void;

function instantiate(): { memory: Uint8Array; compress: Compress } {
  const module = new WebAssembly.Module(assembleBlake2b(PAGES));
  const { memory, compress } = new WebAssembly.Instance(module).exports;
  if (!(memory instanceof WebAssembly.Memory) || typeof compress !== "function") {
    throw new Error("the assembled BLAKE2b module lacks its exports: a defect of this program");
  }
  return { memory: new Uint8Array(memory.buffer), compress: (...block) => compress(...block) };
}
