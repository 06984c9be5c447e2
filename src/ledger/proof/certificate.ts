export { readBitmap } from "../../../client/validators.ts";

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
