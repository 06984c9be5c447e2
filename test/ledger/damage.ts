/** Ways in which bytes get damaged, reproducible from a seed. */

import type { Random } from "../random.ts";

export type Damage = {
  readonly name: string;
  apply(bytes: Uint8Array, random: Random): Uint8Array;
};

const edited = (name: string, edit: (bytes: Uint8Array, random: Random) => void): Damage => ({
  name,
  apply: (bytes, random) => {
    const copy = Uint8Array.from(bytes);
    edit(copy, random);
    return copy;
  },
});

const spliced = (
  name: string,
  parts: (bytes: Uint8Array, at: number, random: Random) => readonly Uint8Array[],
): Damage => ({
  name,
  apply: (bytes, random) =>
    new Uint8Array(Buffer.concat([...parts(bytes, random(bytes.length), random)])),
});

export const damages: readonly Damage[] = [
  spliced("truncation", (bytes, at) => [bytes.subarray(0, at)]),
  edited("one flipped bit", (bytes, random) => {
    const at = random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
  }),
  edited("several flipped bits", (bytes, random) => {
    for (let i = 0; i < 8; i++) {
      const at = random(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    }
  }),
  spliced("inserted bytes", (bytes, at, random) => [
    bytes.subarray(0, at),
    Uint8Array.from({ length: 1 + random(40) }, () => random(256)),
    bytes.subarray(at),
  ]),
  spliced("removed bytes", (bytes, at, random) => [
    bytes.subarray(0, at),
    bytes.subarray(at + 1 + random(40)),
  ]),
  edited("a small number made large", (bytes, random) => {
    const small = [...bytes.keys()].filter((at) => (bytes[at] ?? 0) > 0 && (bytes[at] ?? 0) < 40);
    bytes[small[random(small.length)] ?? 0] = 0x60 + random(0x20);
  }),
  edited("a length that announces gigabytes", (bytes, random) => {
    bytes.set([0xff, 0xff, 0xff, 0xff, 0x0f].slice(0, 2 + random(4)), random(bytes.length - 5));
  }),
  edited("a length that never ends", (bytes, random) => {
    const at = random(bytes.length);
    bytes.fill(0x80, at, at + 12);
  }),
  edited("zeros", (bytes, random) => {
    const at = random(bytes.length);
    bytes.fill(0, at, at + 1 + random(200));
  }),
  spliced("a part twice", (bytes, at, random) => {
    const end = at + 1 + random(400);
    return [bytes.subarray(0, end), bytes.subarray(at)];
  }),
];
