/** Derives one record per ERC-20 Transfer log, with its method, groups and vesting. Pure. */
import type { Hex } from "viem";
import type { EvmToken } from "../../settings/assets.ts";
import {
  eventName,
  ownEvent,
  type TokenEvent,
  UnappliableLogError,
  UndecodableLogError,
} from "../contract/events.ts";
import { type Address, type EvmFact, type EvmTransaction, zeroAddress } from "../contract/fact.ts";
import { movingBySelector, selectorOf, versionsOf } from "../contract/functions.ts";
import { type Generation, generations } from "../contract/generations.ts";
import { methodNames } from "./method-name.ts";
import { joinFundings } from "./vesting-join.ts";

export type TransferRecord = {
  readonly token: Address;
  readonly block: bigint;
  readonly blockHash: Hex;
  /** Unix seconds. */
  readonly blockTimestamp: bigint;
  readonly txHash: Hex;
  readonly txIndex: number;
  readonly logIndex: number;
  readonly methodName: string;
  /** In the token's smallest unit. */
  readonly amount: bigint;
  readonly from: Address;
  readonly to: Address;
  /** Null where the wallet has no known group. */
  readonly fromGroup: bigint | null;
  readonly toGroup: bigint | null;
  /** The grant these tokens funded; null for any other movement. */
  readonly vesting: Vesting | null;
};

export type Vesting = {
  readonly scheduleId: bigint;
  /** Unix seconds. */
  readonly commencementTimestamp: bigint;
  /** Index of the grant among the recipient's. */
  readonly timelockId: bigint;
};

/** A log contradicts the configured token type. Records stay correct; correct the type. */
export type Doubt = {
  readonly token: Address;
  readonly block: bigint;
  readonly txHash: Hex;
  readonly logIndex: number;
  readonly message: string;
};

export type Reading = {
  /** In chain order. */
  readonly transfers: readonly TransferRecord[];
  /** In chain order. */
  readonly groupChanges: readonly GroupChange[];
  readonly doubts: readonly Doubt[];
};

/**
 * Reads one token's facts of consecutive whole transactions.
 *
 * @param facts in chain order; the transactions are complete
 * @param groups groups before the first fact for the wallets of `walletsOf`; updated in place
 * @throws UnappliableLogError (stop)
 */
export const readTransfers = (
  token: EvmToken,
  facts: readonly EvmFact[],
  groups: WalletGroups,
): Reading => {
  const reading = { transfers: [], groupChanges: [], doubts: [] };
  let start = 0;
  for (let end = 1; end <= facts.length; end += 1) {
    if (facts[end]?.transaction.hash === facts[start]?.transaction.hash) continue;
    try {
      readTransaction(token, facts.slice(start, end), groups, reading);
    } catch (error) {
      const fact = facts[start];
      if (error instanceof UnappliableLogError || fact === undefined) throw error;
      // A defect that the transactions of one token meet concerns that token alone.
      throw new UnappliableLogError(fact, `cannot be applied: ${error}`, error);
    }
    start = end;
  }
  return reading;
};

/** Wallets whose groups `readTransfers` needs for these facts, up to one that does not decode. */
export const walletsOf = (token: EvmToken, facts: readonly EvmFact[]): ReadonlySet<Address> => {
  const wallets = new Set<Address>();
  for (const fact of facts) {
    const event = eventIn(token, fact);
    if (event === "undecodable") break;
    if (event?.kind === "transfer") wallets.add(event.from).add(event.to);
    else if (event !== undefined && "wallet" in event) wallets.add(event.wallet);
  }
  return wallets;
};

const eventIn = (token: EvmToken, fact: EvmFact): TokenEvent | undefined | "undecodable" => {
  try {
    return ownEvent(token, fact);
  } catch (error) {
    if (error instanceof UndecodableLogError) return "undecodable";
    throw error;
  }
};

type Found<K extends TokenEvent["kind"]> = Extract<TokenEvent, { kind: K }> & {
  readonly logIndex: number;
};

type Open = { transfers: TransferRecord[]; groupChanges: GroupChange[]; doubts: Doubt[] };

