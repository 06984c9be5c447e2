import type {
  CheckpointMark,
  CoinDecimals,
  Fact,
  JoinedPackage,
  ReadFact,
} from "../../log/fact.ts";
import type { VerifyLevel } from "../../settings/values.ts";
import { canonicalAddress } from "../../values/move-type.ts";
import type { Decode } from "../contract/layout.ts";
import { COIN_METADATA, CURRENCY } from "../contract/names.ts";
import { type CoinMetadata, decodeCoinMetadata, decodeCurrency } from "../contract/objects.ts";
import type { CheckpointHeader, RawCheckpoint } from "../decode/checkpoint.ts";
import { believing, decodeCheckpoint, skimCheckpoint } from "../decode/decode.ts";
import { type CertifiedSummary, readCertified } from "../proof/certificate.ts";
import { createWanted, factsOf } from "./facts.ts";
import { joiningPackages } from "./joining.ts";
import { createPrefilter } from "./prefilter.ts";

/** What a checkpoint says about security tokens. */
export type ReadCheckpoint = {
  /** What a watermark remembers of it. */
  readonly mark: CheckpointMark;
  /** Digest of the checkpoint before it, as its summary names it; null for the chain's first. */
  readonly previousDigest: string | null;
  /** In chain order; most checkpoints have none. */
  readonly facts: readonly ReadFact[];
  /** What metadata objects among the facts say of their coins, in chain order. */
  readonly coins: readonly CoinDecimals[];
  /** Packages that join here; their facts in this checkpoint are among its facts. */
  readonly joined: readonly JoinedPackage[];
  /** The prefilter ruled it out: it holds no facts. */
  readonly skipped: boolean;
  /** Its summary with the validators' certificate, where signatures are verified. */
  readonly certified?: CertifiedSummary | undefined;
};

/**
 * Reads raw checkpoints for these packages: by the prefilter alone where it suffices, else decoded. It
 * remembers nothing: after a checkpoint in which packages join, a reader of theirs too has to go on.
 * @throws CheckpointDecodeError, PositionOverflowError, ContractLayoutError (for coin metadata), all
 *   stop; nothing of the checkpoint is returned then
 */
export type CheckpointReader = (raw: RawCheckpoint) => ReadCheckpoint;

/** Makes the reader of these packages. */
export type ReaderOf = (packages: readonly string[]) => CheckpointReader;

/** What a summary says: enough to know a checkpoint's time, and that it belongs to the chain. */
export type CheckpointPlace = Pick<ReadCheckpoint, "mark" | "previousDigest">;

/**
 * Reads the summary of a raw checkpoint, and makes sure that the rest is whole.
 * @throws CheckpointDecodeError (retry)
 */
export const readPlace = (raw: RawCheckpoint): CheckpointPlace => placeOf(skimCheckpoint(raw));

/**
 * Reads what the prefilter ruled out. A changed byte can hide an address from the prefilter: with
 * signatures nothing is believed, so that the digests of all parts are recomputed here, too.
 */
const SKIPPING: Readonly<Record<VerifyLevel, (raw: RawCheckpoint) => CheckpointHeader>> = {
  off: (raw) => skimCheckpoint(raw, believing),
  links: (raw) => skimCheckpoint(raw),
  signatures: (raw) => decodeCheckpoint(raw, () => false),
};

/** Makes what makes readers that check as much as the level says inside each checkpoint. */
export const readerAt =
  (level: VerifyLevel): ReaderOf =>
  (packages) =>
    readerOf(level, packages);

/**
 * Makes the reader of these packages, which checks the digests of what it decodes.
 * @param packages addresses, in any form `canonicalAddress` accepts
 * @throws MoveTypeError (stop) for anything else
 */
export const createCheckpointReader: ReaderOf = (packages) => readerOf("links", packages);

const readerOf = (level: VerifyLevel, packages: readonly string[]): CheckpointReader => {
  const mayHoldFacts = createPrefilter(packages);
  const wanted = createWanted(packages);
  const skip = SKIPPING[level];
  const verifier = level === "off" ? believing : undefined;
  return (raw) => {
    const certified = level === "signatures" ? readCertified(raw) : undefined;
    if (!mayHoldFacts(raw)) {
      return { ...placeOf(skip(raw)), ...NO_FACTS, skipped: true, certified };
    }
    const checkpoint = decodeCheckpoint(raw, wanted, verifier);
    const joined = joiningPackages(checkpoint, packages);
    if (joined.length > 0) {
      // Upgrades are rare: their checkpoint is decoded twice, so that it holds facts of the new types.
      const all = [...packages, ...joined.map(({ address }) => address)];
      return { ...readerOf(level, all)(raw), joined };
    }
    const facts = factsOf(checkpoint);
    const coins = facts.flatMap(decimalsIn);
    return { ...placeOf(checkpoint), facts, coins, joined, skipped: false, certified };
  };
};

const NO_FACTS = { facts: [], coins: [], joined: [] } as const;

const FRAMEWORK = canonicalAddress("0x2");

/** The decimals that a fact tells, when it is a coin's metadata as the framework defines it. */
export const decimalsIn = (fact: Fact): readonly CoinDecimals[] => {
  if (fact.kind !== "object" || fact.coinType === null) return [];
  if (!fact.type.startsWith(`${FRAMEWORK}::`)) return [];
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
