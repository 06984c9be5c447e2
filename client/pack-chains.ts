/**
 * What a token's facts show about missing ones: chains of versions, closure, conservation. A
 * transaction's effects name the version of each object that it took in and left.
 */
import type { Head } from "./completeness.ts";
import { hexOf } from "./sum-tree.ts";

/** A live object of the token. */
export type LiveObject = Head & {
  /** `module::Name` of its type. */
  readonly name: string;
};

type Common = {
  /** `module::Name` of the type. */
  readonly name: string;
  /** Index in the checkpoint. */
  readonly transaction: number;
  readonly txDigest: string;
};

/** A fact of the token; of a removed object, `version` is the one before. */
export type ChainFact =
  | (Common & { readonly kind: "event" })
  | (Common & {
      readonly kind: "object";
      readonly objectId: string;
      readonly version: bigint;
      /** Null: created or unwrapped. */
      readonly versionBefore: bigint | null;
      readonly contents: Uint8Array;
    })
  | (Common & { readonly kind: "removal"; readonly objectId: string; readonly version: bigint });

/** The pack leaves something out: an object of the token was written by a transaction that it does not have. */
export class VersionGapError extends Error {
  override readonly name = "VersionGapError";
}

/** The version of an object that a fact's transaction took in. */
const before = (fact: Exclude<ChainFact, { kind: "event" }>): bigint | undefined =>
  (fact.kind === "object" ? fact.versionBefore : fact.version) ?? undefined;

/** Versions of each live object. */
export class PackVersions {
  readonly #live = new Map<string, LiveObject>();
  #followed = 0;

  /** How often a transaction read an object at its last known version. */
  get followed(): number {
    return this.#followed;
  }

  get live(): readonly LiveObject[] {
    return [...this.#live.values()];
  }

  put({ objectId, version, name }: LiveObject): void {
    this.#live.set(objectId, { objectId, version, name });
  }

  /** @param facts of the token, in chain order @throws VersionGapError */
  follow(facts: readonly ChainFact[]): void {
    for (const fact of facts) {
      if (fact.kind === "event") continue;
      const { objectId, txDigest } = fact;
      const left = this.#live.get(objectId)?.version;
      const found = before(fact);
      if (left !== found) {
        const shown = (version: bigint | undefined) =>
          version === undefined ? "not at all" : `in version ${version}`;
        throw new VersionGapError(
          `transaction ${txDigest} found the object ${objectId} ${shown(found)}, but the pack left it ${shown(left)}: a checkpoint between is missing`,
        );
      }
      if (left !== undefined) this.#followed += 1;
      if (fact.kind === "object") this.put(fact);
      else this.#live.delete(objectId);
    }
  }
}

const TREASURY = "controlled_treasury::ControlledTreasury";
const TOKEN = "shared_token::SharedToken";
const GRANT = "timelock::Timelock";
const METADATA: ReadonlySet<string> = new Set(["coin::CoinMetadata", "coin_registry::Currency"]);

/** Where an object's contents have its amount: u64, little-endian; tokens and grants have the owner after the id. */
const AMOUNT_AT: Readonly<Record<string, number>> = { [TREASURY]: 32, [TOKEN]: 64, [GRANT]: 160 };

/** The profile whose rules follow. */
export const PROFILE = "security-token-1";

const TOOK_TREASURY = [[`took ${TREASURY}`]];
const TOOK_TOKEN = [[`took ${TOKEN}`]];
const TOOK_GRANT = [[`took ${GRANT}`]];

/**
 * What a transaction may do to objects of the token, and announce about it; and the alternatives of
 * what it must do besides, so that it stands in the chain of an object that existed before. Only
 * the treasury is made of none: its token's only `TreasuryCap` ends in it.
 */
export const NEEDED: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  [`took ${TREASURY}`, [[]]],
  [`took ${TOKEN}`, [[]]],
  [`took ${GRANT}`, [[]]],
  [`made ${TREASURY}`, [[]]],
  [`made ${TOKEN}`, [...TOOK_TREASURY, ...TOOK_TOKEN, ...TOOK_GRANT]],
  [`made ${GRANT}`, TOOK_TOKEN],
  [`ended ${TOKEN}`, TOOK_TOKEN],
  [`ended ${GRANT}`, TOOK_GRANT],
  ["emitted controlled_treasury::RoleChange", [[`made ${TREASURY}`], ...TOOK_TREASURY]],
  ["emitted controlled_treasury::Mint", TOOK_TREASURY],
  ["emitted controlled_treasury::Burn", [[`took ${TREASURY}`, `took ${TOKEN}`]]],
  ["emitted freeze_rule::AddressFrozen", TOOK_TREASURY],
  ["emitted group_holder_config::HolderAdded", TOOK_TREASURY],
  ["emitted group_holder_config::HolderRemoved", TOOK_TREASURY],
  ["emitted group_holder_config::HolderAddressAdded", TOOK_TREASURY],
  ["emitted group_holder_config::HolderAddressRemoved", TOOK_TREASURY],
  ["emitted group_holder_config::AddressJoinedGroup", TOOK_TREASURY],
  ["emitted group_holder_config::AddressLeftGroup", TOOK_TREASURY],
  ["emitted shared_token::Transfer", TOOK_TOKEN],
  ["emitted shared_token::ForceTransfer", TOOK_TOKEN],
]);

const deedsOf = (fact: ChainFact): readonly string[] => {
  const { kind, name } = fact;
  if (kind === "event") return [`emitted ${name}`];
  if (kind === "removal") return [`took ${name}`, `ended ${name}`];
  return [fact.versionBefore === null ? `made ${name}` : `took ${name}`];
};

