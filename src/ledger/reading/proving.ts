/**
 * Proves batches before they enter the log: verifies the validators' signature on the last
 * checkpoint and on each end of an epoch. Digests lead from there to every byte.
 */
import type { Sql } from "../../database/connect.ts";
import type { AppendBatch, LogCommittee, StretchProof } from "../../log/fact.ts";
import { guidedBetween } from "../../log/guided.ts";
import type { HighWater } from "../../log/high-water.ts";
import { committeeInLog, proofOf } from "../../log/proofs.ts";
import type { VerifyLevel } from "../../settings/values.ts";
import { pause } from "../../waiting/backoff.ts";
import type { CheckpointHeader } from "../decode/checkpoint.ts";
import { loadBls } from "../proof/bls.ts";
import type { CertifiedSummary } from "../proof/certificate.ts";
import { type Committee, packMembers, unpackCommittee } from "../proof/committee.ts";
import { CertificateError, CommitteeError } from "../proof/proof-errors.ts";
import { createProver, type Prover } from "../proof/prover.ts";
import type { CheckpointSource } from "../sources/source.ts";
import type { GatheredBatch } from "./gathering.ts";
import { committeeAt, fetchCertified, type Trust } from "./trust.ts";

/** Delay before an invalid checkpoint is fetched again, ms. */
export const REFETCH_PAUSE_MS = 500;

/** Maximum stretch at the tip, which limits the digests to follow for a proof. */
const LONGEST_STRETCH = 1_000n;

/** Verification level, and the origin of the first committee. */
export type Verification = {
  readonly level: VerifyLevel;
  /** Used when the log has no committee; null: nothing is trusted. */
  readonly trust?: () => Promise<Trust | null>;
};

/**
 * Verifies a batch's proofs, fetching invalid certificates again.
 * @throws CertificateError (retry), CommitteeError (stop)
 */
export type ProveBatch = (
  gathered: GatheredBatch,
  refetches: number,
  signal: AbortSignal,
) => Promise<Pick<AppendBatch, "proofs" | "committees">>;

type ProvingFrom = {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  readonly verification: Verification;
  readonly mark: HighWater;
  /** Called for each invalid signature. */
  readonly onRefused?: ((error: Error) => void) | undefined;
};

/**
 * Prepares proving after the high-water mark: with the log's committee if its last checkpoint is
 * proven, else from trust.
 * @throws CommitteeError (stop) when nothing is trusted
 */
export const openProving = async (from: ProvingFrom): Promise<ProveBatch> => {
  const { sql, source, mark, onRefused } = from;
  const proverOf = await proverFor(from);
  let prover: Prover | undefined;
  const toKeep: LogCommittee[] = [];
  const keep = ({ epoch, members }: Committee, by: bigint | null) =>
    toKeep.push({ epoch, members: packMembers(members), namedBy: by });
  const end = mark.nextCheckpoint - 1n;
  // A checkpoint that was read guided keeps a proof of its own.
  const isGuided = (await guidedBetween({ sql }, { first: end, last: end })).length > 0;
  let newest: Pick<StretchProof, "firstCheckpoint" | "lastCheckpoint" | "epoch"> | null = isGuided
    ? null
    : await proofOf({ sql }, end);

  return async ({ batch, certified = [] }, refetches, signal) => {
    let first = batch.first;
    const proofs = [];
    for (const summary of certified) {
      if (prover === undefined) {
        const begun = await proverOf(summary.header, signal);
        prover = begun.prover;
        const { committee } = prover;
        if ((await committeeInLog({ sql }, committee.epoch)) === null)
          keep(committee, begun.namedBy);
      }
      const proven = await provenOf(prover, source, summary, {
        refetches,
        signal,
        onRefused,
      });
      const { header, certificate, summary: bcs } = proven;
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
    const { sequence, digest } = batch.last;
    if (first !== sequence + 1n || certified.at(-1)?.header.digest !== digest) {
      throw new CertificateError(sequence, "was read without its certificate");
    }
    return { proofs, committees: toKeep.splice(0) };
  };
};

/** Creates the prover for the epoch of the first summary, and says what named its committee. */
type ProverOf = (
  first: CheckpointHeader,
  signal: AbortSignal,
) => Promise<{ readonly prover: Prover; readonly namedBy: bigint | null }>;

const proverFor = async ({
  sql,
  source,
  verification,
  mark: { nextCheckpoint },
}: ProvingFrom): Promise<ProverOf> => {
  const bls = await loadBls();
  const known = await committeeInLog({ sql });
  const inLog = known && unpackCommittee(known.epoch, known.members);
  const isProven = nextCheckpoint > 0n && (await proofOf({ sql }, nextCheckpoint - 1n)) !== null;
  if (inLog !== null && isProven) {
    return async () => ({ prover: createProver(bls, inLog), namedBy: null });
  }
  const trust = inLog === null ? await verification.trust?.() : { committee: inLog };
  if (trust === undefined || trust === null) {
    throw new CommitteeError(
      "VERIFY=signatures needs to know whom to trust: set TRUSTED_CHECKPOINT or COMMITTEE_FILE",
    );
  }
  return async (first, signal) => {
    const { committee, namedBy } = await committeeAt({ source, bls }, trust, first, signal);
    return { prover: createProver(bls, committee), namedBy };
  };
};

/** Proves a summary, fetching it again when invalid. */
export const provenOf = async (
  prover: Prover,
  source: CheckpointSource,
  certified: CertifiedSummary,
  {
    refetches,
    signal,
    onRefused,
  }: Pick<ProvingFrom, "onRefused"> & {
    readonly refetches: number;
    readonly signal: AbortSignal;
  },
): Promise<CertifiedSummary> => {
  const { sequence, digest } = certified.header;
  let current = certified;
  for (let left = refetches; ; left -= 1) {
    try {
      await prover.prepare();
      prover.prove(current);
      return current;
    } catch (error) {
      if (error instanceof CertificateError) onRefused?.(error);
      if (!(error instanceof CertificateError) || left <= 0 || signal.aborted) throw error;
      await pause(REFETCH_PAUSE_MS, signal);
      const again = await fetchCertified(source, sequence, signal);
      // Only the certificate may differ.
      if (again.header.digest === digest) current = again;
    }
  }
};
