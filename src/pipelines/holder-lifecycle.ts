/**
 * What happens to the holder register: holders, their addresses, groups and freezes.
 *
 * Facts in:  the seven events of the register
 * Rows out:  holder_events, keyed by (coin type, position)
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
import {
  appendHolderEvents,
  appendHolderEventsAtOnce,
  clearHolderEvents,
  type HolderEventRow,
} from "../projections/holder-events.ts";
import { holderLifecycleWatermark } from "../projections/watermarks.ts";
import { type EventReader, eventRows } from "./event-rows.ts";
import type { Pipeline } from "./pipeline.ts";

const NAME = "holder_lifecycle";

/** What an event says beyond where and when it was emitted. */
type Happening = Pick<
  HolderEventRow,
  "eventType" | "holderId" | "address" | "groupId" | "isFrozen"
>;

/** Groups and freezes concern an address, and say nothing about whose it is. */
const NOTHING_ELSE = { holderId: null, address: null, groupId: null, isFrozen: null } as const;

const READERS: Readonly<Record<string, EventReader<Happening>>> = {
  // Its addresses have had events of their own, right before.
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

/** Keeps what happens to the register of each coin. */
export const holderLifecyclePipeline: Pipeline<HolderEventRow> = {
  name: NAME,
  facts: Object.keys(READERS),
  watermark: holderLifecycleWatermark,
  rows: (facts) => eventRows(NAME, facts, READERS),
  write: appendHolderEvents,
  writeAtOnce: appendHolderEventsAtOnce,
  reset: clearHolderEvents,
};
