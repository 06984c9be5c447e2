/**
 * Role grants and revocations (`role_events`, append-only), current roles (`wallet_roles`), and
 * past ones (`role_ranges`): the newest event per owner and role decides; only held roles have
 * rows.
 *
 * A role is stored as its canonical type name, without its bit, which depends on the packages known
 * to the log.
 */
import { sql } from "drizzle-orm";
import { boolean, index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { bigints, booleans, texts } from "../database/column-arrays.ts";
import { identifier, int8 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import type { Writing } from "../database/writing.ts";
import { roleBits } from "../ledger/contract/roles.ts";
import {
  type AcrossRange,
  acrossStatements,
  type PositionRange,
  readAcross,
  readWithin,
} from "./across-coins.ts";
import { type BatchWrite, inOneStatement } from "./batch-write.ts";
import {
  appendEvents,
  type EventRange,
  OWN_PARAMETERS,
  rangeStatements,
  readRange,
} from "./chain-time.ts";
import type { Order } from "./event-range.ts";
import { placeOf } from "./position.ts";
import { progressTables } from "./progress-tables.ts";
import { keepRanges, openRanges, type RangeTable, rangesAt } from "./ranges.ts";
import { endOf } from "./row-keys.ts";

export const roleEventsTable = pgTable(
  "role_events",
  {
    coinType: identifier("coin_type").notNull(),
    /** Contains the checkpoint and event number: see `positionOf`. */
    position: int8("position").notNull(),
    txDigest: identifier("tx_digest").notNull(),
    owner: identifier("owner").notNull(),
    /** Canonical: `0x…64::roles::ContractAdmin`. */
    role: identifier("role").notNull(),
    /** False: revoked. */
    granted: boolean("granted").notNull(),
    /** Sender of the transaction. */
    signer: identifier("signer").notNull(),
    /** Checkpoint time, Unix milliseconds. */
    timestampMs: int8("timestamp_ms").notNull(),
    /** Latest time of the coin's log so far: see chain-time.ts. */
    reachedMs: int8("reached_ms").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.position] }),
    // All coin types, in chain order.
    index("role_events_by_position").on(t.position),
    index("role_events_of_transaction").on(t.txDigest),
    index("role_events_in_time").on(t.coinType, t.reachedMs, t.position),
    index("role_events_of_owner").on(t.coinType, t.owner, t.position),
  ],
);

export const walletRolesTable = pgTable(
  "wallet_roles",
  {
    coinType: identifier("coin_type").notNull(),
    owner: identifier("owner").notNull(),
    role: identifier("role").notNull(),
    /** Position of the newest event, which granted it. */
    position: int8("position").notNull(),
  },
  (t) => [primaryKey({ columns: [t.coinType, t.owner, t.role] })],
);

/** Past and current roles, in ranges of checkpoints. */
export const roleRangesTable = pgTable(
  "role_ranges",
  {
    coinType: identifier("coin_type").notNull(),
    owner: identifier("owner").notNull(),
    role: identifier("role").notNull(),
    /** First checkpoint at whose end the role was held. */
    checkpoint: int8("checkpoint").notNull(),
    /** First checkpoint at whose end it was not; `STILL_OPEN` while it is held. */
    until: int8("until").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.owner, t.role, t.checkpoint] }),
    // The coins of a wallet.
    index("role_ranges_of_wallet").on(t.owner, t.coinType),
    index("role_ranges_by_end").on(sql.raw(endOf("owner")), t.owner),
  ],
);

const roleRanges: RangeTable = { table: roleRangesTable, key: ["coin_type", "owner", "role"] };

export type RoleEventRow = Omit<typeof roleEventsTable.$inferSelect, "reachedMs">;

export type RoleRange = typeof roleRangesTable.$inferSelect;

export type RoleRows = {
  /** In chain order. */
  readonly events: readonly RoleEventRow[];
  /** Ranges begun or ended; at most two per event. */
  readonly ranges: readonly RoleRange[];
};

export type RoleKey = Pick<RoleRange, "coinType" | "owner" | "role">;

/** The held ones among these roles, with their start. */
export const currentRoles = (sql: Sql, keys: readonly RoleKey[]): Promise<readonly RoleRange[]> =>
  openRanges<RoleRange>(
    sql,
    roleRanges,
    keys.map(({ coinType, owner, role }) => [coinType, owner, role]),
  );

/** A coin's roles held at the end of a checkpoint. */
export const rolesAt = (sql: Sql, coinType: string, at: bigint): Promise<readonly RoleRange[]> =>
  rangesAt<RoleRange>(sql, roleRanges, coinType, at);

/** Appends events and updates current and past roles. */
export const foldRoles = ({ events, ranges }: RoleRows): readonly BatchWrite[] => [
  appendEvents(roleEventsTable, events),
  inOneStatement(events.length, (first) => holding(events, first)),
  keepRanges(roleRanges, ranges),
];

export const roleProgress = progressTables("role_changes");
export const { watermark: roleChangesWatermark, digests: roleChangesDigests } = roleProgress;

