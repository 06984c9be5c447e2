/** Reads checkpoints of the log again for mending, each proven by the validators' signatures. */
import type { Sql } from "../../database/connect.ts";
import { type ReadCheckpoint, readerAt } from "../../ledger/reading/read.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { packagesBefore, readWhole } from "../verify/source-check.ts";
import type { SourceSignatures } from "../verify/source-signatures.ts";
import { MendRefusedError } from "./refused.ts";

/** Bounds are included. */
export type Range = { readonly first: bigint; readonly last: bigint };

type ReadingAgain = {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  readonly signatures: SourceSignatures;
  /** Checkpoints whose facts are needed; of the others only the mark is kept. */
  readonly needed: ReadonlySet<bigint>;
  readonly signal: AbortSignal;
};

const readerOf = readerAt("signatures");

/**
 * Reads a range, each checkpoint linked to the one before, and the last one signed.
 * @throws MendRefusedError (stop) when the source ends within it or contradicts itself
 * @throws CertificateError (retry), CommitteeError (stop), CheckpointDecodeError (retry), and the source's errors
 */
export const readAgain = async (
  { sql, source, signatures, needed, signal }: ReadingAgain,
  { first, last }: Range,
): Promise<readonly ReadCheckpoint[]> => {
  const packages = [...(await packagesBefore(sql, first))];
  let read = readerOf(packages);
  const all: ReadCheckpoint[] = [];
  for await (const raw of source.checkpoints({ first, last }, signal)) {
    const due = first + BigInt(all.length);
    if (raw.sequence !== due) break;
    const seen = await readWhole(raw, read, source, signal);
    const before = all.at(-1);
    if (before !== undefined && seen.previousDigest !== before.mark.digest) {
      throw new MendRefusedError(
        `checkpoint ${due} of ${source.description} follows one of digest ${seen.previousDigest ?? "none"}, but ${source.description} gives ${before.mark.digest} as checkpoint ${due - 1n}: it contradicts itself`,
      );
    }
    await signatures.take(seen, signal);
    if (seen.joined.length > 0) {
      packages.push(...seen.joined.map(({ address }) => address));
      read = readerOf(packages);
    }
    const kept = needed.has(due) ? seen.facts : [];
    all.push({ ...seen, facts: kept, coins: [], certified: undefined });
  }
  signal.throwIfAborted();
  await signatures.close(signal);
  const reached = first + BigInt(all.length) - 1n;
  if (reached < last) {
    throw new MendRefusedError(
      `${source.description} does not give checkpoint ${reached + 1n}: name a --source that still has it`,
    );
  }
  return all;
};
