/**
 * The compression function of BLAKE2b (RFC 7693), assembled as a WebAssembly module.
 *
 * BLAKE2b needs 64-bit words: in plain JavaScript, digests take ten times as long as all other
 * decoding of a checkpoint, and OpenSSL's BLAKE2b makes only 64-byte digests. Assembling it here
 * keeps it reviewable.
 *
 * Exports `memory` and `compress(at, blocks, counter, final)`: mixes `blocks` blocks of 128 bytes
 * from address `at` into the state, eight words at address 0. `counter` is the number of bytes
 * hashed before them; `final` is -1 for the last block of a message (which the caller pads with
 * zeros and whose `counter` it lowers by the padding), else 0.
 */

/** RFC 7693, 2.6. */
const INITIALIZATION_VECTOR: readonly bigint[] = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
];

/** RFC 7693, 2.7: order of the block's words in each round. Rounds 10 and 11 repeat 0 and 1. */
const SCHEDULE: readonly (readonly number[])[] = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
];

/** RFC 7693, 3.2: columns, then diagonals, of the working vector. */
const MIXES: readonly (readonly [number, number, number, number])[] = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
];

const BLOCK_BYTES = 128;
const WORD_BYTES = 8;

// WebAssembly value types and instructions.
const I32 = 0x7f;
const I64 = 0x7e;
const FUNCTION = 0x60;
const EMPTY = 0x40;
const LOOP = 0x03;
const END = 0x0b;
const BR_IF = 0x0d;
const LOCAL_GET = 0x20;
const LOCAL_SET = 0x21;
const LOCAL_TEE = 0x22;
const I64_LOAD = 0x29;
const I64_STORE = 0x37;
const I32_CONST = 0x41;
const I64_CONST = 0x42;
const I32_ADD = 0x6a;
const I32_SUB = 0x6b;
const I64_ADD = 0x7c;
const I64_XOR = 0x85;
const I64_ROTR = 0x8a;
const I64_EXTEND_S = 0xac;
const I64_EXTEND_U = 0xad;

// Parameters and locals of `compress`.
const AT = 0;
const BLOCKS = 1;
const COUNTER = 2;
const FINAL = 3;
const V0 = 4;

/** The module's bytes; `pages` is its memory in units of 64 KiB. */
const assembleBlake2b = (pages: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00], // magic, version 1
    ...section(1, [1, FUNCTION, 4, I32, I32, I32, I32, 0]), // one type: four i32, no result
    ...section(3, [1, 0]), // one function of it
    ...section(5, [1, 0, ...unsigned(pages)]), // one memory
    ...section(7, [2, ...name("memory"), 2, 0, ...name("compress"), 0, 0]),
    ...section(10, [1, ...sized([1, 16, I64, ...compression(), END])]),
  ]);

const compression = (): number[] => [
  ...[LOOP, EMPTY],
  ...[...get(COUNTER), I32_CONST, ...signed(BigInt(BLOCK_BYTES)), I32_ADD, ...set(COUNTER)],
  ...INITIALIZATION_VECTOR.flatMap((_, i) => [...loadState(i), ...set(V0 + i)]),
  ...INITIALIZATION_VECTOR.flatMap((word, i) => [I64_CONST, ...signed(word), ...set(V0 + 8 + i)]),
  ...[...get(V0 + 12), ...get(COUNTER), I64_EXTEND_U, I64_XOR, ...set(V0 + 12)],
  ...[...get(V0 + 14), ...get(FINAL), I64_EXTEND_S, I64_XOR, ...set(V0 + 14)],
  ...SCHEDULE.flatMap((words) =>
    MIXES.flatMap((mixed, i) => mix(mixed, words[2 * i] ?? 0, words[2 * i + 1] ?? 0)),
  ),
  ...INITIALIZATION_VECTOR.flatMap((_, i) => [
    ...[I32_CONST, 0, ...loadState(i), ...get(V0 + i), I64_XOR, ...get(V0 + 8 + i), I64_XOR],
    ...[I64_STORE, 3, ...unsigned(i * WORD_BYTES)],
  ]),
  ...[...get(AT), I32_CONST, ...signed(BigInt(BLOCK_BYTES)), I32_ADD, ...set(AT)],
  ...[...get(BLOCKS), I32_CONST, 1, I32_SUB, LOCAL_TEE, BLOCKS, BR_IF, 0],
  END,
];

/** RFC 7693, 3.1: the mixing function G. */
const mix = (
  [a, b, c, d]: readonly [number, number, number, number],
  x: number,
  y: number,
): number[] => [
  ...[...get(V0 + a), ...get(V0 + b), I64_ADD, ...loadBlock(x), I64_ADD, ...set(V0 + a)],
  ...rotateXor(d, a, 32),
  ...[...get(V0 + c), ...get(V0 + d), I64_ADD, ...set(V0 + c)],
  ...rotateXor(b, c, 24),
  ...[...get(V0 + a), ...get(V0 + b), I64_ADD, ...loadBlock(y), I64_ADD, ...set(V0 + a)],
  ...rotateXor(d, a, 16),
  ...[...get(V0 + c), ...get(V0 + d), I64_ADD, ...set(V0 + c)],
  ...rotateXor(b, c, 63),
];

/** v[target] = (v[target] ^ v[other]) rotated right. */
const rotateXor = (target: number, other: number, bits: number): number[] => [
  ...[...get(V0 + target), ...get(V0 + other), I64_XOR],
  ...[I64_CONST, ...signed(BigInt(bits)), I64_ROTR, ...set(V0 + target)],
];

const loadState = (word: number): number[] => [
  ...[I32_CONST, 0, I64_LOAD, 3, ...unsigned(word * WORD_BYTES)],
];

const loadBlock = (word: number): number[] => [
  ...[...get(AT), I64_LOAD, 3, ...unsigned(word * WORD_BYTES)],
];

const get = (local: number): number[] => [LOCAL_GET, local];
const set = (local: number): number[] => [LOCAL_SET, local];
const section = (id: number, content: readonly number[]): number[] => [id, ...sized(content)];
const sized = (content: readonly number[]): number[] => [...unsigned(content.length), ...content];
const name = (text: string): number[] =>
  sized(Array.from(text, (character) => character.charCodeAt(0)));

/** Unsigned LEB128. */
const unsigned = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];

/** Signed LEB128 of a 64-bit word. */
const signed = (word: bigint): number[] => {
  const value = BigInt.asIntN(64, word);
  const rest = value >> 7n;
  const low = Number(value & 0x7fn);
  const last = (rest === 0n && low < 0x40) || (rest === -1n && low >= 0x40);
  return last ? [low] : [low | 0x80, ...signed(rest)];
};

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
