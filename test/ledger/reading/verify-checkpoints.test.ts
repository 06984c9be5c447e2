import { expect, test } from "vitest";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { wholeRange } from "../../../src/ledger/reading/verify-checkpoints.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";

/** A source that gives these, whatever it is asked for. */
const giving = (...sequences: readonly bigint[]): CheckpointSource => ({
  description: "test",
  chainId: async () => null,
  latest: async () => 9n,
  checkpoints: async function* () {
    for (const sequence of sequences) {
      yield { sequence, encoding: "bcs", bytes: new Uint8Array() } satisfies RawCheckpoint;
    }
  },
  close: async () => {},
});

test("a range from which a source omits a checkpoint is not verified", async () => {
  const read = async (source: CheckpointSource) => {
    const read: bigint[] = [];
    const range = wholeRange(source, { first: 5n, last: 7n }, new AbortController().signal);
    for await (const { sequence } of range) read.push(sequence);
    return read;
  };
  expect(await read(giving(5n, 6n, 7n))).toEqual([5n, 6n, 7n]);
  for (const [source, missing] of [
    [giving(), 5n],
    [giving(5n, 6n), 7n],
    [giving(5n, 7n), 6n],
    [giving(5n, 5n, 6n, 7n), 6n],
  ] as const) {
    await expect(read(source)).rejects.toMatchObject({
      name: "VerificationError",
      sequence: missing,
    });
  }
});
