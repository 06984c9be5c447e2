/** Events of the security-token contracts. Logs of all others are stored raw, too. */
import {
  type AbiEvent,
  decodeAbiParameters,
  decodeEventLog,
  type Hex,
  parseAbi,
  toEventSelector,
} from "viem";
import type { EvmToken } from "../../settings/assets.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { type Address, type EvmFact, lowerCase } from "./fact.ts";
import { generations } from "./generations.ts";

/** Events that become transfer records. */
const recordEvents = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event ScheduleCreated(address indexed from, uint256 indexed scheduleId)",
  "event ScheduleFunded(address indexed from, address indexed to, uint256 indexed scheduleId, uint256 amount, uint256 commencementTimestamp, uint256 timelockId, address[] cancelableBy)",
  "event AddressTransferGroup(address indexed admin, address indexed addr, uint256 indexed value)",
  "event RegionsSet(address indexed authority, address indexed owner, uint256[] regions)",
  "event RegionAdded(address indexed authority, address indexed owner, uint256 region)",
  "event RegionRemoved(address indexed authority, address indexed owner, uint256 region)",
  "event IdentityRemoved(address indexed authority, address indexed owner)",
]);

/** The first vesting contracts did not log `cancelableBy`. */
const earlyScheduleFunded = parseAbi([
  "event ScheduleFunded(address indexed from, address indexed to, uint256 indexed scheduleId, uint256 amount, uint256 commencementTimestamp, uint256 timelockId)",
]);

/** Each subject has one authoritative contract per token. */
type Subject = "transfers" | "schedules" | "transfer groups" | "regions";

const subjects: Readonly<Record<(typeof recordEvents)[number]["name"], Subject>> = {
  Transfer: "transfers",
  ScheduleCreated: "schedules",
  ScheduleFunded: "schedules",
  AddressTransferGroup: "transfer groups",
  RegionsSet: "regions",
  RegionAdded: "regions",
  RegionRemoved: "regions",
  IdentityRemoved: "regions",
};

const subjectByTopic: ReadonlyMap<Hex, Subject> = new Map(
  [...recordEvents, ...earlyScheduleFunded].map((event) => [
    toEventSelector(event),
    subjects[event.name],
  ]),
);

/** Events that make no record, but tell generations apart. */
const otherEvents = parseAbi([
  "event AddressMaxBalance(address indexed admin, address indexed addr, uint256 indexed value)",
  "event ForceTransferBetween(address indexed admin, address indexed from, address indexed to, uint256 amount)",
  "event HolderCreated(uint256 indexed holderId, address indexed addr)",
  "event TimelockCanceled(address indexed canceledBy, address indexed target, uint256 indexed timelockIndex, address reclaimTokenTo, uint256 canceledAmount, uint256 paidAmount)",
  "event TokenTypeMinted(address indexed to, uint256 amount, uint256 indexed tokenType, uint256 timestamp)",
  "event TokenTypeTransferred(address indexed from, address indexed to, uint256 amount, uint256 indexed tokenType)",
  "event TokenTypeBurned(address indexed from, uint256 amount, uint256 indexed tokenType)",
]);

export const contractEvents: readonly AbiEvent[] = [
  ...recordEvents,
  ...earlyScheduleFunded,
  ...otherEvents,
];

const nameByTopic: ReadonlyMap<Hex, string> = new Map(
  contractEvents.map((event) => [toEventSelector(event), event.name]),
);

/** Undefined for an event that is not used here. */
export const eventName = (topic: Hex): string | undefined => nameByTopic.get(topic);

/** Topic of the ERC-20 Transfer, by far the most frequent log. */
export const transferTopic: Hex =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** A decoded log. Addresses in lower case. */
export type TokenEvent =
  | {
      readonly kind: "transfer";
      readonly from: Address;
      readonly to: Address;
      readonly amount: bigint;
    }
  | { readonly kind: "schedule created"; readonly scheduleId: bigint }
  | {
      readonly kind: "schedule funded";
      readonly to: Address;
      readonly scheduleId: bigint;
      readonly amount: bigint;
      /** Unix seconds. */
      readonly commencementTimestamp: bigint;
      readonly timelockId: bigint;
    }
  | { readonly kind: "group set"; readonly wallet: Address; readonly group: bigint }
  | { readonly kind: "regions set"; readonly wallet: Address; readonly regions: readonly bigint[] }
  | { readonly kind: "region added"; readonly wallet: Address; readonly region: bigint }
  | { readonly kind: "region removed"; readonly wallet: Address; readonly region: bigint }
  | { readonly kind: "identity removed"; readonly wallet: Address };

/** A log, or its transaction, cannot be applied: its token is held from its block on (src/transfers/holds.ts). */
export class UnappliableLogError extends Error {
  override readonly name: string = "UnappliableLogError";
  readonly remedy: Remedy = "stop";
  readonly fact: EvmFact;
  /** Its name, or the topic of an unknown one. */
  readonly event: string;

  constructor(fact: EvmFact, why: string, cause: unknown) {
    super(
      `log ${fact.logIndex} of block ${fact.block.number} (transaction ${fact.transaction.hash}) of contract ${fact.address} ${why}`,
      { cause },
    );
    this.fact = fact;
    this.event = eventName(fact.topics[0]) ?? fact.topics[0];
  }
}