/** Updates current roles; the newest event per owner and role decides. */
const holding = (rows: readonly RoleEventRow[], first: number): Writing => {
  const newest = [...new Map(rows.map((row) => [roleKey(row), row])).values()];
  return {
    parts: [
      `newest as materialized (
        select given.* from mark, unnest($${first}::text[], $${first + 1}::text[], $${first + 2}::text[],
                                         $${first + 3}::int8[], $${first + 4}::bool[])
          as given (coin_type, owner, role, position, granted)
      )`,
      `held as (
        insert into wallet_roles (coin_type, owner, role, position)
        select coin_type, owner, role, position from newest where granted
        on conflict (coin_type, owner, role) do update set position = excluded.position
      )`,
      `revoked as (
        delete from wallet_roles w
        where w.ctid = any(array(
          select old.ctid from newest n, lateral (
            select o.ctid from wallet_roles o
            where o.coin_type = n.coin_type and o.owner = n.owner and o.role = n.role limit 1
          ) old
          where not n.granted
        ))
        -- Another partition may have a row in the same place. "Is true": no join, which could start at the table.
        and ((w.coin_type, w.owner, w.role) in (
          select coin_type, owner, role from newest where not granted
        )) is true
      )`,
    ],
    parameters: [
      texts(newest.map(({ coinType }) => coinType)),
      texts(newest.map(({ owner }) => owner)),
      texts(newest.map(({ role }) => role)),
      bigints(newest.map(({ position }) => position)),
      booleans(newest.map(({ granted }) => granted)),
    ],
  };
};

/** Move type names contain no space. */
export const roleKey = ({ coinType, owner, role }: RoleKey) => `${coinType} ${owner} ${role}`;

/** An address that may administer a token now. */
export type WalletRole = {
  readonly owner: string;
  /** Sum of the bits of role types from the contract's packages. */
  readonly roleBits: number;
  /** Canonical role types, ascending, including foreign ones. */
  readonly roles: string[];
};

type HeldRole = { readonly owner: string; readonly role: string };

const HELD = `
  select owner, role from wallet_roles where coin_type = $1 order by owner, role`;

const HELD_AT = `
  select owner, role from role_ranges
  where coin_type = $1 and checkpoint <= $2 and until > $2 order by owner, role`;

/**
 * Every owner with a role, ascending, now or at the end of checkpoint `at`; empty for an unknown
 * coin type. `packages`: the contract's addresses, whose role types have bits.
 */
export const walletRoles = async (
  on: Reads,
  query: {
    readonly coinType: string;
    readonly packages: readonly string[];
    readonly at?: bigint | undefined;
  },
): Promise<WalletRole[]> => {
  const { coinType, packages, at } = query;
  const rows = await (at === undefined
    ? read<HeldRole>(on, HELD, [coinType])
    : read<HeldRole>(on, HELD_AT, [coinType, at]));
  const byOwner = Map.groupBy(rows, (row) => row.owner);
  const bitOf = roleBits(packages);
  return [...byOwner].map(([owner, held]) => ({
    owner,
    roleBits: held.reduce((bits, { role }) => bits | bitOf(role), 0),
    roles: held.map(({ role }) => role),
  }));
};

export type RoleEvent = RoleEventRow & {
  /** Number of the event inside its transaction, from 0. */
  readonly eventSeq: number;
  /** 0 for a role type of another package. */
  readonly roleBit: number;
};

const COLUMNS = `
  position, tx_digest as "txDigest", owner, role, granted, signer, timestamp_ms as "timestampMs"`;

const OF_OWNER = [{ columns: ["coin_type", "owner"], values: ["$1", `$${OWN_PARAMETERS + 1}`] }];

const statementsIn = (order: Order) => ({
  whole: rangeStatements(roleEventsTable, COLUMNS, order),
  ofOwner: rangeStatements(roleEventsTable, COLUMNS, order, OF_OWNER),
});

const EVENTS = { asc: statementsIn("asc"), desc: statementsIn("desc") };

export const ROLE_EVENTS_ACROSS = acrossStatements(roleEventsTable, COLUMNS);

export type RoleEventsQuery = EventRange & {
  readonly owner?: string | undefined;
  /** As in `walletRoles`. */
  readonly packages: readonly string[];
};

/** Oldest first unless ordered otherwise; empty for an unknown coin type. */
export const roleEvents = async (on: Reads, query: RoleEventsQuery): Promise<RoleEvent[]> => {
  const { coinType, owner, order = "asc", packages } = query;
  const { whole, ofOwner } = EVENTS[order];
  type Found = Omit<RoleEventRow, "coinType">;
  const rows = await (owner === undefined
    ? readRange<Found>(on, whole, query)
    : readRange<Found>(on, ofOwner, query, [owner]));
  const bitOf = roleBits(packages);
  return rows.map((row) => eventOf(row, coinType, bitOf));
};

export const roleEventsAcross = async (
  on: Reads,
  { packages, ...range }: AcrossRange & { readonly packages: readonly string[] },
): Promise<RoleEvent[]> => {
  const rows = await readAcross<RoleEventRow>(on, ROLE_EVENTS_ACROSS, range);
  const bitOf = roleBits(packages);
  return rows.map((row) => eventOf(row, row.coinType, bitOf));
};

export const roleEventsWithin = async (
  on: Reads,
  { packages, ...range }: PositionRange & { readonly packages: readonly string[] },
): Promise<RoleEvent[]> => {
  const rows = await readWithin<RoleEventRow>(on, ROLE_EVENTS_ACROSS, range);
  const bitOf = roleBits(packages);
  return rows.map((row) => eventOf(row, row.coinType, bitOf));
};

const eventOf = (
  row: Omit<RoleEventRow, "coinType">,
  coinType: string,
  bitOf: (role: string) => number,
): RoleEvent => ({
  ...row,
  coinType,
  eventSeq: placeOf(row.position).index,
  roleBit: bitOf(row.role),
});
