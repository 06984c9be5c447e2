/**
 * Events of the holder register (holders, their addresses, groups, freezes), and wallets' memberships over time.
 *
 * Facts in:  the seven events of the register
 * Rows out:  holder_events, keyed by (coin type, position); membership_ranges, keyed by (coin type,
 *            address, aspect, checkpoint)
 */
import {
  decodeAddressFrozen,
  decodeAddressJoinedGroup,
  decodeAddressLeftGroup,
  decodeHolderAdded,
  decodeHolderAddressAdded,
  decodeHolderAddressRemoved,
  decodeHolderRemoved,
} from "../ledger/contract/events.ts";
import {
  ADDRESS_FROZEN,
  ADDRESS_JOINED_GROUP,
  ADDRESS_LEFT_GROUP,
  HOLDER_ADDED,
  HOLDER_ADDRESS_ADDED,
  HOLDER_ADDRESS_REMOVED,
  HOLDER_REMOVED,
} from "../ledger/contract/names.ts";
import { LINES, placedLines, stateLines } from "../projections/digest-lines.ts";
import {
  type HolderEventRow,
  type HolderEventType,
  holderEventsTable,
  holderProgress,
  keepRegister,
  type RegisterRows,
} from "../projections/holder-events.ts";
import {
  type Aspect,
  currentMemberships,
  type MembershipKey,
  type MembershipRange,
  membershipRangesTable,
} from "../projections/memberships.ts";
import { placeOf } from "../projections/position.ts";
import { type EventReader, eventRows } from "./event-rows.ts";
import type { Pipeline } from "./pipeline.ts";
import { rangesOf, type StateChange } from "./state-ranges.ts";
import { events, ranges } from "./stored-tables.ts";

const { name } = holderProgress;

/** Columns of an event's row besides its place. */
type Happening = Pick<
  HolderEventRow,
  "eventType" | "holderId" | "address" | "groupId" | "isFrozen"
>;

const NOTHING_ELSE = { holderId: null, address: null, groupId: null, isFrozen: null } as const;

const READERS: Readonly<Record<string, EventReader<Happening>>> = {
  // Its addresses had events of their own right before.
  [HOLDER_ADDED]: (contents) => {
    const { holderId } = decodeHolderAdded(contents);
    return { ...NOTHING_ELSE, eventType: "holder_added", holderId };
  },
  [HOLDER_REMOVED]: (contents) => {
    const { holderId } = decodeHolderRemoved(contents);
    return { ...NOTHING_ELSE, eventType: "holder_removed", holderId };
  },
  [HOLDER_ADDRESS_ADDED]: (contents) => {
    const { holderId, addr } = decodeHolderAddressAdded(contents);
    return { ...NOTHING_ELSE, eventType: "holder_address_added", holderId, address: addr };
  },
  [HOLDER_ADDRESS_REMOVED]: (contents) => {
    const { holderId, addr } = decodeHolderAddressRemoved(contents);
    return { ...NOTHING_ELSE, eventType: "holder_address_removed", holderId, address: addr };
  },
  [ADDRESS_JOINED_GROUP]: (contents) => {
    const { addr, groupId } = decodeAddressJoinedGroup(contents);
    return { ...NOTHING_ELSE, eventType: "address_joined_group", address: addr, groupId };
  },
  [ADDRESS_LEFT_GROUP]: (contents) => {
    const { addr, groupId } = decodeAddressLeftGroup(contents);
    return { ...NOTHING_ELSE, eventType: "address_left_group", address: addr, groupId };
  },
  [ADDRESS_FROZEN]: (contents) => {
    const { addr, isFrozen } = decodeAddressFrozen(contents);
    return { ...NOTHING_ELSE, eventType: "address_frozen", address: addr, isFrozen };
  },
};

type Effect = { readonly aspect: Aspect; readonly value: bigint | null };

/** What an event makes of its wallet; null for nothing. The newest event decides. */
const EFFECTS: Readonly<Record<HolderEventType, (event: HolderEventRow) => Effect | null>> = {
  holder_added: () => null,
  holder_removed: () => null,
  holder_address_added: ({ holderId }) => ({ aspect: "holder", value: holderId }),
  holder_address_removed: () => ({ aspect: "holder", value: null }),
  address_joined_group: ({ groupId }) => ({ aspect: "group", value: groupId }),
  address_left_group: () => ({ aspect: "group", value: null }),
  address_frozen: ({ isFrozen }) => ({ aspect: "freeze", value: isFrozen ? 1n : null }),
};

type Membership = MembershipKey & Pick<MembershipRange, "value">;
type Change = MembershipKey & StateChange<Membership>;

/** Unique: names of Move types contain no space. */
export const membershipKey = ({ coinType, address, aspect }: MembershipKey) =>
  `${coinType} ${address} ${aspect}`;

const changesOf = (events: readonly HolderEventRow[]): readonly Change[] =>
  events.flatMap((event) => {
    const { coinType, address, position } = event;
    const effect = EFFECTS[event.eventType](event);
    if (effect === null || address === null) return [];
    const key: MembershipKey = { coinType, address, aspect: effect.aspect };
    const state = effect.value === null ? null : { ...key, value: effect.value };
    return [{ ...key, key: membershipKey(key), checkpoint: placeOf(position).checkpoint, state }];
  });

/** Memberships before a batch of the wallets that it names, by `membershipKey`. */
type Before = ReadonlyMap<string, MembershipRange>;

const isSame = (one: Membership, other: Membership) => one.value === other.value;

export const holderLifecyclePipeline: Pipeline<RegisterRows, Before> = {
  ...holderProgress,
  queries: ["holderEvents"],
  facts: Object.keys(READERS),
  tables: [
    events(LINES.holderEvent, holderEventsTable),
    ranges(LINES.membership, membershipRangesTable, { since: 2 }),
  ],
  readBefore: async (sql, facts) => {
    const changes = changesOf(eventRows(name, facts, READERS));
    const named = new Map(changes.map((change) => [change.key, change]));
    const open = await currentMemberships(sql, [...named.values()]);
    return new Map(open.map((range) => [membershipKey(range), range]));
  },
  rows: (facts, before) => {
    const happened = eventRows(name, facts, READERS);
    return { events: happened, memberships: rangesOf(changesOf(happened), before, isSame) };
  },
  write: keepRegister,
  lines: (rows, { first, last }) => [
    ...placedLines(LINES.holderEvent, rows.events),
    ...stateLines(LINES.membership, first, last, rows.memberships),
  ],
};
