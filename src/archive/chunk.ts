/**
 * A chunk of an archive: consecutive checkpoints of the log, as protobuf
 * (docs/reference/formats.md). On the wire nothing is implied that the chains cover, except a
 * fact's time, which is its checkpoint's.
 */
import { MessageType, ScalarType } from "@protobuf-ts/runtime";
import { countOf, markAt, nextAfter } from "../log/block.ts";
import type { AppendBatch, BlockPiece, CheckpointMark, Fact, ReadFact } from "../log/fact.ts";
import { marksOf } from "../log/read-batches.ts";

/** Absent fields are null in the log. */
type ChunkFact = {
  /** Of its checkpoint among those of the chunk, from 0. */
  place: number;
  transaction: number;
  kind: number;
  index: number;
  type: string;
  name: string;
  coinType?: string;
  txDigest: string;
  sender: string;
  objectId?: string;
  version?: bigint;
  contents?: Uint8Array;
  versionBefore?: bigint;
};

type Chunk = {
  first: bigint;
  times: Uint8Array;
  digests: Uint8Array;
  facts: ChunkFact[];
  packages: { address: string; checkpoint: bigint; transaction: number }[];
  proofs: {
    firstCheckpoint: bigint;
    lastCheckpoint: bigint;
    epoch: bigint;
    summary: Uint8Array;
    signature: Uint8Array;
    signers: Uint8Array;
  }[];
  committees: { epoch: bigint; members: Uint8Array; namedBy?: bigint }[];
  /** Runs of the checkpoints that guided reading read; none: the chunk has every checkpoint. */
  runs: { first: bigint; count: number }[];
};

const KINDS = ["event", "object", "removal"] as const satisfies readonly Fact["kind"][];

const scalar = (no: number, name: string, T: ScalarType) =>
  ({ no, name, kind: "scalar", T }) as const;
const text = (no: number, name: string) => scalar(no, name, ScalarType.STRING);
const bytes = (no: number, name: string) => scalar(no, name, ScalarType.BYTES);
const uint32 = (no: number, name: string) => scalar(no, name, ScalarType.UINT32);
/** As a bigint. */
const uint64 = (no: number, name: string) =>
  ({ no, name, kind: "scalar", T: ScalarType.UINT64, L: 0 }) as const;

const FactMessage = new MessageType<ChunkFact>("holderbook.archive.v1.Fact", [
  uint32(1, "place"),
  uint32(2, "transaction"),
  uint32(3, "kind"),
  uint32(4, "index"),
  text(5, "type"),
  text(6, "name"),
  { ...text(7, "coin_type"), opt: true },
  text(8, "tx_digest"),
  text(9, "sender"),
  { ...text(10, "object_id"), opt: true },
  { ...uint64(11, "version"), opt: true },
  { ...bytes(12, "contents"), opt: true },
  { ...uint64(13, "version_before"), opt: true },
]);

const PackageMessage = new MessageType<Chunk["packages"][number]>("holderbook.archive.v1.Package", [
  text(1, "address"),
  uint64(2, "checkpoint"),
  uint32(3, "transaction"),
]);

const ProofMessage = new MessageType<Chunk["proofs"][number]>("holderbook.archive.v1.Proof", [
  uint64(1, "first_checkpoint"),
  uint64(2, "last_checkpoint"),
  uint64(3, "epoch"),
  bytes(4, "summary"),
  bytes(5, "signature"),
  bytes(6, "signers"),
]);

const CommitteeMessage = new MessageType<Chunk["committees"][number]>(
  "holderbook.archive.v1.Committee",
  [uint64(1, "epoch"), bytes(2, "members"), { ...uint64(3, "named_by"), opt: true }],
);

const RunMessage = new MessageType<Chunk["runs"][number]>("holderbook.archive.v1.Run", [
  uint64(1, "first"),
  uint32(2, "count"),
]);

const ChunkMessage = new MessageType<Chunk>("holderbook.archive.v1.Chunk", [
  uint64(1, "first"),
  bytes(2, "times"),
  bytes(3, "digests"),
  { no: 4, name: "facts", kind: "message", repeat: 2, T: () => FactMessage },
  { no: 5, name: "packages", kind: "message", repeat: 2, T: () => PackageMessage },
  { no: 6, name: "proofs", kind: "message", repeat: 2, T: () => ProofMessage },
  { no: 7, name: "committees", kind: "message", repeat: 2, T: () => CommitteeMessage },
  { no: 8, name: "runs", kind: "message", repeat: 2, T: () => RunMessage },
]);

export const encodeChunk = (batch: AppendBatch): Uint8Array => {
  const { first, blocks, guided = false, facts, joined = [], proofs = [], committees = [] } = batch;
  const places = placesOf(blocks);
  return ChunkMessage.toBinary({
    first,
    times: Buffer.concat(blocks.map(({ times }) => times)),
    digests: Buffer.concat(blocks.map(({ digests }) => digests)),
    facts: facts.map((fact) => chunkFact(fact, places(fact.checkpoint))),
    packages: [...joined],
    proofs: [...proofs],
    committees: committees.map(({ namedBy, ...committee }) => ({
      ...committee,
      ...(namedBy !== null && { namedBy }),
    })),
    runs: guided ? blocks.map((piece) => ({ first: piece.first, count: countOf(piece) ?? 0 })) : [],
  });
};

