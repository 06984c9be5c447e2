import type {
  CheckpointMark,
  CoinDecimals,
  Fact,
  JoinedPackage,
  ReadFact,
} from "../../log/fact.ts";
import type { VerifyLevel } from "../../settings/values.ts";
import { canonicalAddress, FRAMEWORK } from "../../values/move-type.ts";
import type { Decode } from "../contract/layout.ts";
import { COIN_METADATA, CURRENCY } from "../contract/names.ts";
import { type CoinMetadata, decodeCoinMetadata, decodeCurrency } from "../contract/objects.ts";
import type { Checkpoint, CheckpointHeader, RawCheckpoint } from "../decode/checkpoint.ts";
import { decodeCheckpoint, noVerifier, skimCheckpoint } from "../decode/decode.ts";
import { type CertifiedSummary, readCertified } from "../proof/certificate.ts";
import { createWanted, factsOf } from "./facts.ts";
import { createPrefilter } from "./prefilter.ts";

export type ReadCheckpoint = {
  readonly mark: CheckpointMark;
  /** Previous digest named by the summary; null for the chain's first. */
  readonly previousDigest: string | null;
  /** In chain order; usually none. */
  readonly facts: readonly ReadFact[];
  /** Decimals in metadata objects among the facts, in chain order. */
  readonly coins: readonly CoinDecimals[];
  /** Packages that join here; `facts` includes theirs. */
  readonly joined: readonly JoinedPackage[];
  /** Ruled out by the prefilter. */
  readonly skipped: boolean;
  /** Summary with certificate, if signatures are verified. */
  readonly certified?: CertifiedSummary | undefined;
};

/**
 * Reads raw checkpoints for some packages, decoding them only if the prefilter does not suffice.
 * Stateless: after packages join, continue with a reader that includes them.
 * @throws CheckpointDecodeError, PositionOverflowError, ContractLayoutError (for coin metadata)
 */
export type CheckpointReader = (raw: RawCheckpoint) => ReadCheckpoint;

export type ReaderOf = (packages: readonly string[]) => CheckpointReader;

/** Content of a summary: time and position in the chain. */
export type CheckpointPlace = Pick<ReadCheckpoint, "mark" | "previousDigest">;

/**
 * Reads a summary and checks that the checkpoint is complete.
 * @throws CheckpointDecodeError (retry)
 */
export const readPlace = (raw: RawCheckpoint): CheckpointPlace => placeOf(skimCheckpoint(raw));

/** Reads skipped checkpoints; with `signatures` all digests: a changed byte can hide an address. */
const SKIPPING: Readonly<Record<VerifyLevel, (raw: RawCheckpoint) => CheckpointHeader>> = {
  off: (raw) => skimCheckpoint(raw, noVerifier),
  links: (raw) => skimCheckpoint(raw),
  signatures: (raw) => decodeCheckpoint(raw, () => false),
};

export const readerAt =
  (level: VerifyLevel): ReaderOf =>
  (packages) =>
    readerOf(level, packages);

/**
 * Creates a reader that checks digests.
 * @param packages addresses in any form `canonicalAddress` accepts
 * @throws MoveTypeError (stop)
 */
export const createCheckpointReader: ReaderOf = (packages) => readerOf("links", packages);

const readerOf = (level: VerifyLevel, packages: readonly string[]): CheckpointReader => {
  const mayHoldFacts = createPrefilter(packages);
  const wanted = createWanted(packages);
  const skip = SKIPPING[level];
  const verifier = level === "off" ? noVerifier : undefined;
  return (raw) => {
    const certified = level === "signatures" ? readCertified(raw) : undefined;
    if (!mayHoldFacts(raw)) {
      return { ...placeOf(skip(raw)), ...NO_FACTS, skipped: true, certified };
    }
    const checkpoint = decodeCheckpoint(raw, wanted, verifier);
    const joined = joiningPackages(checkpoint, packages);
    if (joined.length > 0) {
      // Rare: decode again, to get facts of the new types.
      const all = [...packages, ...joined.map(({ address }) => address)];
      return { ...readerOf(level, all)(raw), joined };
    }
    const facts = factsOf(checkpoint);
    const coins = facts.flatMap(decimalsIn);
    return { ...placeOf(checkpoint), facts, coins, joined, skipped: false, certified };
  };
};

const NO_FACTS = { facts: [], coins: [], joined: [] } as const;

/** Whether a fact is of the framework: metadata of a coin, whosever it is. */
export const isOfFramework = ({ type }: Pick<Fact, "type">): boolean =>
  type.startsWith(`${FRAMEWORK}::`);

/** Decimals in a fact that is a framework coin's metadata. */
export const decimalsIn = (fact: Fact): readonly CoinDecimals[] => {
  if (fact.kind !== "object" || fact.coinType === null || !isOfFramework(fact)) return [];
  const decode = METADATA_DECODERS.get(fact.name);
  if (decode === undefined) return [];
  return [{ coinType: fact.coinType, decimals: decode(fact.contents).decimals }];
};

const METADATA_DECODERS: ReadonlyMap<string, Decode<CoinMetadata>> = new Map([
  [COIN_METADATA, decodeCoinMetadata],
  [CURRENCY, decodeCurrency],
]);

const placeOf = ({ sequence, digest, timestampMs, previousDigest }: CheckpointHeader) => ({
  mark: { sequence, digest, timestampMs },
  previousDigest,
});

/**
 * Packages that a checkpoint publishes as further versions of these, in chain order.
 *
 * An upgrade's type origins name the version that first defined each type, so an upgrade names an
 * earlier version (unless none defined a type). Validators make this table, and other packages
 * cannot appear with our origins; dependencies are in another table (linkage), which is not read.
 * @param packages addresses in any form `canonicalAddress` accepts
 */
export const joiningPackages = (
  { sequence, transactions }: Checkpoint,
  packages: readonly string[],
): readonly JoinedPackage[] => {
  const known = new Set(packages.map(canonicalAddress));
  const joined: JoinedPackage[] = [];
  for (const [transaction, { packages: published }] of transactions.entries()) {
    // A transaction may upgrade twice: the later version may name only the earlier.
    const inOrder = published.toSorted((a, b) => Number(a.version - b.version));
    for (const { id, typeOrigins } of inOrder) {
      if (known.has(id) || !typeOrigins.some((origin) => known.has(origin))) continue;
      known.add(id);
      joined.push({ address: id, checkpoint: sequence, transaction });
    }
  }
  return joined;
};
