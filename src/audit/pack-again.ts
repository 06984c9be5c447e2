/**
 * Reads the range of a pack again, from any source: then nothing between its two registers can have been
 * left out. Each checkpoint must name the digest of the one before, from the first of the pack to the last,
 * which both are signed; so the source need not be trusted.
 */
import type { PackFiles } from "../../client/pack-files.mjs";
import { decodeCheckpoint } from "../ledger/decode/decode.ts";
import { readExcerpt } from "../ledger/proof/excerpt.ts";
import { createWanted, factsOf } from "../ledger/reading/facts.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import type { Fact } from "../log/fact.ts";
import { CHECKPOINTS, excerptFile, type Manifest, packError } from "./pack-form.ts";
import { excerptBytes } from "./pack-signatures.ts";

/**
 * @param manifest of a pack that was verified
 * @returns how many checkpoints were read
 * @throws AuditPackError (stop) naming the first transaction that the pack leaves out, or the checkpoint at
 *   which the source is of another chain; what the source throws
 */
export const readAgain = async (
  pack: PackFiles,
  { coinType, packages, first, last }: Pick<Manifest, "coinType" | "packages" | "first" | "last">,
  source: CheckpointSource,
  signal: AbortSignal,
): Promise<bigint> => {
  const wanted = createWanted(packages);
  const transactionsIn = (facts: readonly Fact[]) =>
    new Set(facts.flatMap((fact) => (fact.coinType === coinType ? [fact.transaction] : [])));
  const inPack = async (file: string, sequence: bigint): Promise<ReadonlySet<number>> => {
    if (!pack.has(file)) return new Set();
    const { checkpoint } = readExcerpt(sequence, await excerptBytes(pack, file), wanted);
    return transactionsIn(factsOf(checkpoint));
  };
  let { digest } = first;
  let next = first.checkpoint + 1n;
  const range = { first: next, last: last.checkpoint };
  for await (const raw of source.checkpoints(range, signal)) {
    // Every digest of what may concern the token is checked: nothing in it can be hidden.
    const checkpoint = decodeCheckpoint(raw, wanted);
    const file = excerptFile(CHECKPOINTS, next);
    if (checkpoint.sequence !== next || checkpoint.previousDigest !== digest) {
      throw packError(
        file,
        `${source.description} has a checkpoint ${checkpoint.sequence} that follows one of digest ${checkpoint.previousDigest}, not ${digest}: it is of another chain, or damaged`,
      );
    }
    const packed = await inPack(file, next);
    const index = [...transactionsIn(factsOf(checkpoint))].find((one) => !packed.has(one));
    if (index !== undefined) {
      throw packError(
        file,
        `leaves out transaction ${checkpoint.transactions[index]?.digest}, which concerns the token`,
      );
    }
    digest = checkpoint.digest;
    next += 1n;
  }
  signal.throwIfAborted();
  if (digest === last.digest) return next - range.first;
  throw packError(
    excerptFile(CHECKPOINTS, last.checkpoint),
    `${source.description} has digest ${digest} at checkpoint ${next - 1n}, not ${last.digest}`,
  );
};
