import { base58 } from "../../values/base58.ts";
import type { CheckpointHeader } from "./checkpoint.ts";
import type { Cursor } from "./cursor.ts";
import { digestOf } from "./digest.ts";
import {
  authorityKey,
  bytes,
  digest,
  fixed,
  oneOf,
  optional,
  record,
  u64,
  vector,
} from "./layout.ts";

/** A checkpoint's summary: its header, and where the digest of its contents stands. */
export type Summary = {
  readonly header: CheckpointHeader;
  /** Offset of the digest of the checkpoint's contents. */
  readonly contentDigestAt: number;
};

/**
 * Reads `CheckpointSummary` and computes its digest.
 * @throws CheckpointDecodeError when it is the summary of another checkpoint than asked for
 */
export const readSummary = (cursor: Cursor): Summary => {
  const start = cursor.at;
  const epoch = cursor.u64();
  const sequenceAt = cursor.at;
  const sequence = cursor.u64();
  if (sequence !== cursor.sequence) {
    cursor.fail(`holds checkpoint ${sequence}, not the one asked for`, sequenceAt);
  }
  cursor.skip(8); // transactions of the network so far
  const contentDigestAt = cursor.digest();
  const previousDigestAt = cursor.option() ? cursor.digest() : null;
  cursor.skip(4 * 8); // gas of the epoch so far
  const timestampMs = cursor.u64();
  skipRest(cursor);
  const summary = cursor.bytes.subarray(start, cursor.at);
  return {
    header: {
      sequence,
      epoch,
      timestampMs,
      digest: base58(digestOf("CheckpointSummary", summary)),
      contentDigest: base58(cursor.bytes, contentDigestAt),
      previousDigest: previousDigestAt === null ? null : base58(cursor.bytes, previousDigestAt),
    },
    contentDigestAt,
  };
};

/** The number of the checkpoint whose `CheckpointSummary` begins here. */
export const readSequence = (cursor: Cursor): bigint => {
  cursor.skip(8);
  return cursor.u64();
};

const commitments = vector(
  oneOf("CheckpointCommitment", [
    digest, // 0 ECMHLiveObjectSetDigest
    digest, // 1 CheckpointArtifactsDigest
  ]),
);

/** Next committee (key and stake), next protocol version, commitments. */
const endOfEpoch = record(vector(record(authorityKey, u64)), u64, commitments);

/** Commitments, end of epoch, data specific to the version. */
const skipRest = record(commitments, optional(endOfEpoch), bytes);

/**
 * Steps over the certificate (`AuthorityStrongQuorumSignInfo`): epoch, aggregated signature of 48
 * bytes, bitmap of the signers.
 */
export const skipCertificate = record(u64, fixed(48), bytes);
