import { expect } from "vitest";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";
import { sampleCheckpointBytes } from "./sample-checkpoint.ts";

/** Reads a source to the end of the range; a reading that hangs fails by name after `withinMs`. */
export const take = async (
  source: CheckpointSource,
  range: { readonly first: bigint; readonly last?: bigint },
  options: { readonly withinMs?: number; readonly each?: (raw: RawCheckpoint) => unknown } = {},
): Promise<RawCheckpoint[]> => {
  const taken: RawCheckpoint[] = [];
  const controller = new AbortController();
  const withinMs = options.withinMs ?? 30_000;
  const deadline = setTimeout(() => controller.abort(), withinMs);
  try {
    for await (const raw of source.checkpoints(range, controller.signal)) {
      taken.push(raw);
      await options.each?.(raw);
    }
  } finally {
    clearTimeout(deadline);
  }
  if (controller.signal.aborted) {
    const newest = taken.at(-1)?.sequence ?? "none";
    throw new Error(
      `${source.description}: after ${withinMs} ms only checkpoint ${newest} had come`,
    );
  }
  return taken;
};

/** Numbers from `first` to `last`. */
export const numbers = (first: number, last: number): bigint[] =>
  Array.from({ length: last - first + 1 }, (_, index) => BigInt(first + index));

/** Checks that exactly these sample checkpoints came: none missing, none twice, in order, whole. */
export const expectSamples = (taken: readonly RawCheckpoint[], expected: readonly bigint[]) => {
  expect(taken.map(({ sequence }) => sequence)).toEqual(expected);
  for (const { sequence, encoding, bytes } of taken) {
    expect(encoding).toBe("protobuf");
    expect(Buffer.compare(bytes, sampleCheckpointBytes(sequence))).toBe(0);
  }
};

/** Waits until `holds`; the deadline's message tells what was seen instead. */
export const until = async (
  holds: () => boolean,
  seen: () => unknown,
  withinMs = 30_000,
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > deadline) {
      throw new Error(`not within ${withinMs} ms; last seen: ${String(seen())}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
