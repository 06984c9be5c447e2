import { Buffer } from "node:buffer";
import { CommitteeError } from "./proof-errors.ts";

export type CommitteeMember = {
  /** A compressed point of G2: 96 bytes. */
  readonly publicKey: Uint8Array;
  /** Share of the 10,000 votes. */
  readonly stake: bigint;
};

/** Validators of an epoch, ordered by the bytes of their keys as in certificates. */
export type Committee = {
  readonly epoch: bigint;
  readonly members: readonly CommitteeMember[];
};

/** All votes, and those that certify. */
export const TOTAL_STAKE = 10_000n;
export const QUORUM = 6_667n;

const KEY_BYTES = 96;
/** Far above the network's limit. */
const MOST_MEMBERS = 4096;

/** @throws CommitteeError (stop) when stakes do not sum to 10,000, or a key repeats */
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

/** Follows the key in packed members. */
const STAKE_BYTES = 8;

/** Packs members: key, then stake as u64 big-endian. */
export const packMembers = (members: readonly CommitteeMember[]): Uint8Array =>
  Buffer.concat(
    members.map(({ publicKey, stake }) => {
      const bytes = Buffer.alloc(STAKE_BYTES);
      bytes.writeBigUInt64BE(stake);
      return Buffer.concat([publicKey, bytes]);
    }),
  );

/** @throws CommitteeError (stop) */
export const unpackCommittee = (epoch: bigint, packed: Uint8Array): Committee => {
  const bytes = Buffer.from(packed);
  const size = KEY_BYTES + STAKE_BYTES;
  const members = Array.from({ length: Math.floor(bytes.length / size) }, (_, i) => ({
    publicKey: Uint8Array.from(bytes.subarray(i * size, i * size + KEY_BYTES)),
    stake: bytes.readBigUInt64BE(i * size + KEY_BYTES),
  }));
  return committeeOf(epoch, members);
};
