/**
 * A read range as bytes: a chunk of an archive with certificates that are still to be verified in
 * the place of proofs, behind what joins it to its neighbours; compressed.
 */
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { MessageType, ScalarType } from "@protobuf-ts/runtime";
import { ChunkFormError, decodeChunk, encodeChunk } from "../archive/chunk.ts";
import { Cursor } from "../ledger/decode/cursor.ts";
import { readSummary } from "../ledger/decode/summary.ts";
import { type CertifiedSummary, certifiedOf } from "../ledger/proof/certificate.ts";
import { CertificateError } from "../ledger/proof/proof-errors.ts";
import { decimalsIn } from "../ledger/reading/read.ts";
import type { StretchProof } from "../log/fact.ts";
import { VERIFY_LEVELS } from "../settings/values.ts";
import type { ReadRange } from "./read-range.ts";

type RangeMessage = {
  previousDigest?: string;
  packages: string[];
  skipped: number;
  /** As `encodeChunk` writes it. */
  chunk: Uint8Array;
  level: string;
};

const RangeContent = new MessageType<RangeMessage>("holderbook.backfill.v1.Range", [
  { no: 1, name: "previous_digest", kind: "scalar", T: ScalarType.STRING, opt: true },
  { no: 2, name: "packages", kind: "scalar", T: ScalarType.STRING, repeat: 2 },
  { no: 3, name: "skipped", kind: "scalar", T: ScalarType.UINT32 },
  { no: 4, name: "chunk", kind: "scalar", T: ScalarType.BYTES },
  { no: 5, name: "level", kind: "scalar", T: ScalarType.STRING },
]);

/** Most bytes of a range after decompression. */
const MOST_BYTES = 512 * 1024 * 1024;

/** @throws CertificateError (retry) when signatures are to be verified and the source gave none */
export const packRange = (read: ReadRange): Promise<Uint8Array> => {
  const { level, previousDigest, packages, skipped, batch, certified = [] } = read;
  return promisify(zstdCompress)(
    RangeContent.toBinary({
      ...(previousDigest !== null && { previousDigest }),
      packages: [...packages],
      ...{ skipped, level },
      chunk: encodeChunk({ ...batch, proofs: certified.map(unverified) }),
    }),
  );
};

const unverified = ({ header, summary, certificate }: CertifiedSummary): StretchProof => {
  const { sequence, epoch } = header;
  if (certificate === null)
    throw new CertificateError(sequence, "was read without its certificate");
  const { signature, signers } = certificate;
  return {
    firstCheckpoint: sequence,
    lastCheckpoint: sequence,
    epoch,
    summary,
    signature,
    signers,
  };
};

/** @throws ChunkFormError, CheckpointDecodeError on bytes that `packRange` does not write */
export const unpackRange = async (content: Uint8Array, rawBytes: number): Promise<ReadRange> => {
  const beganMs = performance.now();
  const { previousDigest = null, packages, skipped, chunk, ...read } = await messageIn(content);
  const level = VERIFY_LEVELS.find((one) => one === read.level);
  if (level === undefined)
    throw new ChunkFormError(`it was checked in an unknown way: ${read.level}`);
  const { proofs = [], guided: _, ...batch } = decodeChunk(chunk);
  const certified = proofs.map(certifiedIn);
  return {
    ...{ batch, level, previousDigest, packages, skipped, rawBytes, certified, beganMs },
    coins: batch.facts.flatMap(decimalsIn),
    checkpoints: Number(batch.last.sequence - batch.first) + 1,
    decodedMs: performance.now(),
  };
};

const messageIn = async (content: Uint8Array): Promise<RangeMessage> => {
  try {
    const bytes = await promisify(zstdDecompress)(content, { maxOutputLength: MOST_BYTES });
    return RangeContent.fromBinary(bytes);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ChunkFormError(`it is not the content of a range: ${why}`, { cause });
  }
};

const certifiedIn = ({ lastCheckpoint, epoch, summary, signature, signers }: StretchProof) => {
  const cursor = new Cursor(summary, lastCheckpoint);
  return certifiedOf(cursor, readSummary(cursor), { epoch, signature, signers });
};
