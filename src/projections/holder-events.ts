/** Append-only log of holder register events. Current holders and groups are in memberships.ts. */
import { getTableName, sql } from "drizzle-orm";
import { boolean, index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Db } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import {
  type AcrossRange,
  acrossStatements,
  type PositionRange,
  readAcross,
  readWithin,
} from "./across-coins.ts";
import type { BatchWrite } from "./batch-write.ts";
import { appendEvents, type EventRange, rangeStatements, readRange } from "./chain-time.ts";
import { type MembershipRange, membershipRanges } from "./memberships.ts";
import { placeOf } from "./position.ts";
import { progressTables } from "./progress-tables.ts";
import { keepRanges } from "./ranges.ts";

export type HolderEventType =
  | "holder_added"
  | "holder_removed"
  | "holder_address_added"
  | "holder_address_removed"
  | "address_joined_group"
  | "address_left_group"
  | "address_frozen";

export const holderEventsTable = pgTable(
  "holder_events",
  {
    coinType: identifier("coin_type").notNull(),
    /** Contains the checkpoint and event number: see `positionOf`. */
    position: int8("position").notNull(),
    eventType: identifier("event_type").$type<HolderEventType>().notNull(),
    txDigest: identifier("tx_digest").notNull(),
    /** Null for group and freeze events; 0 is a valid holder. */
    holderId: u64("holder_id"),
    /** Null for `holder_added` and `holder_removed`; their addresses have separate events. */
    address: identifier("address"),
    /** Null except for `address_joined_group` and `address_left_group`. */
    groupId: u64("group_id"),
    /** Null except for `address_frozen`. */
    isFrozen: boolean("is_frozen"),
    /** Checkpoint time, Unix milliseconds. */
    timestampMs: int8("timestamp_ms").notNull(),
    /** Latest time of the coin's log so far: see chain-time.ts. */
    reachedMs: int8("reached_ms").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.position] }),
    // All coin types, in chain order.
    index("holder_events_by_position").on(t.position),
    index("holder_events_of_transaction").on(t.txDigest),
    index("holder_events_in_time").on(t.coinType, t.reachedMs, t.position),
    // A wallet's current holder.
    index("holder_events_of_member")
      .on(t.coinType, t.address, t.position)
      .where(sql`holder_id is not null and address is not null`),
    // Whether a holder ever existed.
    index("holder_events_of_holder").on(t.coinType, t.holderId).where(sql`holder_id is not null`),
    // A wallet's newest group.
    index("holder_events_of_group")
      .on(t.coinType, t.address, t.position)
      .where(sql`group_id is not null`),
  ],
);

export type HolderEventRow = Omit<typeof holderEventsTable.$inferSelect, "reachedMs">;

export type RegisterRows = {
  /** In chain order. */
  readonly events: readonly HolderEventRow[];
  /** Ranges begun or ended; at most two per event. */
  readonly memberships: readonly MembershipRange[];
};

/** Appends events and updates memberships. An existing event is an error. */
export const keepRegister = ({ events, memberships }: RegisterRows): readonly BatchWrite[] => [
  appendEvents(holderEventsTable, events),
  keepRanges(membershipRanges, memberships),
];

export const holderProgress = progressTables("holder_lifecycle");
export const { watermark: holderLifecycleWatermark, digests: holderLifecycleDigests } =
  holderProgress;

export type HolderEvent = HolderEventRow & {
  /** Number of the event inside its transaction, from 0. */
  readonly eventSeq: number;
};

const COLUMNS = `
  position, event_type as "eventType", tx_digest as "txDigest", holder_id as "holderId", address,
  group_id as "groupId", is_frozen as "isFrozen", timestamp_ms as "timestampMs"`;

const EVENTS = rangeStatements(holderEventsTable, COLUMNS);

export const HOLDER_EVENTS_ACROSS = acrossStatements(holderEventsTable, COLUMNS);

type EventRow = Omit<HolderEventRow, "holderId" | "groupId"> & {
  readonly holderId: string | null;
  readonly groupId: string | null;
};

/** A coin's events, oldest first; empty for an unknown coin type. */
export const holderEvents = async (
  on: Reads,
  query: EventRange & { readonly limit: number },
): Promise<HolderEvent[]> => {
  const rows = await readRange<Omit<EventRow, "coinType">>(on, EVENTS, query);
  return rows.map((row) => eventOf(row, query.coinType));
};

