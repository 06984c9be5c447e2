/** Handles source errors: nearly all are transient, and only confirmed ones stop a reader. */
import type { Remedy } from "../../waiting/remedy.ts";
import { CheckpointDecodeError } from "../decode/cursor.ts";
import { CertificateError, CommitteeError, TrustNotReachedError } from "../proof/proof-errors.ts";
import { Setback } from "../sources/fetch-attempts.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { SourceChainChangedError, SourceError } from "../sources/source-errors.ts";
import { CheckpointChainError } from "./pass.ts";

/** Whether the source failed or was wrong. */
export const isOfSource = (error: unknown): error is Error =>
  error instanceof SourceError ||
  error instanceof Setback ||
  error instanceof CheckpointDecodeError ||
  error instanceof CertificateError ||
  error instanceof TrustNotReachedError;

/**
 * The source is of another chain than the log: its checkpoints do not follow the log's, or its
 * chain changed; confirmed later, and by another listed source. Stop. Compare the digests with an
 * explorer. If the log is right, use another source (LEDGER_SOURCE); if the source is right (a
 * reset test network), index into another database (DATABASE_URL, DATA_DIR).
 */
export class OtherChainError extends Error {
  override readonly name = "OtherChainError";
  readonly remedy: Remedy = "stop";
  /** The checkpoint that does not follow; null when the chain changed. */
  readonly sequence: bigint | null;

  constructor(cause: OtherChain, again: string) {
    super(
      `${cause.message}. ${again}: compare the digests with an explorer of the network. If the log's is right, name another LEDGER_SOURCE; if the source's is, the log is of another chain: use another database (DATABASE_URL, DATA_DIR). Then start again`,
      { cause },
    );
    this.sequence = cause instanceof CheckpointChainError ? cause.sequence : null;
  }
}

type OtherChain = CheckpointChainError | SourceChainChangedError;

/** Stops a reader once confirmed. */
type Doubt = OtherChain | TrustNotReachedError;

const isDoubt = (error: unknown): error is Doubt =>
  error instanceof CheckpointChainError ||
  error instanceof SourceChainChangedError ||
  error instanceof TrustNotReachedError;

/** Text that must be equal for a confirmation. */
const claimOf = (doubt: Doubt): string => {
  if (doubt instanceof TrustNotReachedError) return doubt.what;
  if (doubt instanceof SourceChainChangedError) return doubt.name;
  return `${doubt.sequence} ${doubt.claims} ${doubt.due}`;
};

const confirmed = (doubt: Doubt, seconds: number, sources: number): Error => {
  const who = sources > 1 ? `${sources} sources confirm` : "the source confirms";
  const again = `After ${seconds} s ${who} this, so an operator must act`;
  if (!(doubt instanceof TrustNotReachedError)) return new OtherChainError(doubt, again);
  return new CommitteeError(
    `${doubt.message}. ${again}: compare TRUSTED_CHECKPOINT or COMMITTEE_FILE with an explorer of the network, or name a LEDGER_SOURCE that has what is missing. Then start again`,
    { cause: doubt },
  );
};

/** Remembers evidence that could stop a reader. */
type Doubts = {
  /** @throws OtherChainError, CommitteeError (both stop) when `error` confirms earlier evidence */
  consider(error: unknown): void;
  /** Forgets earlier evidence, after progress. */
  clear(): void;
};

/** @param confirmMs minimum time between evidence and confirmation */
export const createDoubts = (
  source: Pick<CheckpointSource, "listed">,
  confirmMs: number,
): Doubts => {
  let evidence: { readonly what: string; readonly atMs: number; readonly by: Set<number> } | null =
    null;
  return {
    consider: (error) => {
      if (!isDoubt(error)) return;
      const what = claimOf(error);
      if (evidence?.what !== what) evidence = { what, atMs: performance.now(), by: new Set() };
      evidence.by.add(source.listed?.inUse ?? 0);
      const sinceMs = performance.now() - evidence.atMs;
      const enough = Math.min(2, source.listed?.count ?? 1);
      if (sinceMs < confirmMs || evidence.by.size < enough) return;
      throw confirmed(error, Math.round(sinceMs / 1_000), evidence.by.size);
    },
    clear: () => {
      evidence = null;
    },
  };
};
