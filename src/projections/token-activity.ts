/**
 * Mints, burns, transfers and forced transfers: one row each, never updated.
 */
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { asInt8, identifier, int8, u64 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { type AcrossRange, acrossStatements, readAcross } from "./across-coins.ts";
import { append, type BatchWrite } from "./batch-write.ts";
import { BEFORE_ALL, BEHIND_ALL, placeOf } from "./position.ts";
import { progressTables } from "./progress-tables.ts";

/** The event kinds that are logged. */
export const ACTIVITY_TYPES = ["mint", "burn", "transfer", "force_transfer"] as const;
export type ActivityType = (typeof ACTIVITY_TYPES)[number];

/** The key serves a coin type's log in both directions and stops a second copy of an event. */
export const tokenActivityTable = pgTable(
  "token_activity",
  {
    coinType: identifier("coin_type").notNull(),
    /** Also tells the checkpoint and the event's number: see `positionOf`. */
    position: int8("position").notNull(),
    activityType: identifier("activity_type").$type<ActivityType>().notNull(),
    txDigest: identifier("tx_digest").notNull(),
    /** Time of the checkpoint, milliseconds since the Unix epoch. */
    timestampMs: int8("timestamp_ms").notNull(),
    /** In the coin's smallest unit. */
    amount: u64("amount").notNull(),
    /** Null for a mint. */
    fromAddress: identifier("from_address"),
    /** Null for a burn. */
    toAddress: identifier("to_address"),
    /** Sender of the transaction. */
    signer: identifier("signer").notNull(),
    tokenObjectId: identifier("token_object_id").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.position] }),
    // Of all coin types, in chain order.
    index("token_activity_by_position").on(t.position),
  ],
);

/** A row as it is stored; every column is given, null where the kind has none. */
export type TokenActivityRow = typeof tokenActivityTable.$inferSelect;

/** Its rows were never filled in after an upgrade: the first layout had them all. */
export const activityProgress = progressTables("token_activity", { pastSince: 1 });
export const { watermark: tokenActivityWatermark, digests: tokenActivityDigests } =
  activityProgress;

/** Appends activity. A row that exists already is an error: replays start from an empty table. */
export const appendTokenActivity = (rows: readonly TokenActivityRow[]): readonly BatchWrite[] => [
  append(tokenActivityTable, rows),
];

/** One logged movement. Amounts in the coin's smallest unit, times in milliseconds. */
export type TokenActivity = TokenActivityRow & {
  readonly checkpoint: bigint;
  /** Number of the event inside its transaction, from 0. */
  readonly eventSeq: number;
};

const COLUMNS = `
  position, activity_type as "activityType", tx_digest as "txDigest", timestamp_ms as "timestampMs",
  amount, from_address as "fromAddress", to_address as "toAddress", signer,
  token_object_id as "tokenObjectId"`;

const page = (beyond: ">" | "<", direction: "asc" | "desc", chosen = "") => `
  select ${COLUMNS}
  from token_activity
  where coin_type = $1 and position ${beyond} $2 ${chosen}
  order by position ${direction}
  limit (select $3::int8) offset (select $4::int8)`;

// No index of types: it would cost every write, and pages of all types one after the other read as much.
const OF_TYPE = "and activity_type = $5";

const PAGES = {
  asc: { all: page(">", "asc"), ofType: page(">", "asc", OF_TYPE), start: BEFORE_ALL },
  desc: { all: page("<", "desc"), ofType: page("<", "desc", OF_TYPE), start: BEHIND_ALL },
};

type ActivityRow = Omit<TokenActivityRow, "coinType" | "amount"> & { readonly amount: string };

/**
 * A coin type's log in chain order, or newest first; empty for an unknown coin type.
 * `after` is the position of the last row seen: rows come from beyond it, in the order asked for. With a
 * type, rows of others are read and left out: until `limit` are found, or the log ends.
 */
export const tokenActivity = async (
  on: Reads,
  query: {
    readonly coinType: string;
    readonly limit: number;
    readonly offset: number;
    readonly order: "asc" | "desc";
    readonly after?: bigint | undefined;
    readonly activityType?: ActivityType | undefined;
  },
): Promise<TokenActivity[]> => {
  const { coinType, limit, offset, activityType } = query;
  const { all, ofType, start } = PAGES[query.order];
  const values = [coinType, asInt8(query.after ?? start), limit, offset];
  const rows =
    activityType === undefined
      ? await read<ActivityRow>(on, all, values)
      : await read<ActivityRow>(on, ofType, [...values, activityType]);
  return rows.map((row) => activityOf({ ...row, coinType }));
};

const activityOf = (row: ActivityRow & { readonly coinType: string }): TokenActivity => {
  const { checkpoint, index: eventSeq } = placeOf(row.position);
  return { ...row, amount: BigInt(row.amount), checkpoint, eventSeq };
};

export const ACTIVITY_ACROSS = acrossStatements(tokenActivityTable, COLUMNS);

/** The log across coin types, in chain order. */
export const tokenActivityAcross = async (
  on: Reads,
  range: AcrossRange,
): Promise<TokenActivity[]> => {
  type Found = ActivityRow & { readonly coinType: string };
  return (await readAcross<Found>(on, ACTIVITY_ACROSS, range)).map(activityOf);
};