export const holderEventsAcross = async (on: Reads, range: AcrossRange): Promise<HolderEvent[]> =>
  (await readAcross<EventRow>(on, HOLDER_EVENTS_ACROSS, range)).map((row) =>
    eventOf(row, row.coinType),
  );

export const holderEventsWithin = async (on: Reads, range: PositionRange): Promise<HolderEvent[]> =>
  (await readWithin<EventRow>(on, HOLDER_EVENTS_ACROSS, range)).map((row) =>
    eventOf(row, row.coinType),
  );

const eventOf = (row: Omit<EventRow, "coinType">, coinType: string): HolderEvent => ({
  ...row,
  coinType,
  holderId: row.holderId === null ? null : BigInt(row.holderId),
  groupId: row.groupId === null ? null : BigInt(row.groupId),
  eventSeq: placeOf(row.position).index,
});

/** A wallet's group after its newest group event; null if none. */
export const newestGroup = async (
  on: Reads,
  coinType: string,
  address: string,
): Promise<bigint | null> => {
  const [row] = await read<Newest>(on, NEWEST_OF("group_id"), [coinType, address]);
  return row?.type === "address_joined_group" ? BigInt(row.id) : null;
};

type Newest = { readonly type: HolderEventType; readonly id: string };

const NEWEST_OF = (id: "group_id" | "holder_id") => `
  select event_type as type, ${id} as id from holder_events
  where coin_type = $1 and address = $2 and ${id} is not null
  order by position desc limit 1`;

/** A wallet's holder after its newest holder event; null if none. */
export const holderOf = async (
  on: Reads,
  coinType: string,
  address: string,
): Promise<bigint | null> => {
  const [row] = await read<Newest>(on, NEWEST_OF("holder_id"), [coinType, address]);
  return row?.type === "holder_address_added" ? BigInt(row.id) : null;
};

export const joinedGroupBy = async (
  on: Reads,
  coinType: string,
  address: string,
  groupId: number,
  txDigest: string,
): Promise<boolean> => {
  const found = await read(on, JOINED_BY, [coinType, address, groupId, txDigest]);
  return found.length === 1;
};

const JOINED_BY = `
  select 1 as one from holder_events
  where coin_type = $1 and address = $2 and group_id = $3::numeric
    and event_type = 'address_joined_group' and tx_digest = $4
  limit 1`;

/** A transaction's group events for a wallet, in chain order. */
export const eventsOfWallet = async (
  { sql: statements }: Pick<Db, "sql">,
  of: { readonly coinType: string; readonly address: string; readonly txDigest: string },
): Promise<readonly Pick<HolderEvent, "position" | "eventType" | "address" | "groupId">[]> => {
  const { coinType, address, txDigest } = of;
  const rows = await statements<
    {
      position: bigint;
      event_type: HolderEventType;
      address: string | null;
      group_id: string | null;
    }[]
  >`
    select position, event_type, address, group_id from holder_events
    where coin_type = ${coinType} and address = ${address} and group_id is not null
      and tx_digest = ${txDigest}
    order by position limit 100`;
  return rows.map((row) => ({
    position: row.position,
    eventType: row.event_type,
    address: row.address,
    groupId: row.group_id === null ? null : BigInt(row.group_id),
  }));
};

/** Whether a coin's register ever had this holder. */
export const wasHolder = async (
  on: Reads,
  coinType: string,
  holderId: bigint,
): Promise<boolean> => {
  const found = await read(on, WAS_HOLDER, [coinType, String(holderId)]);
  return found.length === 1;
};

const WAS_HOLDER = `
  select 1 as one from holder_events where coin_type = $1 and holder_id = $2::numeric limit 1`;

/** First checkpoint not yet indexed; null before the first run and during a rebuild. */
export const holderEventsEnd = async ({
  sql: statements,
}: Pick<Db, "sql">): Promise<bigint | null> => {
  const [row] = await statements<{ next_checkpoint: bigint }[]>`
    select next_checkpoint from ${statements(getTableName(holderLifecycleWatermark))}
    where rebuilding_to is null`;
  return row?.next_checkpoint ?? null;
};