/** What the facts come to, for comparison with a certificate. */
export type Counted = {
  readonly objects: number;
  readonly versions: number;
  readonly transactions: number;
  readonly checkpoints: number;
  readonly supply: bigint;
  /** Treasuries that were made, and those that still are. */
  readonly treasuries: { readonly made: number; readonly live: number };
  /** Tokens and grants of each owner, at the last checkpoint. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** The first contradiction, in words; null: none. */
  readonly fault: string | null;
};

/** Closure and conservation, over all facts of a token. */
export class PackCounts {
  readonly #objects = new Set<string>();
  readonly #amounts = new Map<string, bigint>();
  readonly #owners = new Map<string, string>();
  readonly #treasuries = { made: 0, live: 0 };
  #versions = 0;
  #transactions = 0;
  #checkpoints = 0;
  #supply = 0n;
  #held = 0n;
  #fault: string | null = null;

  get counted(): Counted {
    return {
      objects: this.#objects.size,
      versions: this.#versions,
      transactions: this.#transactions,
      checkpoints: this.#checkpoints,
      supply: this.#supply,
      treasuries: { ...this.#treasuries },
      balances: this.#balances(),
      fault: this.#fault,
    };
  }

  /** @param facts of one checkpoint; call in ascending order */
  add(checkpoint: bigint, facts: readonly ChainFact[]): void {
    const deeds = new Map<string, Set<string>>();
    const versions = this.#versions;
    for (const fact of facts) {
      if (fact.kind !== "event") this.#count(fact);
      if (METADATA.has(fact.name)) continue;
      const done = deeds.get(fact.txDigest) ?? new Set();
      deeds.set(fact.txDigest, done);
      for (const deed of deedsOf(fact)) done.add(deed);
    }
    this.#transactions += deeds.size;
    for (const [txDigest, done] of deeds) {
      const foreign = [...done].filter(
        (deed) => !NEEDED.get(deed)?.some((with_) => with_.every((other) => done.has(other))),
      );
      if (foreign.length === 0) continue;
      this.#fault ??= `transaction ${txDigest} of checkpoint ${checkpoint} ${foreign.join(", ")}, which no function of the contract's profile does with the objects that it took`;
    }
    if (this.#versions === versions) return;
    this.#checkpoints += 1;
    if (this.#supply === this.#held) return;
    this.#fault ??= `after checkpoint ${checkpoint} tokens and grants come to ${this.#held}, but the treasury has issued ${this.#supply}`;
  }

  #balances(): ReadonlyMap<string, bigint> {
    const balances = new Map<string, bigint>();
    for (const [objectId, owner] of this.#owners) {
      balances.set(owner, (balances.get(owner) ?? 0n) + (this.#amounts.get(objectId) ?? 0n));
    }
    return balances;
  }

  #count(fact: Exclude<ChainFact, { kind: "event" }>): void {
    const { name, objectId } = fact;
    this.#versions += 1;
    this.#objects.add(objectId);
    const at = AMOUNT_AT[name];
    if (at === undefined) return;
    const amount = fact.kind === "removal" ? 0n : u64At(fact.contents, at);
    const change = amount - (this.#amounts.get(objectId) ?? 0n);
    this.#amounts.set(objectId, amount);
    if (name === TREASURY) {
      this.#supply += change;
      if (fact.kind === "removal") this.#treasuries.live -= 1;
      else if (fact.versionBefore === null) {
        this.#treasuries.made += 1;
        this.#treasuries.live += 1;
      }
      return;
    }
    this.#held += change;
    if (fact.kind === "removal") this.#owners.delete(objectId);
    else this.#owners.set(objectId, `0x${hexOf(fact.contents.subarray(32, 64))}`);
  }
}

/** 0 beyond the end: contents of another form are refused where they are decoded. */
const u64At = (bytes: Uint8Array, at: number): bigint =>
  bytes.length < at + 8 ? 0n : new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at, true);

/**
 * Live objects that a later transaction found in the version that the pack left. Metadata does not
 * count: nothing in it that a register has can change.
 */
export class PackLater {
  readonly #open: Map<string, bigint>;
  readonly #of: number;
  #checkpoints = 0;

  constructor(live: readonly LiveObject[]) {
    this.#open = new Map(
      live.flatMap(({ objectId, version, name }) =>
        METADATA.has(name) ? [] : [[objectId, version]],
      ),
    );
    this.#of = this.#open.size;
  }

  get later(): Later {
    return { checkpoints: this.#checkpoints, shown: this.#of - this.#open.size, of: this.#of };
  }

  /** Whether no later checkpoint found it so far; never for metadata. */
  isOpen(objectId: string): boolean {
    return this.#open.has(objectId);
  }

  /** @param facts of one later checkpoint; call in ascending order @throws VersionGapError */
  meet(facts: readonly ChainFact[]): void {
    this.#checkpoints += 1;
    for (const fact of facts) {
      if (fact.kind === "event") continue;
      const { objectId, txDigest } = fact;
      const left = this.#open.get(objectId);
      if (left === undefined) continue;
      const found = before(fact);
      if (found !== left) {
        throw new VersionGapError(
          `transaction ${txDigest} found the object ${objectId} in version ${found}, but the pack left it in version ${left}: a checkpoint between is missing`,
        );
      }
      this.#open.delete(objectId);
    }
  }
}

export type Later = {
  readonly checkpoints: number;
  /** Of the contract's live objects (`of`), those that were next changed in this version. */
  readonly shown: number;
  readonly of: number;
};
