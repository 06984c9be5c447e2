/** Facts and batches for tests of the log and of pipelines: plain, small, one coin type. */
import { createHash } from "node:crypto";
import { createBlockBuilder, piecesOf } from "../../src/log/block.ts";
import type { AppendBatch, Block, CheckpointMark, Fact, ReadFact } from "../../src/log/fact.ts";
import { base58 } from "../../src/values/base58.ts";

export { piecesOf };

export const PACKAGE = `0x${"5e".repeat(32)}`;
export const COIN = `0x${"c0".repeat(32)}::acme::ACME`;

const hash = (text: string) => createHash("sha256").update(text).digest();
const hex = (text: string) => `0x${hash(text).toString("hex")}`;

/** The mark of a checkpoint, always the same one for the same number. */
export const mark = (sequence: bigint): CheckpointMark => ({
  sequence,
  digest: base58(hash(`checkpoint ${sequence}`)),
  timestampMs: 1_700_000_000_000n + sequence * 250n,
});

/** A fact; everything not given follows from its position. */
export const fact = (
  checkpoint: bigint,
  transaction = 0,
  given: Partial<{
    kind: Fact["kind"];
    name: string;
    index: number;
    bytes: number;
    type: string;
    coinType: string;
  }> = {},
): ReadFact => {
  const { kind = "event", name = "shared_token::Transfer", index = 0, bytes = 40 } = given;
  const coinType = given.coinType ?? COIN;
  const place = `${checkpoint}/${transaction}/${kind}/${index}`;
  const common = {
    checkpoint,
    transaction,
    index,
    timestampMs: mark(checkpoint).timestampMs,
    type: given.type ?? `${PACKAGE}::${name}<${coinType}>`,
    name,
    coinType,
    txDigest: `tx-${checkpoint}-${transaction}`,
    sender: hex(`sender ${transaction}`),
  };
  const contents = Buffer.alloc(bytes, place);
  const object = { objectId: hex(place), version: 2n ** 64n - 1n - checkpoint };
  switch (kind) {
    case "event":
      return { ...common, kind, contents };
    case "object":
      return { ...common, ...object, versionBefore: BigInt(transaction) || null, kind, contents };
    case "removal":
      return { ...common, ...object, kind };
  }
};

/** The block of these checkpoints. */
export const blockOf = (marks: Iterable<CheckpointMark>): Block => {
  const builder = createBlockBuilder();
  for (const one of marks) builder.add(one);
  return builder.packed();
};

/** The marks of checkpoints `first` to `last`. */
export function* marksOf(first: bigint, last: bigint): Generator<CheckpointMark> {
  for (let sequence = first; sequence <= last; sequence += 1n) yield mark(sequence);
}

/** The batch of checkpoints `first` to `last` with these facts, and marks where there are some. */
export const batch = (
  first: bigint,
  last: bigint,
  facts: readonly ReadFact[] = [],
): AppendBatch => ({
  first,
  last: mark(last),
  facts,
  marks: [...new Set(facts.map((fact) => fact.checkpoint))].map(mark),
  blocks: piecesOf(marksOf(first, last)),
});

/** The guided batch from `first` on that read these checkpoints. */
export const guidedBatch = (
  first: bigint,
  read: readonly bigint[],
  facts: readonly ReadFact[] = [],
): AppendBatch => ({
  ...batch(first, read.at(-1) ?? first, facts),
  blocks: piecesOf(read.map(mark)),
  guided: true,
});

/** Checkpoints `first` to `last`, each with `perCheckpoint` events of one transaction each. */
export const filled = (first: bigint, last: bigint, perCheckpoint: number): AppendBatch => {
  const facts: ReadFact[] = [];
  for (let checkpoint = first; checkpoint <= last; checkpoint += 1n)
    for (let n = 0; n < perCheckpoint; n += 1) facts.push(fact(checkpoint, n));
  return batch(first, last, facts);
};
