/**
 * A register folded from facts by the pipelines' code, for writing and verifying packs. Memory
 * grows with the state, not the history.
 */

import { comparePlaces, placeOf } from "../../../client/cap-rows.ts";
import { CURRENCY } from "../../ledger/contract/names.ts";
import { decodeCoinMetadata, decodeCurrency } from "../../ledger/contract/objects.ts";
import { isOfFramework } from "../../ledger/reading/read.ts";
import type { CheckpointMark, Fact } from "../../log/fact.ts";
import { holderLifecyclePipeline, membershipKey } from "../../pipelines/holder-lifecycle.ts";
import type { GrantAmounts } from "../../pipelines/movements.ts";
import { roleChangesPipeline } from "../../pipelines/role-changes.ts";
import { sharedTokenObjectsPipeline } from "../../pipelines/shared-token-objects.ts";
import { timelockObjectsPipeline } from "../../pipelines/timelock-objects.ts";
import type { CapRow } from "../../projections/cap-rows.ts";
import { type CapTableHead, headOf } from "../../projections/cap-table-json.ts";
import type { HolderEventRow } from "../../projections/holder-events.ts";
import type { MembershipRange } from "../../projections/memberships.ts";
import { createSumTree } from "../../projections/merkle-sum.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import { type RoleEventRow, type RoleRange, roleKey } from "../../projections/roles.ts";
import type { SharedTokenState } from "../../projections/shared-token-objects.ts";
import type { TimelockState } from "../../projections/timelock-objects.ts";
import { claimableAt } from "../../projections/unlocking.ts";
import { factsFor, type LeftOutOfPack } from "./left-out.ts";
import type { Movement, StateItem } from "./lines.ts";

/** The effects of facts, each list in its file's order. */
export type Happened = {
  readonly movements: readonly Movement[];
  readonly holderEvents: readonly HolderEventRow[];
  readonly roleEvents: readonly RoleEventRow[];
  /** Ranges that began or ended. */
  readonly memberships: readonly MembershipRange[];
  readonly roles: readonly RoleRange[];
};

export type RegisterTable = { readonly head: CapTableHead; readonly rows: readonly CapRow[] };

export class PackRegister {
  readonly #coinType: string;
  readonly #leftOut: LeftOutOfPack;
  readonly #tokens = new Map<string, SharedTokenState>();
  readonly #tokenBalances = new Map<string, bigint>();
  readonly #amounts = new Map<string, GrantAmounts>();
  readonly #grants = new Map<string, TimelockState>();
  readonly #grantBalances = new Map<string, bigint>();
  readonly #memberships = new Map<string, MembershipRange>();
  readonly #roles = new Map<string, RoleRange>();
  #supply: bigint | null = null;
  #decimals: number | null = null;

  constructor(coinType: string, leftOut: LeftOutOfPack = new Map()) {
    this.#coinType = coinType;
    this.#leftOut = leftOut;
  }

  /** From metadata among the facts, or null. */
  get decimals(): number | null {
    return this.#decimals;
  }

