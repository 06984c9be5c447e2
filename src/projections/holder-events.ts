/** Append-only log of holder register events. Current holders and groups are in memberships.ts. */
import { getTableName, sql } from "drizzle-orm";
import { boolean, index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Db } from "../database/connect.ts";
import { type Parameter, type Reads, read } from "../database/readers.ts";
import {
  type AcrossRange,
  acrossStatements,
  type PositionRange,
  readAcross,
  readWithin,
} from "./across-coins.ts";
import type { BatchWrite } from "./batch-write.ts";
import {
  appendEvents,
  type EventRange,
  OWN_PARAMETERS,
  rangeStatements,
  readRange,
} from "./chain-time.ts";
import { type Order, periodArrays, periodsFrom, type WalletPeriod } from "./event-range.ts";
import { type MembershipRange, membershipRanges } from "./memberships.ts";
import { placeOf } from "./position.ts";
import { progressTables } from "./progress-tables.ts";
import { keepRanges } from "./ranges.ts";

/** Events of a holder without a wallet. */
const OF_HOLDERS = ["holder_added", "holder_removed"] as const;

/** Events of one wallet. */
const OF_WALLETS = [
  "holder_address_added",
  "holder_address_removed",
  "address_joined_group",
  "address_left_group",
  "address_frozen",
] as const;

export const HOLDER_EVENT_TYPES = [...OF_HOLDERS, ...OF_WALLETS] as const;
export type HolderEventType = (typeof HOLDER_EVENT_TYPES)[number];

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
    // A holder's wallets over time, and whether it ever existed.
    index("holder_events_of_holder_type")
      .on(t.coinType, t.holderId, t.eventType, t.position)
      .where(sql`holder_id is not null`),
    index("holder_events_of_address_type")
      .on(t.coinType, t.address, t.eventType, t.position)
      .where(sql`address is not null`),
    index("holder_events_of_type").on(t.coinType, t.eventType, t.position),
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

const TYPES = `unnest($${OWN_PARAMETERS + 1}::text[]) as given (type)`;

const HOLDER = `$${OWN_PARAMETERS + 2}::numeric`;

/** The event that ends a wallet's period is of the same holder, or of the next one. */
const FOUND = {
  ofTypes: [{ each: TYPES, columns: ["coin_type", "event_type"], values: ["$1", "given.type"] }],
  ofWallets: [
    {
      each: `${periodsFrom(OWN_PARAMETERS + 3)}, ${TYPES}`,
      columns: ["coin_type", "address", "event_type"],
      values: ["$1", "wallet.address", "given.type"],
      within: (low: string, high: string) => ({
        low: `greatest(${low}, wallet.begins - 1)`,
        high: `least(${high}, wallet.ends)`,
      }),
      // Postgres uses a partial index for its own condition alone.
      and: `and address is not null and (${HOLDER} is null or holder_id is null or holder_id = ${HOLDER})`,
    },
    {
      each: `unnest($${OWN_PARAMETERS + 6}::text[]) as given (type)`,
      columns: ["coin_type", "holder_id", "event_type"],
      values: ["$1", HOLDER, "given.type"],
      and: "and holder_id is not null",
    },
  ],
} as const;

const statementsIn = (order: Order) => ({
  whole: rangeStatements(holderEventsTable, COLUMNS, order),
  ofTypes: rangeStatements(holderEventsTable, COLUMNS, order, FOUND.ofTypes),
  ofWallets: rangeStatements(holderEventsTable, COLUMNS, order, FOUND.ofWallets),
});

const EVENTS = { asc: statementsIn("asc"), desc: statementsIn("desc") };

export const HOLDER_EVENTS_ACROSS = acrossStatements(holderEventsTable, COLUMNS);

type EventRow = Omit<HolderEventRow, "holderId" | "groupId"> & {
  readonly holderId: string | null;
  readonly groupId: string | null;
};

export type HolderEventsQuery = EventRange & {
  /** All types unless given. */
  readonly types?: readonly HolderEventType[] | undefined;
  /** Events of these wallets. */
  readonly wallets?: readonly WalletPeriod[] | undefined;
  /** Beside `wallets`: only periods of this holder, whose own events count too unless one wallet is wanted. */
  readonly holder?: { readonly holderId: bigint; readonly isOneWallet: boolean } | undefined;
};

/** A coin's events, oldest first unless ordered otherwise; empty for an unknown coin type. */
export const holderEvents = async (on: Reads, query: HolderEventsQuery): Promise<HolderEvent[]> => {
  const { coinType, types, order = "asc" } = query;
  const { whole, ofTypes, ofWallets } = EVENTS[order];
  type Found = Omit<EventRow, "coinType">;
  const rows = await (query.wallets !== undefined
    ? readRange<Found>(on, ofWallets, query, ownParameters(query))
    : types !== undefined
      ? readRange<Found>(on, ofTypes, query, [texts(types)])
      : readRange<Found>(on, whole, query));
  return rows.map((row) => eventOf(row, coinType));
};

const ownParameters = ({
  types = HOLDER_EVENT_TYPES,
  wallets = [],
  holder,
}: HolderEventsQuery): readonly Parameter[] => {
  const among = (some: readonly HolderEventType[]) =>
    texts(types.filter((type) => some.includes(type)));
  const ofHolder = holder === undefined || holder.isOneWallet ? [] : OF_HOLDERS;
  const id = holder === undefined ? null : String(holder.holderId);
  // With the event that ends a period.
  const periods = wallets.map((wallet) => ({ ...wallet, ends: wallet.ends + 1n }));
  return [among(OF_WALLETS), id, ...periodArrays(periods), among(ofHolder)];
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
