/**
 * What each function of the contract takes mutably, and what it makes, ends and announces. So every
 * transaction of a register changes an object that existed before, and a log with every version of
 * every object has every transaction.
 *
 * It holds for the code that it was written for (`bytecode.ts`); checked against `contracts/sui`.
 */
import * as event from "./names.ts";
import { SHARED_TOKEN, TIMELOCK, TREASURY } from "./names.ts";

/** Objects of the contract that hold or count tokens. */
export const CONTRACT_OBJECTS = [TREASURY, SHARED_TOKEN, TIMELOCK] as const;
export type ContractObject = (typeof CONTRACT_OBJECTS)[number];

/** A public function that changes something. Functions that only read are not listed. */
export type ContractRule = {
  /** `module::function` */
  readonly name: string;
  /** Objects it takes as `&mut` or by value. Empty for `create`, which takes the coin's only `TreasuryCap`. */
  readonly takes: readonly ContractObject[];
  readonly makes: readonly ContractObject[];
  readonly ends: readonly ContractObject[];
  /** Events by `module::Name`. */
  readonly emits: readonly string[];
};

const rule = (
  name: string,
  takes: readonly ContractObject[],
  {
    makes = [],
    ends = [],
    emits = [],
  }: Partial<Pick<ContractRule, "makes" | "ends" | "emits">> = {},
): ContractRule => ({ name, takes, makes, ends, emits });

/** Name of the reference package's profile, in certificates. A changed rule is a new profile. */
export const PROFILE = "security-token-1";

export const CONTRACT_RULES: readonly ContractRule[] = [
  rule("controlled_treasury::create", [], { makes: [TREASURY], emits: [event.ROLE_CHANGE] }),
  rule("controlled_treasury::grant_role", [TREASURY], { emits: [event.ROLE_CHANGE] }),
  rule("controlled_treasury::revoke_role", [TREASURY], { emits: [event.ROLE_CHANGE] }),
  rule("controlled_treasury::mint", [TREASURY], { makes: [SHARED_TOKEN], emits: [event.MINT] }),
  rule("controlled_treasury::burn", [TREASURY, SHARED_TOKEN], {
    ends: [SHARED_TOKEN],
    emits: [event.BURN],
  }),
  rule("controlled_treasury::burn_amount", [TREASURY, SHARED_TOKEN], { emits: [event.BURN] }),
  rule("freeze_rule::set_address_frozen", [TREASURY], { emits: [event.ADDRESS_FROZEN] }),
  rule("group_holder_config::add_holder", [TREASURY], {
    emits: [event.HOLDER_ADDED, event.HOLDER_ADDRESS_ADDED],
  }),
  rule("group_holder_config::add_holder_address", [TREASURY], {
    emits: [event.HOLDER_ADDED, event.HOLDER_ADDRESS_ADDED],
  }),
  rule("group_holder_config::remove_holder_address", [TREASURY], {
    emits: [event.ADDRESS_LEFT_GROUP, event.HOLDER_ADDRESS_REMOVED],
  }),
  rule("group_holder_config::remove_holder", [TREASURY], {
    emits: [event.ADDRESS_LEFT_GROUP, event.HOLDER_ADDRESS_REMOVED, event.HOLDER_REMOVED],
  }),
  rule("group_holder_config::set_address_group", [TREASURY], {
    emits: [event.ADDRESS_JOINED_GROUP, event.ADDRESS_LEFT_GROUP],
  }),
  rule("group_holder_config::clear_address_group", [TREASURY], {
    emits: [event.ADDRESS_LEFT_GROUP],
  }),
  rule("shared_token::split", [SHARED_TOKEN], { makes: [SHARED_TOKEN] }),
  rule("shared_token::join", [SHARED_TOKEN], { ends: [SHARED_TOKEN] }),
  rule("timelock::fund", [SHARED_TOKEN], { makes: [TIMELOCK] }),
  rule("timelock::claim", [TIMELOCK], { makes: [SHARED_TOKEN] }),
  rule("timelock::claim_into", [TIMELOCK, SHARED_TOKEN]),
  rule("timelock::cancel", [TIMELOCK], { makes: [SHARED_TOKEN] }),
  rule("timelock::destroy_empty", [TIMELOCK], { ends: [TIMELOCK] }),
  rule("transfers::transfer", [SHARED_TOKEN], { emits: [event.TRANSFER] }),
  rule("transfers::transfer_amount", [SHARED_TOKEN], {
    makes: [SHARED_TOKEN],
    emits: [event.TRANSFER],
  }),
  rule("transfers::force_transfer", [SHARED_TOKEN], { emits: [event.FORCE_TRANSFER] }),
];

/**
 * What a transaction does to objects of a coin and announces about it, as text: `took`, `made`,
 * `ended` with an object's name, `emitted` with an event's.
 */
export type Deed = `${"took" | "made" | "ended" | "emitted"} ${string}`;

/**
 * For each deed of the rules, one of the alternatives of deeds that must come with it in the same
 * transaction. `create` takes no object of the coin, but makes its treasury. No function does a
 * deed that is not listed.
 */
export const needed: ReadonlyMap<Deed, readonly (readonly Deed[])[]> = (() => {
  const found = new Map<Deed, (readonly Deed[])[]>(
    CONTRACT_OBJECTS.map((name) => [`took ${name}`, [[]]]),
  );
  for (const { takes, makes, ends, emits } of CONTRACT_RULES) {
    const base: readonly Deed[] =
      takes.length > 0
        ? takes.map((name): Deed => `took ${name}`)
        : makes.map((name): Deed => `made ${name}`);
    const deeds: readonly Deed[] = [
      ...makes.map((name): Deed => `made ${name}`),
      ...ends.map((name): Deed => `ended ${name}`),
      ...emits.map((name): Deed => `emitted ${name}`),
    ];
    for (const deed of deeds) found.set(deed, [...(found.get(deed) ?? []), base]);
  }
  return found;
})();

/** Offset of the amount (u64, little-endian) in an object's contents: after its ids, addresses and schedule. */
export const AMOUNT_AT: Readonly<Record<ContractObject, number>> = {
  [TREASURY]: 32,
  [SHARED_TOKEN]: 32 + 32,
  [TIMELOCK]: 3 * 32 + 8 * 8,
};
