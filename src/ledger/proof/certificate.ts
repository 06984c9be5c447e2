import type { CheckpointHeader, RawCheckpoint } from "../decode/checkpoint.ts";
import { Cursor } from "../decode/cursor.ts";
import { readCertifiedMessage } from "../decode/protobuf.ts";
import { readSummary, type Summary } from "../decode/summary.ts";
import type { Span } from "../decode/transaction.ts";
import { Fields, varintAt } from "../decode/wire.ts";
import type { CommitteeMember } from "./committee.ts";

/** The validators' aggregated signature on a summary. */
export type Certificate = {
  /** The epoch whose committee signed. */
  readonly epoch: bigint;
  /** A compressed point of G1: 48 bytes. */
  readonly signature: Uint8Array;
  /** Roaring bitmap of signers' indexes in the committee. */
  readonly signers: Uint8Array;
};

/** A checkpoint's summary with its proof, copied. */
export type CertifiedSummary = {
  readonly header: CheckpointHeader;
  /** BCS under the digest and signature. */
  readonly summary: Uint8Array;
  /** The next committee when the checkpoint ends an epoch; else null. */
  readonly nextCommittee: readonly CommitteeMember[] | null;
  readonly certificate: Certificate | null;
  /** Commitment to the objects written (object-set.ts); null before protocol 125. */
  readonly objectSet: Uint8Array | null;
};

const SIGNATURE_BYTES = 48;

/**
 * Reads summary and certificate of a raw checkpoint; verifies nothing.
 * @throws CheckpointDecodeError (retry)
 */
export const readCertified = (raw: RawCheckpoint): CertifiedSummary => {
  const cursor = new Cursor(raw.bytes, raw.sequence);
  const { summary, certificate } = raw.encoding === "bcs" ? inData(cursor) : inMessage(cursor);
  return certifiedOf(cursor, summary, certificate);
};

/** A summary that the cursor read, copied. */
export const certifiedOf = (
  cursor: Cursor,
  { header, start, end, nextCommittee, objectSetAt }: Summary,
  certificate: Certificate | null,
): CertifiedSummary => ({
  header,
  summary: cursor.copy(start, end),
  nextCommittee:
    nextCommittee?.map(({ keyAt, stake }) => ({
      publicKey: cursor.copy(keyAt, keyAt + 96),
      stake,
    })) ?? null,
  certificate,
  objectSet: objectSetAt === null ? null : cursor.copy(objectSetAt, objectSetAt + 32),
});

/** `AuthorityStrongQuorumSignInfo` follows the summary. */
const inData = (cursor: Cursor) => {
  const summary = readSummary(cursor);
  const epoch = cursor.u64();
  const signatureAt = cursor.skip(SIGNATURE_BYTES);
  const signersAt = cursor.skipBytes();
  const certificate: Certificate = {
    epoch,
    signature: cursor.copy(signatureAt, signatureAt + SIGNATURE_BYTES),
    signers: cursor.copy(signersAt, cursor.at),
  };
  return { summary, certificate };
};

const inMessage = (cursor: Cursor) => {
  const { summary, signature } = readCertifiedMessage(cursor);
  const certificate = signature === null ? null : readAggregated(cursor, signature);
  return { summary, certificate };
};

/** `sui.rpc.v2.ValidatorAggregatedSignature`; absent fields are 0 or empty. */
const readAggregated = (cursor: Cursor, message: Span): Certificate => {
  let epoch = 0n;
  let signature: Span | null = null;
  let signers: Span | null = null;
  const fields = new Fields(cursor, message);
  while (fields.next()) {
    if (fields.number === 1) epoch = varintAt(cursor, { start: fields.start, end: fields.end });
    if (fields.number === 2) signature = fields.only(signature, () => "signature.signature");
    if (fields.number === 3) signers = fields.only(signers, () => "signature.bitmap");
  }
  const { start, end } = signature ?? message;
  if (signature === null || end - start !== SIGNATURE_BYTES) {
    cursor.fail(`an aggregated signature has ${SIGNATURE_BYTES} bytes`, start);
  }
  return {
    epoch,
    signature: cursor.copy(start, end),
    signers: signers === null ? new Uint8Array() : cursor.copy(signers.start, signers.end),
  };
};

/** First four bytes, little-endian, of a roaring bitmap without runs. */
const COOKIE = 12346;
/** Cookie and container count; then key, cardinality less one, offset. */
const HEADER_BYTES = 4 + 4 + 2 + 2 + 4;
/** Larger containers have another form. */
const MOST_IN_ARRAY = 4096;

/**
 * Numbers of a roaring bitmap, ascending, in the only form validators write (portable format, one
 * array container); null for other bytes, so each set has one encoding.
 * @param below exclusive limit of the numbers, at most 4096
 */
export const readBitmap = (bytes: Uint8Array, below: number): readonly number[] | null => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, true) !== COOKIE) return null;
  const containers = view.getUint32(4, true);
  if (containers === 0) return bytes.length === 8 ? [] : null;
  if (containers !== 1 || bytes.length < HEADER_BYTES || view.getUint16(8, true) !== 0) return null;
  const count = view.getUint16(10, true) + 1;
  if (count > Math.min(below, MOST_IN_ARRAY) || view.getUint32(12, true) !== HEADER_BYTES)
    return null;
  if (bytes.length !== HEADER_BYTES + 2 * count) return null;
  const places: number[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; at += 2) {
    const place = view.getUint16(at, true);
    if (place >= below || place <= (places.at(-1) ?? -1)) return null;
    places.push(place);
  }
  return places;
};
