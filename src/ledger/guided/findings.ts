/** What discovery found so far: packages, coins, and the chain of versions of each object. */
import { highest } from "../../values/bigints.ts";
import { type Chain, type Chains, createChains } from "./chains.ts";
import type { Found } from "./read-found.ts";

/** A live object of the log that a range continues. */
export type KnownObject = {
  readonly id: string;
  readonly coinType: string | null;
  readonly kind: Chain["kind"];
  readonly version: bigint;
  readonly checkpoint: bigint;
};

export type Findings = {
  /** Canonical, original first; grows with upgrades. */
  readonly packages: readonly string[];
  /** Coin types of the contract. */
  readonly coins: ReadonlySet<string>;
  /** Coins whose metadata the log knows. */
  readonly coinsInLog: ReadonlySet<string>;
  readonly chains: Pick<Chains, "size" | "get" | "all" | "open">;
  /** Checkpoints that were read; some are read again after an upgrade. */
  readonly read: Set<bigint>;
  /** Notes an object of the log. */
  know(object: KnownObject): void;
  /** Notes a checkpoint that was read and verified. */
  note(found: Found): void;
  /** Packages whose events and calls were not asked for, each once. */
  takeUnasked(): readonly string[];
  /** Whether a chain has to be complete. */
  isTracked(chain: Chain): boolean;
  /** From where on to ask for an object: the log has all changes of its objects before the range. */
  notInLog(chain: Chain, from: bigint): bigint;
};

/** @param first first checkpoint of the range */
export const createFindings = (begun: readonly string[], first: bigint): Findings => {
  const packages = [...begun];
  const unasked = [...begun];
  const coins = new Set<string>();
  const coinsInLog = new Set<string>();
  const chains = createChains();
  /** Metadata objects that the log knows. */
  const metadataInLog = new Set<string>();
  const read = new Set<bigint>();

  const isInLog = (kind: Chain["kind"], id: string) => kind === "contract" || metadataInLog.has(id);

  return {
    ...{ packages, coins, coinsInLog, chains, read },
    know: ({ id, kind, coinType, version, checkpoint }) => {
      chains.note(id, { kind, coinType }, { checkpoint, before: null, after: version });
      if (kind === "contract" && coinType !== null) coins.add(coinType);
      if (kind !== "metadata" || coinType === null) return;
      metadataInLog.add(id);
      coinsInLog.add(coinType);
    },
    note: ({ sequence, changes, coins: met, joined }) => {
      read.add(sequence);
      for (const { id, kind, coinType, change } of changes) {
        // What the log has of it is known; before it begins, nothing can be appended.
        if (sequence < first && isInLog(kind, id)) continue;
        // A right to upgrade that is given up names no package.
        const isForeign = kind === "upgrade cap" && change.after === null;
        if (isForeign && chains.get(id) === undefined) continue;
        chains.note(id, { kind, coinType }, change);
      }
      for (const coinType of sequence < first ? [] : met) coins.add(coinType);
      packages.push(...joined);
      unasked.push(...joined);
    },
    takeUnasked: () => unasked.splice(0),
    isTracked: ({ kind, coinType }) =>
      kind !== "metadata" || (coinType !== null && coins.has(coinType)),
    notInLog: ({ kind, id }, from) => (isInLog(kind, id) ? highest(from, first) : from),
  };
};
