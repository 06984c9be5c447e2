import { base58 } from "../../values/base58.ts";
import type { CheckpointHeader } from "./checkpoint.ts";
import type { Cursor } from "./cursor.ts";
import { digestOf } from "./digest.ts";
import { authorityKey, bytes, fixed, optional, record, u64 } from "./layout.ts";

export type Summary = {
  readonly header: CheckpointHeader;
  /** Offset of the contents' digest. */
  readonly contentDigestAt: number;
  /** Its BCS, `end` excluded. */
  readonly start: number;
  readonly end: number;
  /** The next committee when the checkpoint ends an epoch; else null. */
  readonly nextCommittee: readonly CommitteeEntry[] | null;
  /** Offset of the commitment to the objects written; null before protocol 125. */
  readonly objectSetAt: number | null;
};

type CommitteeEntry = {
  /** Offset of the 96-byte public key. */
  readonly keyAt: number;
  readonly stake: bigint;
};

/**
 * Reads `CheckpointSummary` and computes its digest.
 * @throws CheckpointDecodeError when its number is not the one requested
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
  const objectSetAt = readCommitments(cursor);
  const nextCommittee = cursor.option() ? readEndOfEpoch(cursor) : null;
  cursor.skipBytes(); // data specific to the version
  const end = cursor.at;
  const summary = cursor.bytes.subarray(start, end);
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
    start,
    end,
    nextCommittee,
    objectSetAt,
  };
};

/** The number in the `CheckpointSummary` that starts here. */
export const readSequence = (cursor: Cursor): bigint => {
  cursor.skip(8);
  return cursor.u64();
};

/** Reads `CheckpointCommitment`s; returns the offset of the first digest of an object set. */
const readCommitments = (cursor: Cursor): number | null => {
  let objectSetAt: number | null = null;
  for (let left = cursor.length(); left > 0; left--) {
    const kind = cursor.variant("CheckpointCommitment", 2);
    const digestAt = cursor.digest();
    if (kind === CHECKPOINT_ARTIFACTS) objectSetAt ??= digestAt;
  }
  return objectSetAt;
};

/** The other is the digest of all live objects, at an epoch's end. */
const CHECKPOINT_ARTIFACTS = 1;

/** Next committee (key and stake), next protocol version, commitments. */
const readEndOfEpoch = (cursor: Cursor): readonly CommitteeEntry[] => {
  const members: CommitteeEntry[] = [];
  for (let left = cursor.length(); left > 0; left--) {
    authorityKey(cursor);
    members.push({ keyAt: cursor.at - 96, stake: cursor.u64() });
  }
  cursor.skip(8);
  readCommitments(cursor);
  return members;
};

/** `AuthorityStrongQuorumSignInfo`: epoch, 48-byte aggregated signature, bitmap of signers. */
export const skipCertificate = record(u64, fixed(48), bytes);

export type ContentsEntry = {
  /** Offset of the transaction's digest. */
  readonly transactionAt: number;
  /** Offset of its effects' digest. */
  readonly effectsAt: number;
};

/** Reads `CheckpointContents`, both versions; skips signatures. */
export const readContents = (cursor: Cursor): readonly ContentsEntry[] =>
  cursor.variant("CheckpointContents", 2) === 0 ? readV1(cursor) : readV2(cursor);

const readV1 = (cursor: Cursor): readonly ContentsEntry[] => {
  const entries: ContentsEntry[] = [];
  for (let left = cursor.length(); left > 0; left--) entries.push(readDigests(cursor));
  const at = cursor.at;
  const signed = cursor.length();
  if (signed !== entries.length) {
    cursor.fail(`signatures for ${signed} of ${entries.length} transactions`, at);
  }
  for (let left = signed; left > 0; left--) {
    for (let signatures = cursor.length(); signatures > 0; signatures--) bytes(cursor);
  }
  return entries;
};

const readV2 = (cursor: Cursor): readonly ContentsEntry[] => {
  const entries: ContentsEntry[] = [];
  for (let left = cursor.length(); left > 0; left--) {
    entries.push(readDigests(cursor));
    for (let signatures = cursor.length(); signatures > 0; signatures--) {
      bytes(cursor);
      skipAliasVersion(cursor);
    }
  }
  return entries;
};

const readDigests = (cursor: Cursor): ContentsEntry => ({
  transactionAt: cursor.digest(),
  effectsAt: cursor.digest(),
});

const skipAliasVersion = optional(u64);
