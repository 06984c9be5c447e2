/** Verifies the validators' signatures on checkpoints that are read again in order. */
import type { Bls } from "../../ledger/proof/bls.ts";
import type { CertifiedSummary } from "../../ledger/proof/certificate.ts";
import { CertificateError } from "../../ledger/proof/proof-errors.ts";
import { createProver, type Prover } from "../../ledger/proof/prover.ts";
import { provenOf } from "../../ledger/reading/proving.ts";
import type { ReadCheckpoint } from "../../ledger/reading/read.ts";
import { committeeAt, type Trust } from "../../ledger/reading/trust.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";

/**
 * The last signature of a stretch of linked checkpoints covers all of them; the caller checks the links.
 * Methods throw CertificateError (retry), TrustNotReachedError (retry) and CommitteeError (stop).
 */
export type SourceSignatures = {
  /** Takes the next checkpoint; verifies its signature if it ends an epoch. */
  take(read: ReadCheckpoint, signal: AbortSignal): Promise<void>;
  /** Verifies the last one taken: a gap or the end follows. */
  close(signal: AbortSignal): Promise<void>;
  /** Signatures verified so far. */
  readonly verified: number;
};

/** Fetches of a checkpoint whose signature is invalid. */
const REFETCHES = 3;

export const sourceSignatures = (
  source: CheckpointSource,
  bls: Bls,
  trust: Trust,
): SourceSignatures => {
  let prover: Prover | null = null;
  let open: CertifiedSummary | null = null;
  let verified = 0;
  const close = async (signal: AbortSignal): Promise<void> => {
    if (open === null) return;
    const { epoch } = open.header;
    if (prover?.committee.epoch !== epoch) {
      // The first one, or behind a gap: from trust again.
      const { committee } = await committeeAt({ source, bls }, trust, open.header, signal);
      prover = createProver(bls, committee);
    }
    await provenOf(prover, source, open, { refetches: REFETCHES, signal });
    verified += 1;
    open = null;
  };
  return {
    take: async ({ mark, certified }, signal) => {
      if (certified === undefined) {
        throw new CertificateError(mark.sequence, "was read without its certificate");
      }
      open = certified;
      if (certified.nextCommittee !== null) await close(signal);
    },
    close,
    get verified() {
      return verified;
    },
  };
};