/** Places of ascending checkpoints. */
const placesOf = (blocks: readonly BlockPiece[]) => {
  let at = 0;
  let before = 0;
  return (checkpoint: bigint): number => {
    for (let piece = blocks[at]; piece !== undefined; piece = blocks[at]) {
      if (checkpoint < nextAfter(piece)) return before + Number(checkpoint - piece.first);
      before += countOf(piece) ?? 0;
      at += 1;
    }
    throw new Error(`a fact is of checkpoint ${checkpoint}, which its batch does not have`);
  };
};

const chunkFact = (fact: ReadFact, place: number): ChunkFact => {
  const { kind, transaction, index, type, name, coinType, txDigest, sender } = fact;
  return {
    place,
    kind: KINDS.indexOf(kind),
    ...{ transaction, index, type, name, txDigest, sender },
    ...(coinType !== null && { coinType }),
    ...(fact.kind !== "event" && { objectId: fact.objectId, version: fact.version }),
    ...(fact.kind !== "removal" && { contents: fact.contents }),
    ...(fact.kind === "object" &&
      fact.versionBefore !== null && { versionBefore: fact.versionBefore }),
  };
};

/** The bytes are protobuf, but not a chunk; the message says why. */
export class ChunkFormError extends Error {
  override readonly name = "ChunkFormError";
}

/**
 * Everything that a log appends, except decimals.
 * @throws ChunkFormError on bytes that `encodeChunk` does not write
 */
export const decodeChunk = (encoded: Uint8Array): AppendBatch => {
  const chunk = parsed(encoded);
  const { first, packages, proofs, committees, runs } = chunk;
  const blocks = blocksIn(chunk);
  const sequences = blocks.flatMap((piece) =>
    Array.from({ length: countOf(piece) ?? 0 }, (_, at) => piece.first + BigInt(at)),
  );
  const markOf = (place: number): CheckpointMark => {
    const sequence = sequences[place];
    if (sequence !== undefined) return { ...markAt(sequence, chunk, place), sequence };
    throw new ChunkFormError(`a fact is at place ${place} of ${sequences.length}`);
  };
  const last = markOf(sequences.length - 1);
  const facts = chunk.facts.map((fact) => factIn(fact, markOf(fact.place)));
  return {
    ...{ first, last, marks: marksOf(blocks, facts), blocks, guided: runs.length > 0 },
    ...{ facts, joined: packages, proofs },
    committees: committees.map(({ namedBy = null, ...committee }) => ({ ...committee, namedBy })),
  };
};

/** @throws ChunkFormError unless its runs ascend and come to its times and digests */
const blocksIn = ({ first, times, digests, runs }: Chunk): readonly BlockPiece[] => {
  const count = countOf({ times, digests });
  if (count === null || count === 0)
    throw new ChunkFormError("its times and digests differ in number");
  const blocks: BlockPiece[] = [];
  let at = 0;
  let next = first;
  for (const run of runs.length > 0 ? runs : [{ first, count }]) {
    const end = at + run.count;
    if (run.first < next || run.count === 0 || end > count)
      throw new ChunkFormError(`its run of checkpoint ${run.first} is out of order or too long`);
    const [low, high] = [at, end];
    blocks.push({
      first: run.first,
      times: times.subarray(low * 8, high * 8),
      digests: digests.subarray(low * 32, high * 32),
    });
    at = end;
    next = run.first + BigInt(run.count);
  }
  if (at < count) throw new ChunkFormError(`its runs have ${at} checkpoints of ${count}`);
  return blocks;
};

const parsed = (encoded: Uint8Array): Chunk => {
  try {
    return ChunkMessage.fromBinary(encoded, { readUnknownField: "throw" });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ChunkFormError(`it is not the protobuf of a chunk: ${why}`, { cause });
  }
};

const factIn = (
  fact: ChunkFact,
  { sequence: checkpoint, timestampMs }: CheckpointMark,
): ReadFact => {
  const { transaction, index, type, name, coinType = null, txDigest, sender } = fact;
  const common = { checkpoint, transaction, index, type, name, coinType, txDigest, sender };
  const { objectId, version, contents, versionBefore = null } = fact;
  const kind = KINDS[fact.kind];
  if (kind === "event" && contents !== undefined) {
    return { ...common, timestampMs, kind, contents };
  }
  if (objectId !== undefined && version !== undefined) {
    const object = { ...common, timestampMs, objectId, version };
    if (kind === "removal") return { ...object, kind };
    if (kind === "object" && contents !== undefined) {
      return { ...object, kind, contents, versionBefore };
    }
  }
  throw new ChunkFormError(
    `the fact ${index} of transaction ${transaction} of checkpoint ${checkpoint} is incomplete or of unknown kind ${fact.kind}`,
  );
};