/** A log has a known event's first topic but another shape. Correct the token's type or address. */
export class UndecodableLogError extends UnappliableLogError {
  override readonly name = "UndecodableLogError";

  constructor(fact: EvmFact, cause: unknown) {
    const what = `is not a well-formed ${eventName(fact.topics[0])}`;
    super(
      fact,
      `${what}; check the type and the address configured for token ${fact.token}`,
      cause,
    );
  }
}

/** Whether a log has the topic of the token's own Transfers, however malformed: it counts in the ids of records. */
export const isTransferLog = ({ token, address, topics }: EvmFact): boolean =>
  address === token && topics[0] === transferTopic;

export const contractsOf = (token: EvmToken): readonly Address[] =>
  [token.address, token.lockup, token.identityRegistry].filter((address) => address !== null);

/**
 * Decodes a log of the token's authoritative contract; undefined for any other, whose events of the
 * same name may mean something else (a registry whose identities are tokens), and for one that makes no
 * record.
 * @throws UndecodableLogError (stop)
 */
export const ownEvent = (token: EvmToken, fact: EvmFact): TokenEvent | undefined => {
  const subject = subjectByTopic.get(fact.topics[0]);
  if (subject === undefined || fact.address !== speakerOf(token, subject)) return undefined;
  return decodeEvent(fact);
};

/** The authoritative contract; null where the generation has none. */
const speakerOf = (token: EvmToken, subject: Subject): Address | null => {
  switch (subject) {
    case "transfers":
      return token.address;
    case "schedules":
      return token.lockup ?? token.address;
    case "transfer groups":
      return generations[token.type].groups === subject ? token.address : null;
    case "regions":
      return generations[token.type].groups === subject ? token.identityRegistry : null;
  }
};

const decodeEvent = (fact: EvmFact): TokenEvent | undefined => {
  const decode = decoders.get(fact.topics[0]);
  if (decode === undefined) return undefined;
  try {
    return decode(fact);
  } catch (cause) {
    throw new UndecodableLogError(fact, cause);
  }
};

/** The last 20 bytes of a topic; the first twelve must be zero. */
const addressIn = (topic: Hex | undefined): Address => {
  if (topic === undefined || !topic.startsWith("0x000000000000000000000000")) {
    throw new Error("an indexed address is missing or too long");
  }
  return `0x${topic.slice(26)}`;
};

const transfer = ({ topics, data }: EvmFact): TokenEvent => {
  if (topics.length !== 3 || data.length !== 66) throw new Error("not the ERC-20 form");
  return {
    kind: "transfer",
    from: addressIn(topics[1]),
    to: addressIn(topics[2]),
    amount: BigInt(data),
  };
};

const scheduleCreated = ({ topics, data }: EvmFact): TokenEvent => {
  // The first vesting contracts did not index the id.
  const id = topics[2] ?? decodeAbiParameters([{ type: "uint256" }], data)[0];
  return { kind: "schedule created", scheduleId: BigInt(id) };
};

const others = (fact: EvmFact): TokenEvent => {
  const event = decodeEventLog({
    abi: recordEvents,
    topics: [...fact.topics],
    data: fact.data,
    strict: true,
  });
  switch (event.eventName) {
    case "ScheduleFunded":
      return funding(event.args);
    case "AddressTransferGroup":
      return { kind: "group set", wallet: lowerCase(event.args.addr), group: event.args.value };
    case "RegionsSet":
      return {
        kind: "regions set",
        wallet: lowerCase(event.args.owner),
        regions: event.args.regions,
      };
    case "RegionAdded":
      return {
        kind: "region added",
        wallet: lowerCase(event.args.owner),
        region: event.args.region,
      };
    case "RegionRemoved":
      return {
        kind: "region removed",
        wallet: lowerCase(event.args.owner),
        region: event.args.region,
      };
    case "IdentityRemoved":
      return { kind: "identity removed", wallet: lowerCase(event.args.owner) };
    default:
      throw new Error(`no decoder for ${event.eventName}`);
  }
};

const earlyFunding = (fact: EvmFact): TokenEvent =>
  funding(
    decodeEventLog({
      abi: earlyScheduleFunded,
      topics: [...fact.topics],
      data: fact.data,
      strict: true,
    }).args,
  );

const funding = (args: {
  readonly to: Hex;
  readonly scheduleId: bigint;
  readonly amount: bigint;
  readonly commencementTimestamp: bigint;
  readonly timelockId: bigint;
}): TokenEvent => ({
  kind: "schedule funded",
  to: lowerCase(args.to),
  scheduleId: args.scheduleId,
  amount: args.amount,
  commencementTimestamp: args.commencementTimestamp,
  timelockId: args.timelockId,
});

const decoders: ReadonlyMap<Hex, (fact: EvmFact) => TokenEvent> = new Map([
  ...recordEvents.map((event) => [toEventSelector(event), others] as const),
  ...earlyScheduleFunded.map((event) => [toEventSelector(event), earlyFunding] as const),
  [transferTopic, transfer] as const,
  [toEventSelector("ScheduleCreated(address,uint256)"), scheduleCreated] as const,
]);
