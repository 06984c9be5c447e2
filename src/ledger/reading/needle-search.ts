/**
 * Multi-pattern search in one pass (Wu and Manber, "A fast algorithm for multi-pattern searching",
 * 1994).
 *
 * A window as long as the shortest needle moves over the bytes; its last two bytes determine the
 * jump, usually nearly its length. More needles cost little, while searching them in turn would
 * cost as much again for each.
 */

/** Whether the bytes contain any of the needles. */
type NeedleSearch = (haystack: Uint8Array) => boolean;

const BLOCK = 2;
const PAIRS = 2 ** 16;
/** The table holds jumps as bytes. */
const MAX_WINDOW = 0xff;

/** @param needles at least one, of at least two bytes each */
export const createNeedleSearch = (needles: readonly Uint8Array[]): NeedleSearch => {
  const shortest = Math.min(MAX_WINDOW, ...needles.map((needle) => needle.length));
  if (needles.length === 0 || shortest < BLOCK) {
    throw new RangeError(`needles of at least ${BLOCK} bytes are needed to search`);
  }
  const anchored = needles.map((needle) => anchor(needle, shortest));
  const jumps = jumpTable(anchored, shortest);
  const endingWith = Map.groupBy(anchored, ({ bytes, end }) => pairAt(bytes, end - 1));
  return (haystack) => {
    for (let at = shortest - 1; at < haystack.length; ) {
      const pair = ((haystack[at - 1] ?? 0) << 8) | (haystack[at] ?? 0);
      const jump = jumps[pair] ?? 1;
      if (jump > 0) at += jump;
      else {
        for (const needle of endingWith.get(pair) ?? []) {
          if (standsAt(haystack, at, needle)) return true;
        }
        at++;
      }
    }
    return false;
  };
};

/** A needle and its window-sized part that is searched first. */
type Anchored = {
  readonly bytes: Uint8Array;
  /** Index after the part's last byte. */
  readonly end: number;
};

/** Picks the part with the fewest zeros: binary data is full of them, which shortens jumps. */
const anchor = (bytes: Uint8Array, length: number): Anchored => {
  const zerosBefore = (end: number) =>
    bytes.subarray(end - length, end).reduce((zeros, byte) => zeros + (byte === 0 ? 1 : 0), 0);
  let best = length;
  for (let end = length + 1; end <= bytes.length; end++) {
    if (zerosBefore(end) < zerosBefore(best)) best = end;
  }
  return { bytes, end: best };
};

const jumpTable = (needles: readonly Anchored[], window: number): Uint8Array => {
  const jumps = new Uint8Array(PAIRS).fill(window - BLOCK + 1);
  for (const { bytes, end } of needles) {
    const start = end - window;
    for (let last = start + 1; last < end; last++) {
      const pair = pairAt(bytes, last);
      jumps[pair] = Math.min(jumps[pair] ?? 0, end - 1 - last);
    }
  }
  return jumps;
};

/** The pair of bytes ending at `last`. */
const pairAt = (bytes: Uint8Array, last: number): number =>
  ((bytes[last - 1] ?? 0) << 8) | (bytes[last] ?? 0);

/** Whether the needle matches with its part ending at index `at`. */
const standsAt = (haystack: Uint8Array, at: number, { bytes, end }: Anchored): boolean => {
  const start = at + 1 - end;
  if (start < 0 || start + bytes.length > haystack.length) return false;
  return bytes.every((byte, i) => haystack[start + i] === byte);
};
