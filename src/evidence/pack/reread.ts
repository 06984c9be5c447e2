/**
 * Rereads a pack's range from any source, which proves that nothing was left out. Each checkpoint
 * must name its predecessor's digest, up to the pack's signed last one, so the source need not be
 * trusted. Reread from the publication of the token's package, it rebuilds the first register too.
 */
import type { PackFiles } from "../../../client/pack-files.ts";
import type { PackManifest } from "../../../client/pack-forms.ts";
import type { Checkpoint } from "../../ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../../ledger/decode/decode.ts";
import { readExcerpt } from "../../ledger/proof/excerpt.ts";
import { createWanted, factsOf } from "../../ledger/reading/facts.ts";
import { joiningPackages } from "../../ledger/reading/read.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import type { Fact } from "../../log/fact.ts";
import { splitType } from "../../values/move-type.ts";
import { PackBeginning } from "./beginning.ts";
import { CHECKPOINTS, excerptFile, FILES, markIn, packError } from "./form.ts";
import { actsIn, leftOutBy } from "./left-out.ts";
import { excerptBytes, reading } from "./signatures.ts";

export type Reread = {
  readonly source: string;
  /** The first checkpoint read, and their number. */
  readonly from: bigint;
  readonly checkpoints: bigint;
  /** How the token began, in words; null if not read. */
  readonly beginning: string | null;
  /** Package addresses that nothing read publishes as a version of the contract. */
  readonly unseen: readonly string[];
  /** The first address, if its publication was not read: earlier versions may exist. */
  readonly olderThanRead: string | null;
};

/** The source failed, so it proves nothing. */
export type Unread = { readonly source: string; readonly why: string };

/**
 * @param manifest of a verified pack
 * @param since first checkpoint to read; default: after the first register
 * @throws AuditPackError (stop) naming the first omitted transaction, the differing item of the
 * first register, or the checkpoint at which the chain differs; and the source's errors
 */
export const reread = async (
  pack: PackFiles,
  manifest: Pick<PackManifest, "coinType" | "packages" | "opening" | "first" | "last">,
  source: CheckpointSource,
  signal: AbortSignal,
  since?: bigint,
): Promise<Reread> => {
  const { coinType, packages } = manifest;
  const [first, last] = [markIn(manifest.first), markIn(manifest.last)];
  const wanted = createWanted(packages);
  const ofCoin = (facts: readonly Fact[]) => facts.filter((fact) => fact.coinType === coinType);
  const inPack = async (file: string, sequence: bigint): Promise<readonly Fact[]> => {
    if (!pack.has(file)) return [];
    const { checkpoint } = await readExcerpt(sequence, await excerptBytes(pack, file), wanted);
    return ofCoin(factsOf(checkpoint));
  };
  const from = since !== undefined && since <= first.sequence ? since : first.sequence + 1n;
  const opening = new PackBeginning(
    coinType,
    leftOutBy(coinType, pack.has(FILES.acts) ? await actsIn(pack) : []),
  );
  const versions = packages.slice(0, 1);
  let beginning: string | null = null;
  let olderThanRead = packages[0] ?? null;
  let digest = from > first.sequence ? first.digest : null;
  let next = from;
  for await (const raw of source.checkpoints({ first: from, last: last.sequence }, signal)) {
    // Check every digest in a checkpoint that may concern the token, so that nothing can be hidden.
    const checkpoint = decodeCheckpoint(raw, wanted);
    const file = excerptFile(CHECKPOINTS, next);
    const { sequence, previousDigest } = checkpoint;
    if (sequence !== next || (digest !== null && previousDigest !== digest)) {
      throw otherChain(
        file,
        `${source.description} has a checkpoint ${sequence} that follows one of digest ${previousDigest}, not ${digest}`,
      );
    }
    assertPackages(checkpoint, packages);
    if (publishes(checkpoint, olderThanRead)) olderThanRead = null;
    versions.push(...joiningPackages(checkpoint, versions).map(({ address }) => address));
    const facts = ofCoin(factsOf(checkpoint));
    const hadBegun = beginning !== null;
    beginning ??= beginningIn(checkpoint, coinType, next === from);
    // The first register is empty before the token exists.
    if (next > first.sequence && beginning !== null && !hadBegun) {
      await opening.compare(pack, "complete");
    }
    if (next <= first.sequence) await reading(file, () => opening.apply(facts));
    // A whole pack also has the facts before the first register.
    if (next > first.sequence || manifest.opening === "whole") {
      const packed = facts.length === 0 ? [] : await inPack(file, next);
      const known = new Set(packed.map(({ transaction }) => transaction));
      const left = facts.find(({ transaction }) => !known.has(transaction));
      if (left !== undefined) {
        throw packError(
          file,
          `leaves out transaction ${left.txDigest}, which concerns the token`,
          "complete",
        );
      }
    }
    if (next === first.sequence) {
      if (checkpoint.digest !== first.digest) {
        throw otherChain(
          file,
          `${source.description} has digest ${checkpoint.digest} at checkpoint ${next}, not ${first.digest}`,
        );
      }
      if (beginning !== null) await opening.compare(pack, "complete");
    }
    digest = checkpoint.digest;
    next += 1n;
  }
  signal.throwIfAborted();
  if (digest === last.digest && next === last.sequence + 1n) {
    const unseen = packages.filter((address) => !versions.includes(address));
    const checkpoints = next - from;
    return { source: source.description, from, checkpoints, beginning, unseen, olderThanRead };
  }
  throw otherChain(
    excerptFile(CHECKPOINTS, last.sequence),
    `${source.description} has digest ${digest} at checkpoint ${next - 1n}, not ${last.digest}`,
  );
};

const otherChain = (file: string, what: string) =>
  packError(file, `${what}: it is of another chain, or damaged`, "complete");

/**
 * Whether no fact of a coin can be older: the checkpoint is the ledger's first, or publishes the
 * package of the coin's own type.
 */
const beginningIn = (checkpoint: Checkpoint, coinType: string, isFirst: boolean): string | null => {
  const { sequence, previousDigest } = checkpoint;
  if (isFirst && sequence === 0n && previousDigest === null) return "with the ledger itself";
  const { address } = splitType(coinType);
  return publishes(checkpoint, address)
    ? `with the publication of ${address} in checkpoint ${sequence}`
    : null;
};

const publishes = ({ transactions }: Checkpoint, address: string | null): boolean =>
  transactions.some(({ packages }) => packages.some(({ id }) => id === address));

/** A contract version missing from the manifest would hide its facts. */
const assertPackages = (checkpoint: Checkpoint, packages: readonly string[]): void => {
  const [joined] = joiningPackages(checkpoint, packages);
  if (joined === undefined) return;
  throw packError(
    FILES.manifest,
    `leaves out the package ${joined.address}, which checkpoint ${checkpoint.sequence} publishes as a version of the contract`,
    "complete",
  );
};
