import { Buffer } from "node:buffer";
import { CommitteeError } from "./proof-errors.ts";

/** A validator as a committee counts it. */
export type CommitteeMember = {
  /** A point of G2, compressed: 96 bytes. */
  readonly publicKey: Uint8Array;
  /** Its part of the votes, of 10,000 in all. */
  readonly stake: bigint;
};

/** The validators of one epoch, in the order in which certificates number them: by the bytes of their keys. */
export type Committee = {
  readonly epoch: bigint;
  readonly members: readonly CommitteeMember[];
};

/** Votes of a committee in all, and how many of them certify. */
export const TOTAL_STAKE = 10_000n;
export const QUORUM = 6_667n;

const KEY_BYTES = 96;
/** Far above what the network allows. */
const MOST_MEMBERS = 4096;

/**
 * Makes a committee of its members, in any order.
 * @throws CommitteeError (stop) when the stakes are not 10,000 together, or a key appears twice
 */
export const committeeOf = (epoch: bigint, members: readonly CommitteeMember[]): Committee => {
  const refuse = (what: string) => new CommitteeError(`the committee of epoch ${epoch} ${what}`);
  if (members.length > MOST_MEMBERS) throw refuse(`has ${members.length} members`);
  const inOrder = members.toSorted((a, b) => Buffer.compare(a.publicKey, b.publicKey));
  let total = 0n;
  for (const [place, { publicKey, stake }] of inOrder.entries()) {
    if (publicKey.length !== KEY_BYTES)
      throw refuse(`has a key of ${publicKey.length} bytes, not 96`);
    const before = inOrder[place - 1]?.publicKey;
    if (before !== undefined && Buffer.compare(before, publicKey) === 0) {
      throw refuse("names a key twice");
    }
    if (stake <= 0n) throw refuse("has a member without stake");
    total += stake;
  }
  if (total !== TOTAL_STAKE) throw refuse(`has a stake of ${total} in all, not ${TOTAL_STAKE}`);
  return { epoch, members: inOrder };
};

/** A stake's bytes, behind those of its member's key. */
const STAKE_BYTES = 8;

/** Members as bytes: for each its key, then its stake as u64 big-endian. */
export const packMembers = (members: readonly CommitteeMember[]): Uint8Array =>
  Buffer.concat(
    members.map(({ publicKey, stake }) => {
      const bytes = Buffer.alloc(STAKE_BYTES);
      bytes.writeBigUInt64BE(stake);
      return Buffer.concat([publicKey, bytes]);
    }),
  );

/** What `packMembers` made, as a committee. @throws CommitteeError (stop) */
export const unpackCommittee = (epoch: bigint, packed: Uint8Array): Committee => {
  const bytes = Buffer.from(packed);
  const size = KEY_BYTES + STAKE_BYTES;
  const members = Array.from({ length: Math.floor(bytes.length / size) }, (_, i) => ({
    publicKey: Uint8Array.from(bytes.subarray(i * size, i * size + KEY_BYTES)),
    stake: bytes.readBigUInt64BE(i * size + KEY_BYTES),
  }));
  return committeeOf(epoch, members);
};
