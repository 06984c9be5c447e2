import type { Remedy } from "../../waiting/remedy.ts";
import type { CheckpointHeader, RawCheckpoint } from "../decode/checkpoint.ts";
import { type CertifiedSummary, readCertified } from "../proof/certificate.ts";
import { CertificateError, CommitteeError } from "../proof/proof-errors.ts";
import type { Prover } from "../proof/prover.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { checkDigests } from "./inspect.ts";

/** A checkpoint is inconsistent. Fetch it again; if it stays so, use another source. */
export class VerificationError extends Error {
  override readonly name = "VerificationError";
  readonly remedy: Remedy = "stop";
  readonly sequence: bigint;

  constructor(sequence: bigint, what: string) {
    super(`checkpoint ${sequence}: ${what}`);
    this.sequence = sequence;
  }
}

/** Consecutive checkpoints covered by the last one's signature or trusted digest. */
type ProvenStretch = {
  readonly first: bigint;
  readonly last: bigint;
  readonly epoch: bigint;
  /** Null when the last one is trusted by its digest. */
  readonly signed: {
    readonly signers: number;
    readonly members: number;
    readonly stake: bigint;
  } | null;
};

export type Verified = {
  readonly checkpoints: number;
  /** Digests recomputed, and links to the previous checkpoint. */
  readonly digests: number;
  readonly links: number;
  readonly stretches: readonly ProvenStretch[];
};

type VerifyAgainst = {
  /** Null until a trusted checkpoint supplies the committee. */
  prover: Prover | null;
  /** Digest of a trusted checkpoint, which creates a prover; null for none. */
  readonly trustedDigest: string | null;
  readonly proverAfter: (trusted: CertifiedSummary) => Prover | null;
};

/**
 * Verifies digests of ascending checkpoints, links between consecutive ones, and the signature at
 * the end of each stretch (end of an epoch, a gap, or the last checkpoint).
 * @throws the first fault: VerificationError, CertificateError, CommitteeError,
 * CheckpointDecodeError (all stop)
 */
export const verifyCheckpoints = async (
  checkpoints: AsyncIterable<RawCheckpoint> | Iterable<RawCheckpoint>,
  against: VerifyAgainst,
): Promise<Verified> => {
  const stretches: ProvenStretch[] = [];
  let counts = { checkpoints: 0, digests: 0, links: 0 };
  let open: { readonly first: bigint; last: CertifiedSummary } | null = null;

  const close = (): void => {
    if (open === null) return;
    stretches.push(proven(open.first, open.last, against));
    open = null;
  };

  let before: CheckpointHeader | null = null;
  for await (const raw of checkpoints) {
    const digests = verifyDigests(raw);
    const certified = readCertified(raw);
    const { header, nextCommittee } = certified;
    const follows: boolean = before !== null && before.sequence + 1n === header.sequence;
    if (follows && before !== null && header.previousDigest !== before.digest) {
      throw new VerificationError(
        header.sequence,
        `it follows one of digest ${header.previousDigest ?? "none"}, but checkpoint ${before.sequence} has ${before.digest}; one of the two is of another chain or was changed`,
      );
    }
    if (!follows) close();
    counts = {
      checkpoints: counts.checkpoints + 1,
      digests: counts.digests + digests,
      links: counts.links + (follows ? 1 : 0),
    };
    open = { first: open === null ? header.sequence : firstOf(open), last: certified };
    if (nextCommittee !== null || header.digest === against.trustedDigest) close();
    before = header;
  }
  close();
  return { ...counts, stretches };
};

const firstOf = ({ first }: { readonly first: bigint }): bigint => first;

/** @throws VerificationError (stop) when one is missing or out of order */
export async function* wholeRange(
  source: CheckpointSource,
  { first, last }: { readonly first: bigint; readonly last: bigint },
  signal: AbortSignal,
): AsyncGenerator<RawCheckpoint> {
  let due = first;
  for await (const raw of source.checkpoints({ first, last }, signal)) {
    if (raw.sequence !== due) {
      throw new VerificationError(due, `${source.description} gave ${raw.sequence} in its place`);
    }
    yield raw;
    due += 1n;
  }
  signal.throwIfAborted();
  if (due <= last) throw new VerificationError(due, `${source.description} does not have it`);
}

/** Returns the number of digests checked. */
const verifyDigests = (raw: RawCheckpoint): number => {
  const { wrong, contents, transactions, effects, events, objects } = checkDigests(raw);
  const [first] = wrong;
  if (first !== undefined) {
    throw new VerificationError(
      raw.sequence,
      `${first.where} has digest ${first.found}, not ${first.expected}; fetch it again, or from another source`,
    );
  }
  return [contents, transactions, effects, events, objects].reduce((n, one) => n + one.checked, 0);
};

const proven = (first: bigint, last: CertifiedSummary, against: VerifyAgainst): ProvenStretch => {
  const { sequence, epoch, digest } = last.header;
  const stretch = { first, last: sequence, epoch };
  if (digest === against.trustedDigest) {
    against.prover = against.proverAfter(last) ?? against.prover;
    return { ...stretch, signed: null };
  }
  const { prover } = against;
  if (prover === null) {
    throw new CommitteeError(
      `nothing trusted leads to the committee of epoch ${epoch}, which signed checkpoint ${sequence}`,
    );
  }
  const members = prover.committee.members.length;
  if (prover.committee.epoch !== epoch) {
    throw new CertificateError(
      sequence,
      `it is of epoch ${epoch}, but the known committee is that of epoch ${prover.committee.epoch}; the checkpoints that end the epochs between are needed too`,
    );
  }
  return { ...stretch, signed: { ...prover.prove(last), members } };
};
