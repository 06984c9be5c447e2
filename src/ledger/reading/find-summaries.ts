/**
 * Finds summaries of checkpoints that a guided reading did not read, when a caller asks for a
 * checkpoint or a time between two that were. Each is verified with the committee of its epoch
 * before the log keeps it, so a source can withhold an answer but cannot change one.
 */
import type { Sql } from "../../database/connect.ts";
import { type Moment, missingSummary } from "../../log/between.ts";
import { keepSummaries, type LogSummary } from "../../log/guided.ts";
import { committeeUpTo } from "../../log/proofs.ts";
import type { CheckpointHeader } from "../decode/checkpoint.ts";
import { type Bls, loadBls } from "../proof/bls.ts";
import { unpackCommittee } from "../proof/committee.ts";
import { CertificateError, CommitteeError } from "../proof/proof-errors.ts";
import { type CertificateVerifier, createVerifier, parseKeys } from "../proof/prover.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { committeeAt, fetchCertified } from "./trust.ts";

/** More than a bisection of 63 bits takes. */
const MOST_SUMMARIES = 64;

/** Verifiers kept: a committee of a hundred takes a quarter second. */
const MOST_VERIFIERS = 4;

export type SummaryFinder = {
  /**
   * Finds, verifies and keeps what an answer about this moment lacks; nothing when it lacks
   * nothing, or the moment is outside the guided ranges.
   * @throws CertificateError (retry), CommitteeError (stop), and what the source throws
   */
  find(asked: Moment, signal: AbortSignal): Promise<void>;
};

export const createSummaryFinder = ({
  sql,
  source,
}: {
  readonly sql: Sql;
  readonly source: CheckpointSource;
}): SummaryFinder => {
  const verifiers = new Map<bigint, CertificateVerifier>();

  const verifierOf = async (
    header: CheckpointHeader,
    signal: AbortSignal,
  ): Promise<CertificateVerifier> => {
    const known = verifiers.get(header.epoch);
    if (known !== undefined) return known;
    const bls = await loadBls();
    const committee = await committeeOf(bls, header, signal);
    const verifier = createVerifier(bls, committee, await parseKeys(bls, committee));
    const [oldest] = verifiers.keys();
    if (verifiers.size >= MOST_VERIFIERS && oldest !== undefined) verifiers.delete(oldest);
    verifiers.set(header.epoch, verifier);
    return verifier;
  };

  /** The log's, or derived from the last one before it in the log. */
  const committeeOf = async (bls: Bls, header: CheckpointHeader, signal: AbortSignal) => {
    const { epoch } = header;
    const inLog = await committeeUpTo(sql, epoch);
    if (inLog === null) {
      throw new CommitteeError(`the log has no committee of epoch ${epoch} or before`);
    }
    const committee = unpackCommittee(inLog.epoch, inLog.members);
    if (committee.epoch === epoch) return committee;
    return (await committeeAt({ source, bls }, { committee }, header, signal)).committee;
  };

  const verified = async (checkpoint: bigint, signal: AbortSignal): Promise<LogSummary> => {
    const certified = await fetchCertified(source, checkpoint, signal);
    const { header, summary, certificate } = certified;
    if (header.sequence !== checkpoint || certificate === null) {
      throw new CertificateError(
        checkpoint,
        certificate === null
          ? "the source gave no certificate of the validators with it"
          : `${source.description} gave checkpoint ${header.sequence} instead`,
      );
    }
    (await verifierOf(header, signal)).verify(certified);
    const { sequence, digest, timestampMs, epoch } = header;
    const { signature, signers } = certificate;
    return { sequence, digest, timestampMs, epoch, summary, signature, signers };
  };

  return {
    find: async (asked, signal) => {
      for (let found = 0; found < MOST_SUMMARIES; found += 1) {
        const missing = await missingSummary({ sql }, asked);
        if (missing === null) return;
        await keepSummaries(sql, [await verified(missing, signal)]);
      }
    },
  };
};
