/** Append-only log of mints, burns, transfers and forced transfers. */
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { asInt8, identifier, int8, u64 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import {
  type AcrossRange,
  acrossStatements,
  type PositionRange,
  readAcross,
  readWithin,
} from "./across-coins.ts";
import { append, type BatchWrite } from "./batch-write.ts";
import { BEFORE_ALL, BEHIND_ALL, placeOf } from "./position.ts";
import { progressTables } from "./progress-tables.ts";

export const ACTIVITY_TYPES = ["mint", "burn", "transfer", "force_transfer"] as const;
export type ActivityType = (typeof ACTIVITY_TYPES)[number];

/** The key serves a coin type's log in both directions and rejects duplicate events. */
export const tokenActivityTable = pgTable(
  "token_activity",
  {
    coinType: identifier("coin_type").notNull(),
    /** Contains the checkpoint and event number: see `positionOf`. */
    position: int8("position").notNull(),
    activityType: identifier("activity_type").$type<ActivityType>().notNull(),
    txDigest: identifier("tx_digest").notNull(),
    /** Checkpoint time, Unix milliseconds. */
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
    // All coin types, in chain order.
    index("token_activity_by_position").on(t.position),
    index("token_activity_of_transaction").on(t.txDigest),
  ],
);

export type TokenActivityRow = typeof tokenActivityTable.$inferSelect;

/** The first layout already had all its rows: upgrades fill nothing in. */
export const activityProgress = progressTables("token_activity", { pastSince: 1 });
export const { watermark: tokenActivityWatermark, digests: tokenActivityDigests } =
  activityProgress;

/** Appends activity. An existing row is an error: replays start from an empty table. */
export const appendTokenActivity = (rows: readonly TokenActivityRow[]): readonly BatchWrite[] => [
  append(tokenActivityTable, rows),
];

/** Amounts in the coin's smallest unit, times in milliseconds. */
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

// No index by type: it would slow every write.
const OF_TYPE = "and activity_type = $5";

const PAGES = {
  asc: { all: page(">", "asc"), ofType: page(">", "asc", OF_TYPE), start: BEFORE_ALL },
  desc: { all: page("<", "desc"), ofType: page("<", "desc", OF_TYPE), start: BEHIND_ALL },
};

type ActivityRow = Omit<TokenActivityRow, "coinType" | "amount"> & { readonly amount: string };

/**
 * A coin type's log in chain order, or newest first; empty for an unknown coin type. `after`:
 * position of the last row seen. A type filter reads and skips other rows until `limit` match or
 * the log ends.
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
  return rows.map((row) => activityOf(row, coinType));
};

const activityOf = (row: ActivityRow, coinType: string): TokenActivity => {
  const { checkpoint, index: eventSeq } = placeOf(row.position);
  return { ...row, coinType, amount: BigInt(row.amount), checkpoint, eventSeq };
};

export const ACTIVITY_ACROSS = acrossStatements(tokenActivityTable, COLUMNS);

export const tokenActivityAcross = async (
  on: Reads,
  range: AcrossRange,
): Promise<TokenActivity[]> => {
  type Found = ActivityRow & { readonly coinType: string };
  return (await readAcross<Found>(on, ACTIVITY_ACROSS, range)).map((row) =>
    activityOf(row, row.coinType),
  );
};

export const tokenActivityWithin = async (
  on: Reads,
  range: PositionRange,
): Promise<TokenActivity[]> => {
  type Found = ActivityRow & { readonly coinType: string };
  return (await readWithin<Found>(on, ACTIVITY_ACROSS, range)).map((row) =>
    activityOf(row, row.coinType),
  );
};
