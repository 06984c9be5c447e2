import { Buffer } from "node:buffer";
import { setImmediate as turn } from "node:timers/promises";
import type { Bls, PublicKey } from "./bls.ts";
import { type CertifiedSummary, readBitmap } from "./certificate.ts";
import { type Committee, committeeOf, QUORUM, TOTAL_STAKE } from "./committee.ts";
import { CertificateError, CommitteeError } from "./proof-errors.ts";

/** Verifies certificates along the chain: the end of each epoch names the next committee. */
export type Prover = {
  readonly committee: Committee;
  /**
   * Parses the committee's keys in small steps (a quarter second in all); otherwise the first
   * `prove` of an epoch does it and blocks.
   * @throws CommitteeError (stop)
   */
  prepare(): Promise<void>;
  /**
   * Verifies a checkpoint after the previous ones and moves to the next committee at an epoch's
   * end: every epoch's last checkpoint must pass. Unchanged after an error.
   * @throws CertificateError (retry), CommitteeError (stop)
   */
  prove(certified: CertifiedSummary): Signed;
};

export const createProver = (bls: Bls, first: Committee): Prover => {
  let committee = first;
  let verifier: CertificateVerifier | null = null;
  return {
    get committee() {
      return committee;
    },
    prepare: async () => {
      verifier ??= createVerifier(bls, committee, await parseKeys(bls, committee));
    },
    prove: (certified) => {
      verifier ??= createVerifier(bls, committee);
      const signed = verifier.verify(certified);
      const next = committeeAfter(certified);
      if (next !== null) {
        committee = next;
        verifier = null;
      }
      return signed;
    },
  };
};

/**
 * The committee that a checkpoint names; null unless it ends its epoch.
 * @throws CommitteeError (stop)
 */
export const committeeAfter = ({ header, nextCommittee }: CertifiedSummary): Committee | null =>
  nextCommittee === null ? null : committeeOf(header.epoch + 1n, nextCommittee);

type Signed = {
  readonly signers: number;
  /** Of 10,000; at least the quorum. */
  readonly stake: bigint;
};

/** Verifies certificates of one committee. */
export type CertificateVerifier = {
  readonly committee: Committee;
  /**
   * Verifies a quorum's signature on a summary, in milliseconds.
   * @throws CertificateError (retry)
   */
  verify(certified: CertifiedSummary): Signed;
};

/** "Checkpoint summary", version 0, application "Sui". */
const INTENT = Buffer.of(2, 0, 0);

/** Keys in the committee's order. */
type ParsedKeys = readonly PublicKey[];

/** Keys parsed per turn of the event loop: some milliseconds. */
const KEYS_AT_A_STRETCH = 2;

/**
 * Parses keys in small steps: two milliseconds each, more than a hundred per committee.
 * @throws CommitteeError (stop) on an invalid key
 */
export const parseKeys = async (bls: Bls, committee: Committee): Promise<ParsedKeys> => {
  const keys: PublicKey[] = [];
  for (const place of committee.members.keys()) {
    if (place > 0 && place % KEYS_AT_A_STRETCH === 0) await turn();
    keys.push(keyOf(bls, committee, place));
  }
  return keys;
};

const keyOf = (bls: Bls, { epoch, members }: Committee, place: number): PublicKey => {
  const { publicKey = new Uint8Array() } = members[place] ?? {};
  const key = bls.publicKey(publicKey);
  if (key !== null) return key;
  throw new CommitteeError(`the committee of epoch ${epoch}: member ${place} has no valid key`);
};

/**
 * @param keys from `parseKeys`; parsed here, blocking, by default
 * @throws CommitteeError (stop) on an invalid key
 */
export const createVerifier = (
  bls: Bls,
  committee: Committee,
  keys: ParsedKeys = committee.members.map((_, place) => keyOf(bls, committee, place)),
): CertificateVerifier => {
  const { epoch, members } = committee;
  const voters = keys.map((key, place) => ({ key, stake: members[place]?.stake ?? 0n }));
  return {
    committee,
    verify: ({ header, summary, certificate }) => {
      const refuse = (what: string) => new CertificateError(header.sequence, what);
      if (certificate === null) {
        throw refuse("the source gave no certificate of the validators with it");
      }
      if (header.epoch !== epoch || certificate.epoch !== epoch) {
        throw refuse(
          `is of epoch ${header.epoch} and certified in epoch ${certificate.epoch}, but the committee is that of epoch ${epoch}`,
        );
      }
      const places = readBitmap(certificate.signers, voters.length);
      if (places === null) {
        throw refuse(`the bitmap of signers does not fit a committee of ${voters.length}`);
      }
      const signing = places.flatMap((place) => voters[place] ?? []);
      const stake = signing.reduce((sum, voter) => sum + voter.stake, 0n);
      if (stake < QUORUM) {
        throw refuse(`is signed by a stake of ${stake} of ${TOTAL_STAKE}, less than ${QUORUM}`);
      }
      const message = Buffer.concat([INTENT, summary, u64(certificate.epoch)]);
      const keys: readonly PublicKey[] = signing.map(({ key }) => key);
      if (!bls.verify(certificate.signature, message, keys)) {
        throw refuse(`the signature is not that of the ${keys.length} validators it names`);
      }
      return { signers: keys.length, stake };
    },
  };
};

const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};
