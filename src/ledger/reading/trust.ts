/** The first committee cannot be proven: an operator says which one to trust. */
import { readFile } from "node:fs/promises";
import type { CheckpointHeader } from "../decode/checkpoint.ts";
import type { Bls } from "../proof/bls.ts";
import { type CertifiedSummary, readCertified } from "../proof/certificate.ts";
import type { Committee } from "../proof/committee.ts";
import { readCommitteeFile } from "../proof/committee-file.ts";
import { CertificateError, CommitteeError, TrustNotReachedError } from "../proof/proof-errors.ts";
import { committeeAfter, createProver } from "../proof/prover.ts";
import { readCheckpointFile } from "../sources/chk-file.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { CheckpointMissingError, CheckpointPrunedError } from "../sources/source-errors.ts";

export type TrustedCheckpoint = {
  readonly digest: string;
  /** Its number; null: the last of the epoch before the verified one. */
  readonly sequence: bigint | null;
};

export type Trust = { readonly committee: Committee } | { readonly checkpoint: TrustedCheckpoint };

export const TRUSTED_CHECKPOINT = /^(?:(\d{1,18}):)?([1-9A-HJ-NP-Za-km-z]{32,44})$/;

/** Parses `DIGEST` or `NUMBER:DIGEST`; null for other text. */
export const readTrusted = (text: string): TrustedCheckpoint | null => {
  const [, sequence, digest] = TRUSTED_CHECKPOINT.exec(text) ?? [];
  if (digest === undefined) return null;
  return { digest, sequence: sequence === undefined ? null : BigInt(sequence) };
};

/**
 * Reads a trusted committee: a committee file (`.json`), or a checkpoint that ends an epoch.
 * @param digest the checkpoint's, when pinned
 * @throws CommitteeError (stop), CheckpointFileError (stop), CheckpointDecodeError (retry)
 */
export const committeeFrom = async (path: string, digest?: string): Promise<Committee> => {
  if (path.endsWith(".json")) {
    const text = await readFile(path, "utf8").catch((cause: Error) => {
      throw new CommitteeError(`the committee file cannot be read: ${cause.message}`, { cause });
    });
    return readCommitteeFile(path, text);
  }
  const certified = readCertified(await readCheckpointFile(path));
  const differs = differingDigest(certified, digest);
  if (differs !== null) throw new CommitteeError(`${path}: ${differs}`);
  return handingOver(certified);
};

/** Difference from the trusted digest; null without one. */
const differingDigest = (
  { header: { sequence, digest } }: CertifiedSummary,
  trusted: string | undefined,
): string | null =>
  trusted === undefined || digest === trusted
    ? null
    : `checkpoint ${sequence} has digest ${digest}, not the trusted ${trusted}; one of the two is wrong`;

const handingOver = (certified: CertifiedSummary): Committee => {
  const { sequence } = certified.header;
  const committee = committeeAfter(certified);
  if (committee !== null) return committee;
  throw new CommitteeError(
    `checkpoint ${sequence} does not end an epoch, so it names no committee; take the last checkpoint of an epoch`,
  );
};

/** A committee and the checkpoint that named it; null when trusted itself. */
type NamedCommittee = { readonly committee: Committee; readonly namedBy: bigint | null };

/**
 * The committee of a checkpoint's epoch, derived from trust: finds and verifies the end of each
 * epoch between.
 * @param first the checkpoint to verify first
 * @throws TrustNotReachedError (retry), CertificateError (retry), CommitteeError (stop) when the
 * trusted checkpoint names no committee
 */
export const committeeAt = async (
  { source, bls }: { readonly source: CheckpointSource; readonly bls: Bls },
  trust: Trust,
  first: Pick<CheckpointHeader, "sequence" | "epoch">,
  signal: AbortSignal,
): Promise<NamedCommittee> => {
  const { sequence, epoch } = first;
  const start = await startOf(source, trust, first, signal);
  if (start.committee.epoch > epoch) {
    throw new TrustNotReachedError(
      source.description,
      `checkpoint ${sequence} is of epoch ${epoch}, but the trusted committee is that of epoch ${start.committee.epoch}; trust one of epoch ${epoch} or before`,
    );
  }
  const prover = createProver(bls, start.committee);
  let { namedBy } = start;
  while (prover.committee.epoch < epoch) {
    const after = namedBy ?? undefined;
    const end = await endOfEpoch(source, prover.committee.epoch, sequence, signal, after);
    await prover.prepare();
    prover.prove(end);
    namedBy = end.header.sequence;
  }
  return { committee: prover.committee, namedBy };
};

/** The committee that trust names: its own, or the one that a trusted checkpoint names. */
export const startOf = async (
  source: CheckpointSource,
  trust: Trust,
  first: Pick<CheckpointHeader, "sequence" | "epoch">,
  signal: AbortSignal,
): Promise<NamedCommittee> => {
  if ("committee" in trust) return { committee: trust.committee, namedBy: null };
  const { digest, sequence } = trust.checkpoint;
  if (first.epoch === 0n) {
    throw new TrustNotReachedError(
      source.description,
      "no checkpoint names the committee of epoch 0: give it as a committee file",
    );
  }
  const certified =
    sequence === null
      ? await endOfEpoch(source, first.epoch - 1n, first.sequence, signal)
      : await fetchCertified(source, sequence, signal);
  const differs = differingDigest(certified, digest);
  if (differs !== null) throw new TrustNotReachedError(source.description, differs);
  return { committee: handingOver(certified), namedBy: certified.header.sequence };
};

/**
 * Finds the last checkpoint of an epoch before another checkpoint: exponential, then binary search
 * downwards. Pruned checkpoints count as older.
 * @param after a known earlier checkpoint
 * @throws TrustNotReachedError (retry) when not found, CertificateError (retry)
 */
export const endOfEpoch = async (
  source: CheckpointSource,
  epoch: bigint,
  before: bigint,
  signal: AbortSignal,
  after = -1n,
): Promise<CertifiedSummary> => {
  let [low, high] = [after, before];
  let found: CertifiedSummary | null = null;
  for (let step = after < 0n ? 1n : before; high - low > 1n; step *= 2n) {
    const halfway = (low + high) / 2n;
    const probe = high - step > halfway ? high - step : halfway;
    const certified = await fetchCertified(source, probe, signal).catch((error) => {
      if (isGone(error)) return null;
      throw error;
    });
    if (certified !== null && certified.header.epoch > epoch) high = probe;
    else {
      low = probe;
      found = certified;
    }
  }
  if (found?.header.epoch === epoch && found.nextCommittee !== null) return found;
  throw new TrustNotReachedError(source.description, `no checkpoint of it ends epoch ${epoch}`);
};

/** Nodes prune old checkpoints, and a folder may begin anywhere. */
export const isGone = (error: unknown): boolean =>
  error instanceof CheckpointPrunedError || error instanceof CheckpointMissingError;

/** @throws CertificateError (retry) when the source has none */
export const fetchCertified = async (
  source: CheckpointSource,
  sequence: bigint,
  signal: AbortSignal,
): Promise<CertifiedSummary> => {
  const range = { first: sequence, last: sequence };
  for await (const raw of source.checkpoints(range, signal)) return readCertified(raw);
  signal.throwIfAborted();
  throw new CertificateError(sequence, `${source.description} does not have it`);
};
