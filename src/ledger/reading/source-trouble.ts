/** What is done about errors of a source: nearly all pass, and only what is said again in earnest stops a reader. */
import type { Remedy } from "../../waiting/remedy.ts";
import { CheckpointDecodeError } from "../decode/decode-error.ts";
import { CertificateError } from "../proof/proof-errors.ts";
import { Setback } from "../sources/fetch-attempts.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { SourceChainChangedError, SourceError } from "../sources/source-errors.ts";
import { CheckpointChainError } from "./pass.ts";

/** Whether an error is the source's: it said something wrong, or nothing. */
export const isOfSource = (error: unknown): error is Error =>
  error instanceof SourceError ||
  error instanceof Setback ||
  error instanceof CheckpointDecodeError ||
  error instanceof CertificateError;

/**
 * The source is of another chain than the log: what it says does not follow the log's last checkpoint, or it changed its
 * chain. It said so again later, and where several are listed another one says so too. Stop: no retry mends this.
 * Compare the digests named with an explorer of the network, or another node. When the log has the network's, name
 * another source (LEDGER_SOURCE). When the source has it, the log is of another chain, such as a test network that was
 * reset: index into another database (DATABASE_URL, DATA_DIR). Then start again.
 */
export class OtherChainError extends Error {
  override readonly name = "OtherChainError";
  readonly remedy: Remedy = "stop";
  /** The checkpoint that does not follow; null when the source changed its chain. */
  readonly sequence: bigint | null;

  constructor(cause: Doubt, seconds: number, sources: number) {
    const again = sources > 1 ? `${sources} sources say so` : "it says so again";
    super(
      `${cause.message}. After ${seconds} s ${again}, so this needs somebody: compare the digests with an explorer of the network. If the log's is right, name another LEDGER_SOURCE; if the source's is, the log is of another chain: use another database (DATABASE_URL, DATA_DIR). Then start again`,
      { cause },
    );
    this.sequence = cause instanceof CheckpointChainError ? cause.sequence : null;
  }
}

/** What stops a reader once it is confirmed. */
type Doubt = CheckpointChainError | SourceChainChangedError;

const isDoubt = (error: unknown): error is Doubt =>
  error instanceof CheckpointChainError || error instanceof SourceChainChangedError;

/** Remembers what sources said that would stop a reader. */
export type Doubts = {
  /** @throws OtherChainError (stop) when `error` confirms what was said before */
  consider(error: unknown): void;
  /** Reading went on: nothing said before counts. */
  clear(): void;
};

/** @param confirmMs how long after the first time it has to be said again, milliseconds */
export const createDoubts = (
  source: Pick<CheckpointSource, "listed">,
  confirmMs: number,
): Doubts => {
  let said: { readonly what: string; readonly atMs: number; readonly by: Set<number> } | null =
    null;
  return {
    consider: (error) => {
      if (!isDoubt(error)) return;
      const what =
        error instanceof CheckpointChainError
          ? `${error.sequence} ${error.claims} ${error.due}`
          : error.name;
      if (said?.what !== what) said = { what, atMs: performance.now(), by: new Set() };
      said.by.add(source.listed?.inUse ?? 0);
      const sinceMs = performance.now() - said.atMs;
      const enough = Math.min(2, source.listed?.count ?? 1);
      if (sinceMs < confirmMs || said.by.size < enough) return;
      throw new OtherChainError(error, Math.round(sinceMs / 1_000), said.by.size);
    },
    clear: () => {
      said = null;
    },
  };
};
