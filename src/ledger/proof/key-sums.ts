/**
 * Sums of public keys. A certificate names some sixty of a hundred keys, each time others. So keys
 * parsed one after the other, as those of a committee are, form groups, and the sum over any part of a
 * group is computed once: a certificate's sum takes a third of the additions.
 */
import type { G2 } from "mcl-wasm";

/** A group has 31 sums, a committee of a hundred some 600 in half a megabyte. */
const GROUP = 5;
const SUMS_REMEMBERED = 4_000;

/** A key and its number among those parsed. */
type NumberedKey = { readonly number: number; readonly point: G2 };

/** Replaces keys by fewer points with the same sum. */
export const createKeySums = (
  add: (one: G2, other: G2) => G2,
): ((keys: readonly NumberedKey[]) => readonly G2[]) => {
  const known = new Map<string, G2>();

  const sumOf = (keys: readonly NumberedKey[]): readonly G2[] => {
    const [first, ...others] = keys;
    if (first === undefined) return [];
    const name = keys.map(({ number }) => number).join();
    const found = known.get(name);
    if (found !== undefined) return [found];
    const sum = others.reduce((total, { point }) => add(total, point), first.point);
    // Additions to a normalized point are cheaper.
    sum.normalize();
    for (const oldest of known.keys()) {
      if (known.size < SUMS_REMEMBERED) break;
      known.delete(oldest);
    }
    known.set(name, sum);
    return [sum];
  };

  return (keys) => {
    const groups: NumberedKey[][] = [];
    let last: NumberedKey[] | undefined;
    for (const key of keys) {
      const before = last?.at(-1);
      const isOfGroup =
        before !== undefined &&
        before.number < key.number &&
        Math.floor(before.number / GROUP) === Math.floor(key.number / GROUP);
      if (last === undefined || !isOfGroup) {
        last = [];
        groups.push(last);
      }
      last.push(key);
    }
    return groups.flatMap(sumOf);
  };
};
