import type { Bls } from "./bls.ts";
import type { CertifiedSummary } from "./certificate.ts";
import { type Committee, committeeOf } from "./committee.ts";
import {
  type CertificateVerifier,
  createVerifier,
  parseKeys,
  type Signed,
} from "./verify-certificate.ts";

/** Verifies certificates along the chain: each epoch's committee is named by what ends the one before. */
export type Prover = {
  /** Of the epoch whose certificates it takes now. */
  readonly committee: Committee;
  /**
   * Parses the committee's keys, a few at a time: a quarter of a second in all. Without it `prove` does that
   * at the first certificate of an epoch, and keeps everything else in the process waiting.
   * @throws CommitteeError (stop)
   */
  prepare(): Promise<void>;
  /**
   * Verifies the certificate of a checkpoint that follows the ones before, and goes on with the next
   * committee when it ends an epoch: the last checkpoint of every epoch has to come by. After an error it
   * stands where it stood.
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
 * The committee that a checkpoint hands over to; null when it does not end its epoch.
 * @throws CommitteeError (stop)
 */
export const committeeAfter = ({ header, nextCommittee }: CertifiedSummary): Committee | null =>
  nextCommittee === null ? null : committeeOf(header.epoch + 1n, nextCommittee);
