/**
 * Whole checkpoints from a source, with what shows that they are genuine: their digest in the log,
 * or the validators' signature.
 */
import type { Sql } from "../../database/connect.ts";
import type { Checkpoint, RawCheckpoint } from "../../ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../ledger/decode/cursor.ts";
import { refusing } from "../../ledger/decode/verify.ts";
import { fetchOne } from "../../ledger/guided/fetch-each.ts";
import { CheckpointWithheldError, createPatience } from "../../ledger/guided/withheld.ts";
import { loadBls } from "../../ledger/proof/bls.ts";
import type { CertifiedSummary } from "../../ledger/proof/certificate.ts";
import { unpackCommittee } from "../../ledger/proof/committee.ts";
import { decodeCommitted, type ObjectSet } from "../../ledger/proof/object-set.ts";
import { CertificateError, TrustNotReachedError } from "../../ledger/proof/proof-errors.ts";
import { createProver, type Prover } from "../../ledger/proof/prover.ts";
import type { Verification } from "../../ledger/reading/proving.ts";
import { committeeAt, type Trust } from "../../ledger/reading/trust.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { CheckpointDamagedError } from "../../ledger/sources/source-errors.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { OtherCheckpointError } from "../../log/past-blocks.ts";
import { allCommittees, proofOf } from "../../log/proofs.ts";

/** A step that cannot be shown; the message says which. */
export class WalkEndedError extends Error {
  override readonly name = "WalkEndedError";
}

/** `log`: the log has the digest, without a signature; `source`: the source's word alone. */
export type ShownBy = "signature" | "log" | "source";

export type WholeCheckpoint = {
  readonly raw: RawCheckpoint;
  /** Every digest checked. */
  readonly checkpoint: Checkpoint;
  /** What its summary commits to; null before protocol 125. */
  readonly objects: ObjectSet | null;
  readonly shownBy: ShownBy;
};

export type CheckpointCounts = { readonly read: number; readonly committed: number };

export type WholeCheckpoints = {
  readonly source: string;
  /**
   * @throws WalkEndedError when the source withholds it or serves another; errors of a source that
   * fails as a whole; OtherCheckpointError (stop) when the log has another digest
   */
  read(sequence: bigint, signal: AbortSignal): Promise<WholeCheckpoint>;
  /** Checkpoints read so far, and those of them that commit to their objects. */
  counts(): CheckpointCounts;
};

type From = {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  readonly verification: Verification;
  /** Whether the log was read with signatures: then a source's word alone ends a walk. */
  readonly bySignature: boolean;
  /** Receives the checkpoints that count by the source's word alone. */
  readonly onFaith: Set<bigint>;
};

/** The last ones stay in memory: a chain often goes through one checkpoint several times. */
const KEPT = 16;

const refuse = refusing(true);

export const wholeCheckpoints = ({
  sql,
  source,
  verification,
  bySignature,
  onFaith,
}: From): WholeCheckpoints => {
  const kept = new Map<bigint, WholeCheckpoint>();
  const read = new Set<bigint>();
  const committed = new Set<bigint>();
  const provers = new Map<bigint, Prover | null>();
  const patiently = createPatience(source, isFalse);

  /** The log's committee of that epoch or the newest before; else what the settings trust. */
  const trustFor = async (epoch: bigint): Promise<Trust | null> => {
    const known = (await allCommittees(sql)).findLast((one) => one.epoch <= epoch);
    if (known === undefined) return (await verification.trust?.()) ?? null;
    return { committee: unpackCommittee(known.epoch, known.members) };
  };

  const proverOf = async (
    header: CertifiedSummary["header"],
    signal: AbortSignal,
  ): Promise<Prover | null> => {
    const made = provers.get(header.epoch);
    if (made !== undefined) return made;
    const bls = await loadBls();
    const trust = await trustFor(header.epoch);
    let prover: Prover | null = null;
    try {
      const found = trust && (await committeeAt({ source, bls }, trust, header, signal));
      prover = found && createProver(bls, found.committee);
    } catch (error) {
      if (!(error instanceof TrustNotReachedError)) throw error;
    }
    provers.set(header.epoch, prover);
    return prover;
  };

  const shownBy = async (certified: CertifiedSummary, signal: AbortSignal): Promise<ShownBy> => {
    const { header, certificate } = certified;
    const mark = await checkpointMark({ sql }, header.sequence);
    if (mark !== null && mark.digest !== header.digest) {
      throw new OtherCheckpointError({ ...header }, mark.digest);
    }
    if (mark !== null && (await proofOf({ sql }, header.sequence)) !== null) return "signature";
    if (certificate !== null) {
      const prover = await proverOf(header, signal);
      if (prover !== null) {
        await prover.prepare();
        // Not past an end of an epoch: the prover stays with its own.
        const { committee } = prover;
        prover.prove(certified);
        if (prover.committee !== committee) provers.delete(header.epoch);
        return "signature";
      }
    }
    return mark === null ? "source" : "log";
  };

  const fetchWhole = async (
    sequence: bigint,
    graceMs: number | undefined,
    signal: AbortSignal,
  ): Promise<WholeCheckpoint> => {
    const raw = await fetchOne(source, sequence, signal, graceMs);
    const { certified, checkpoint, objects } = decodeCommitted(raw, refuse);
    return { raw, checkpoint, objects, shownBy: await shownBy(certified, signal) };
  };

  const readOrEnd = (sequence: bigint, signal: AbortSignal): Promise<WholeCheckpoint> =>
    patiently(sequence, (graceMs) => fetchWhole(sequence, graceMs, signal), signal).catch(
      (error: unknown) => {
        if (!(error instanceof CheckpointWithheldError)) throw error;
        throw new WalkEndedError(error.message, { cause: error });
      },
    );

  return {
    source: source.description,
    read: async (sequence, signal) => {
      const known = kept.get(sequence);
      if (known !== undefined) return known;
      const whole = await readOrEnd(sequence, signal);
      if (whole.shownBy === "source") {
        if (bySignature) {
          throw new WalkEndedError(
            `checkpoint ${sequence} of ${source.description} has no signature by a committee of its epoch that is known here`,
          );
        }
        onFaith.add(sequence);
      }
      read.add(sequence);
      if (whole.objects !== null) committed.add(sequence);
      kept.set(sequence, whole);
      const [oldest] = kept.keys();
      if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
      return whole;
    },
    counts: () => ({ read: read.size, committed: committed.size }),
  };
};

const isFalse = (error: unknown): boolean =>
  error instanceof CheckpointDamagedError ||
  error instanceof CheckpointDecodeError ||
  error instanceof CertificateError;