  get holdsNothing(): boolean {
    const states = [this.#tokens, this.#grants, this.#memberships, this.#roles];
    return this.#supply === null && states.every(({ size }) => size === 0);
  }

  /** Open memberships. */
  get memberships(): readonly MembershipRange[] {
    return [...this.#memberships.values()];
  }

  /** Current roles, by owner and role. */
  get roles(): readonly RoleRange[] {
    return [...this.#roles.values()].sort((a, b) => (roleKey(a) < roleKey(b) ? -1 : 1));
  }

  put(item: StateItem): void {
    if (item.kind === "object") this.apply([item.fact]);
    else if (item.kind === "role") this.#roles.set(roleKey(item.range), item.range);
    else this.#memberships.set(membershipKey(item.range), item.range);
  }

  /** Applies facts in chain order. @throws UndecodableFactError (stop) */
  apply(facts: readonly Fact[]): Happened {
    const of = (pipeline: Parameters<typeof factsFor>[1]) =>
      factsFor(facts, pipeline, this.#leftOut);
    const ofTokens = sharedTokenObjectsPipeline.rows(of(sharedTokenObjectsPipeline), {
      tokens: this.#tokens,
      decoded: new Map(),
      grants: this.#amounts,
      balances: this.#tokenBalances,
    });
    const ofGrants = timelockObjectsPipeline.rows(of(timelockObjectsPipeline), {
      grants: this.#grants,
      decoded: new Map(),
      balances: this.#grantBalances,
    });
    const ofHolders = holderLifecyclePipeline.rows(of(holderLifecyclePipeline), this.#memberships);
    const ofRoles = roleChangesPipeline.rows(of(roleChangesPipeline), this.#roles);
    keep(this.#memberships, ofHolders.memberships, membershipKey);
    keep(this.#roles, ofRoles.ranges, roleKey);
    this.#supply = ofTokens.tokens.supplies.at(-1)?.supply ?? this.#supply;
    for (const fact of facts) this.#decimals = decimalsIn(fact) ?? this.#decimals;
    const movements = [
      ...ofTokens.changes.map((row) => ({ ...row, part: "TOKENS" as const })),
      ...ofGrants.changes.map((row) => ({ ...row, part: "GRANTS" as const })),
    ];
    return {
      // The sort is stable: tokens stay before grants.
      movements: movements.sort(byPlace),
      holderEvents: ofHolders.events,
      roleEvents: ofRoles.events,
      memberships: ofHolders.memberships,
      roles: ofRoles.ranges,
    };
  }

  /** @param decimals used if the facts have no metadata */
  table(mark: CheckpointMark, decimals: number | null): RegisterTable {
    const rows = this.#rows(mark.timestampMs);
    const tree = createSumTree();
    for (const row of rows) {
      tree.add({ coinType: this.#coinType, checkpoint: mark.sequence, row });
    }
    const { root, total: issued } = tree.top();
    const totals = { issued, holderCount: rows.length, root };
    const of = { coinType: this.#coinType, totalSupply: this.#supply, mark };
    return { head: headOf({ ...of, decimals: this.#decimals ?? decimals }, totals), rows };
  }

  #rows(timeMs: bigint): readonly CapRow[] {
    const wallets = this.#wallets(timeMs);
    const byHolder = Map.groupBy(wallets, ({ holderId, address }) => holderId ?? address);
    const rows = [...byHolder.values()].map((own): CapRow => {
      const sum = (of: "tokens" | "granted" | "unlocked") =>
        own.reduce((total, wallet) => total + wallet[of], 0n);
      const [tokens, granted, unlocked] = [sum("tokens"), sum("granted"), sum("unlocked")];
      return {
        holderId: own[0]?.holderId ?? null,
        wallets: own.map((wallet) => ({
          address: wallet.address,
          balance: wallet.tokens + wallet.granted,
          groupId: wallet.groupId,
          isFrozen: wallet.isFrozen,
        })),
        balance: tokens + granted,
        tokens,
        granted,
        unlocked,
        locked: granted - unlocked,
      };
    });
    return rows
      .filter(({ balance }) => balance > 0n)
      .sort((a, b) => comparePlaces(placeOf(a), placeOf(b)));
  }

  /** By address. */
  #wallets(timeMs: bigint): readonly Wallet[] {
    const wallets = new Map<string, Wallet>();
    const of = (address: string): Wallet => {
      const known = wallets.get(address) ?? {
        address,
        tokens: 0n,
        granted: 0n,
        unlocked: 0n,
        holderId: null,
        groupId: null,
        isFrozen: false,
      };
      wallets.set(address, known);
      return known;
    };
    for (const { owner, balance } of this.#tokens.values()) of(owner).tokens += balance;
    for (const grant of this.#grants.values()) {
      const wallet = of(grant.owner);
      wallet.granted += grant.leftBalance;
      wallet.unlocked += claimableAt(grant, timeMs);
    }
    for (const { address, aspect, value } of this.#memberships.values()) {
      if (aspect === "holder") of(address).holderId = value;
      else if (aspect === "group") of(address).groupId = value;
      else of(address).isFrozen = true;
    }
    return [...wallets.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
  }
}

type Wallet = {
  readonly address: string;
  tokens: bigint;
  granted: bigint;
  unlocked: bigint;
  holderId: bigint | null;
  groupId: bigint | null;
  isFrozen: boolean;
};

const byPlace = (a: Movement, b: Movement): number => {
  if (a.position !== b.position) return a.position < b.position ? -1 : 1;
  return a.owner === b.owner ? 0 : a.owner < b.owner ? -1 : 1;
};

/** Ended ranges precede those that replace them. */
const keep = <Range extends { readonly until: bigint }>(
  current: Map<string, Range>,
  ranges: readonly Range[],
  keyOf: (range: Range) => string,
): void => {
  for (const range of ranges) {
    if (range.until === STILL_OPEN) current.set(keyOf(range), range);
    else current.delete(keyOf(range));
  }
};

const decimalsIn = (fact: Fact): number | undefined => {
  if (fact.kind !== "object" || !isOfFramework(fact)) return undefined;
  const decode = fact.name === CURRENCY ? decodeCurrency : decodeCoinMetadata;
  return decode(fact.contents).decimals;
};
