import type { Bls } from "./bls.ts";
import type { CertifiedSummary } from "./certificate.ts";
import { type Committee, committeeOf } from "./committee.ts";
import {
  type CertificateVerifier,
  createVerifier,
  parseKeys,
  type Signed,
} from "./verify-certificate.ts";

/** Verifies certificates along the chain: the end of each epoch names the next committee. */
export type Prover = {
  /** Committee of the current epoch. */
  readonly committee: Committee;
  /**
   * Parses the committee's keys in small steps (a quarter second in all); otherwise the first
   * `prove` of an epoch does it and blocks. @throws CommitteeError (stop)
   */
  prepare(): Promise<void>;
  /**
   * Verifies a checkpoint after the previous ones and moves to the next committee at an epoch's
   * end: every epoch's last checkpoint must pass. Unchanged after an error. @throws
   * CertificateError (retry), CommitteeError (stop)
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
 * The committee that a checkpoint names; null unless it ends its epoch. @throws CommitteeError
 * (stop)
 */
export const committeeAfter = ({ header, nextCommittee }: CertifiedSummary): Committee | null =>
  nextCommittee === null ? null : committeeOf(header.epoch + 1n, nextCommittee);
