/** Raw checkpoints of an archive, several in a file, as protobuf (docs/reference/formats.md). */
import { MessageType, ScalarType } from "@protobuf-ts/runtime";
import type { Encoding, RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { ChunkFormError } from "./chunk.ts";

type RawChunk = { checkpoints: { sequence: bigint; encoding: number; content: Uint8Array }[] };

const ENCODINGS = ["bcs", "protobuf"] as const satisfies readonly Encoding[];

const RawMessage = new MessageType<RawChunk["checkpoints"][number]>(
  "holderbook.archive.v1.RawCheckpoint",
  [
    { no: 1, name: "sequence", kind: "scalar", T: ScalarType.UINT64, L: 0 },
    { no: 2, name: "encoding", kind: "scalar", T: ScalarType.UINT32 },
    { no: 3, name: "content", kind: "scalar", T: ScalarType.BYTES },
  ],
);

const RawChunkMessage = new MessageType<RawChunk>("holderbook.archive.v1.RawChunk", [
  { no: 1, name: "checkpoints", kind: "message", repeat: 2, T: () => RawMessage },
]);

export const encodeRawChunk = (checkpoints: readonly RawCheckpoint[]): Uint8Array =>
  RawChunkMessage.toBinary({
    checkpoints: checkpoints.map(({ sequence, encoding, bytes }) => ({
      ...{ sequence, encoding: ENCODINGS.indexOf(encoding), content: bytes },
    })),
  });

/** @throws ChunkFormError on bytes that `encodeRawChunk` does not write */
export const decodeRawChunk = (encoded: Uint8Array): readonly RawCheckpoint[] =>
  parsed(encoded).checkpoints.map(({ sequence, encoding: number, content }) => {
    const encoding = ENCODINGS[number];
    if (encoding !== undefined) return { sequence, encoding, bytes: content };
    throw new ChunkFormError(`checkpoint ${sequence} is of unknown encoding ${number}`);
  });

const parsed = (encoded: Uint8Array): RawChunk => {
  try {
    return RawChunkMessage.fromBinary(encoded, { readUnknownField: "throw" });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ChunkFormError(`it is not the protobuf of raw checkpoints: ${why}`, { cause });
  }
};
