/**
 * Nothing unproven enters the log: a batch is appended once the validators' signature on its last
 * checkpoint was verified, and on each one in it that ends an epoch. Digests lead from there back to every
 * byte of the batch.
 */
import type { Sql } from "../../database/connect.ts";
import type { AppendBatch, LogCommittee, StretchProof } from "../../log/fact.ts";
import type { HighWater } from "../../log/high-water.ts";
import { committeeInLog, proofOf } from "../../log/proofs.ts";
import type { VerifyLevel } from "../../settings/values.ts";
import { pause } from "../../waiting/backoff.ts";
import { loadBls } from "../proof/bls.ts";
import type { CertifiedSummary } from "../proof/certificate.ts";
import { type Committee, packMembers, unpackCommittee } from "../proof/committee.ts";
import { CertificateError, CommitteeError } from "../proof/proof-errors.ts";
import { createProver, type Prover } from "../proof/prover.ts";
import type { CheckpointSource } from "../sources/source.ts";
import type { GatheredBatch } from "./gathering.ts";
import { committeeAt, fetchCertified, type Trust } from "./trust.ts";

/** Pause before a checkpoint that could not be decoded or proven is fetched anew, milliseconds. */
export const REFETCH_PAUSE_MS = 500;

/** Checkpoints of a stretch that grows at the head: what somebody has to read to follow its digests. */
const LONGEST_STRETCH = 1_000n;

/** How much a reader checks, and what its first committee comes from. */
export type Verification = {
  readonly level: VerifyLevel;
  /** Asked when the log does not know the committee itself; null: nothing is trusted. */
  readonly trust?: () => Promise<Trust | null>;
};

/**
 * Verifies what proves a batch. A certificate that does not hold is fetched again before that counts.
 * @throws CertificateError (stop), CommitteeError (stop)
 */
export type ProveBatch = (
  gathered: GatheredBatch,
  refetches: number,
  signal: AbortSignal,
) => Promise<Pick<AppendBatch, "proofs" | "committees">>;

/** Where proving goes on. */
export type ProvingFrom = {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  readonly verification: Verification;
  readonly mark: HighWater;
};

/**
 * Finds the committee of the next checkpoint: in the log, where the last checkpoint was proven, else
 * from what is trusted.
 * @throws CommitteeError (stop) when nothing trusted leads there, CertificateError (stop)
 */
export const openProving = async (from: ProvingFrom, signal: AbortSignal): Promise<ProveBatch> => {
  const { sql, source, mark } = from;
  const known = await committeeInLog(sql);
  const { prover, namedBy } = await proverFor(from, known, signal);
  const toKeep: LogCommittee[] = [];
  const keep = ({ epoch, members }: Committee, by: bigint | null) =>
    toKeep.push({ epoch, members: packMembers(members), namedBy: by });
  const stored = await committeeInLog(sql, prover.committee.epoch);
  if (stored === null) keep(prover.committee, namedBy);
  let newest: Pick<StretchProof, "firstCheckpoint" | "lastCheckpoint" | "epoch"> | null =
    await proofOf(sql, mark.nextCheckpoint - 1n);

  return async ({ batch, certified = [] }, refetches, aborting) => {
    let first = batch.first;
    const proofs = [];
    for (const summary of certified) {
      const {
        header,
        certificate,
        summary: bcs,
      } = await provenOf(prover, source, summary, {
        refetches,
        signal: aborting,
      });
      const { sequence: lastCheckpoint, epoch } = header;
      if (certificate === null) throw new CertificateError(lastCheckpoint, "has no certificate");
      const { signature, signers } = certificate;
      const grows =
        newest !== null &&
        newest.lastCheckpoint === first - 1n &&
        newest.epoch === epoch &&
        lastCheckpoint - newest.firstCheckpoint < LONGEST_STRETCH;
      newest = {
        firstCheckpoint: grows && newest !== null ? newest.firstCheckpoint : first,
        lastCheckpoint,
        epoch,
      };
      proofs.push({ ...newest, summary: bcs, signature, signers });
      if (prover.committee.epoch > epoch) keep(prover.committee, lastCheckpoint);
      first = lastCheckpoint + 1n;
    }
    return { proofs, committees: toKeep.splice(0) };
  };
};

/** Of the epoch of the next checkpoint; by whom its committee was named. */
const proverFor = async (
  { sql, source, verification, mark }: ProvingFrom,
  known: LogCommittee | null,
  signal: AbortSignal,
): Promise<{ readonly prover: Prover; readonly namedBy: bigint | null }> => {
  const bls = await loadBls();
  const { nextCheckpoint } = mark;
  const inLog = known && unpackCommittee(known.epoch, known.members);
  const isProven = nextCheckpoint > 0n && (await proofOf(sql, nextCheckpoint - 1n)) !== null;
  if (inLog !== null && isProven) return { prover: createProver(bls, inLog), namedBy: null };
  const trust = inLog === null ? await verification.trust?.() : { committee: inLog };
  if (trust === undefined || trust === null) {
    throw new CommitteeError(
      "VERIFY=signatures needs to know whom to trust: set TRUSTED_CHECKPOINT or COMMITTEE_FILE",
    );
  }
  if (nextCheckpoint === 0n) {
    if ("committee" in trust && trust.committee.epoch === 0n) {
      return { prover: createProver(bls, trust.committee), namedBy: null };
    }
    throw new CommitteeError(
      "the log begins with checkpoint 0, and no checkpoint names the committee of epoch 0: set COMMITTEE_FILE to it",
    );
  }
  // The one before is there already; the next one may not be.
  const before = await fetchCertified(source, nextCheckpoint - 1n, signal);
  const { header, nextCommittee } = before;
  const found = await committeeAt({ source, bls }, trust, header, signal);
  const prover = createProver(bls, found.committee);
  if (nextCommittee === null) return { prover, namedBy: found.namedBy };
  prover.prove(before);
  return { prover, namedBy: header.sequence };
};

/** Proves a summary, fetching it again where it does not hold. */
const provenOf = async (
  prover: Prover,
  source: CheckpointSource,
  certified: CertifiedSummary,
  { refetches, signal }: { readonly refetches: number; readonly signal: AbortSignal },
): Promise<CertifiedSummary> => {
  const { sequence, digest } = certified.header;
  let current = certified;
  for (let left = refetches; ; left -= 1) {
    try {
      prover.prove(current);
      return current;
    } catch (error) {
      if (!(error instanceof CertificateError) || left <= 0 || signal.aborted) throw error;
      await pause(REFETCH_PAUSE_MS, signal);
      const again = await fetchCertified(source, sequence, signal);
      // What was read belongs to the first summary: only its certificate may be another.
      if (again.header.digest === digest) current = again;
    }
  }
};