const readTransaction = (
  token: EvmToken,
  facts: readonly EvmFact[],
  groups: WalletGroups,
  out: Open,
) => {
  const generation = generations[token.type];
  const contracts = new Set(
    token.lockup === null ? [token.address] : [token.address, token.lockup],
  );
  const legs: (Found<"transfer"> & Pick<TransferRecord, "fromGroup" | "toGroup">)[] = [];
  const fundings: Found<"schedule funded">[] = [];
  const [first] = facts;
  if (first === undefined) return;
  const doubt = (logIndex: number, message: string) => {
    const { block, transaction } = first;
    const where = { token: token.address, block: block.number, txHash: transaction.hash };
    out.doubts.push({ ...where, logIndex, message });
  };

  for (const fact of facts) {
    const { logIndex, block } = fact;
    const foreign = foreignTo(token, fact);
    if (foreign !== undefined) doubt(logIndex, foreign);
    const event = ownEvent(token, fact);
    if (event === undefined) continue;
    if (event.kind === "transfer") {
      const fromGroup = groupShown(event.from, groups, generation.groups);
      const toGroup = groupShown(event.to, groups, generation.groups);
      legs.push({ ...event, logIndex, fromGroup, toGroup });
    } else if (event.kind === "schedule funded") {
      fundings.push({ ...event, logIndex });
    } else {
      const change = groupsAfter(event, groups);
      if (change === undefined) continue;
      groups.set(change.wallet, change.groups);
      out.groupChanges.push({ ...change, block: block.number, logIndex });
    }
  }
  const [firstMove] = [...legs, ...fundings];
  if (firstMove === undefined) return;
  const strange = foreignCall(token, first.transaction, contracts);
  if (strange !== undefined) doubt(firstMove.logIndex, strange);

  const vesting = new Map<number, Vesting>();
  const holder = token.lockup ?? token.address;
  for (const [funding, carriers] of joinFundings(legs, fundings, generation.vestingLeg, holder)) {
    const { logIndex, scheduleId, commencementTimestamp, timelockId, amount, to } = funding;
    for (const leg of carriers) vesting.set(leg, { scheduleId, commencementTimestamp, timelockId });
    if (carriers.length > 0) continue;
    doubt(
      logIndex,
      `no Transfer carries the funding of ${amount} to ${to}, unlike in a token of type ${token.type}`,
    );
  }

  const methodName = methodNames(first.transaction, contracts);
  for (const { logIndex, from, to, amount, fromGroup, toGroup } of legs) {
    out.transfers.push({
      token: token.address,
      block: first.block.number,
      blockHash: first.block.hash,
      blockTimestamp: first.block.timestamp,
      txHash: first.transaction.hash,
      txIndex: first.transaction.index,
      logIndex,
      methodName: methodName({ from, to, amount }),
      amount,
      from,
      to,
      fromGroup,
      toGroup,
      vesting: vesting.get(logIndex) ?? null,
    });
  }
};

/** Versions that log an event, for events that some versions lack. */
const versionsLogging: Readonly<Record<string, readonly number[]>> = {
  AddressTransferGroup: [2, 3, 4],
  AddressMaxBalance: [2],
  HolderCreated: [3, 4, 5],
  ForceTransferBetween: [3, 4, 5],
  TokenTypeMinted: [4, 5],
  TokenTypeTransferred: [4, 5],
  TokenTypeBurned: [4, 5],
};

const foreignTo = (token: EvmToken, fact: EvmFact): string | undefined => {
  if (fact.address !== token.address) return undefined;
  const name = eventName(fact.topics[0]);
  const versions = name === undefined ? undefined : versionsLogging[name];
  const { version } = generations[token.type];
  if (versions === undefined || versions.includes(version)) return undefined;
  return `${name} is logged by version ${versions.join(", ")}, the token is configured as ${token.type}`;
};

/** A direct call to the token of a function that its generation lacks. */
const foreignCall = (
  token: EvmToken,
  { to, input }: EvmTransaction,
  contracts: ReadonlySet<Address>,
): string | undefined => {
  const selector = to !== null && contracts.has(to) ? selectorOf(input) : undefined;
  const called = selector === undefined ? undefined : movingBySelector.get(selector);
  if (selector === undefined || called === undefined) return undefined;
  const versions = versionsOf(selector);
  if (versions.includes(generations[token.type].version)) return undefined;
  return `${called.name} (${selector}) is a function of version ${versions.join(", ")}, the token is configured as ${token.type}`;
};

/**
 * Regulatory groups of wallets, folded from logs: the one transfer group (versions 2 to 4), or the
 * regions in the order of the identity registry (version 5 with a registry).
 */
type WalletGroups = Map<Address, readonly bigint[]>;

type GroupChange = {
  readonly wallet: Address;
  readonly groups: readonly bigint[];
  readonly block: bigint;
  readonly logIndex: number;
};

/** Undefined for events that change no groups. */
const groupsAfter = (
  event: TokenEvent,
  before: WalletGroups,
): { readonly wallet: Address; readonly groups: readonly bigint[] } | undefined => {
  switch (event.kind) {
    case "group set":
      return { wallet: event.wallet, groups: [event.group] };
    case "regions set":
      return { wallet: event.wallet, groups: event.regions };
    case "region added": {
      const others = without(before.get(event.wallet), event.region);
      return { wallet: event.wallet, groups: [...others, event.region] };
    }
    case "region removed":
      return { wallet: event.wallet, groups: without(before.get(event.wallet), event.region) };
    case "identity removed":
      return { wallet: event.wallet, groups: [] };
    default:
      return undefined;
  }
};

const without = (regions: readonly bigint[] | undefined, region: bigint): readonly bigint[] =>
  (regions ?? []).filter((each) => each !== region);

/** The group shown for a wallet: null for the zero address and where there are no groups. */
const groupShown = (
  wallet: Address,
  groups: WalletGroups,
  kind: Generation["groups"],
): bigint | null => {
  if (wallet === zeroAddress || kind === "none") return null;
  const [first] = groups.get(wallet) ?? [];
  if (first !== undefined) return first;
  return kind === "transfer groups" ? 0n : null;
};
