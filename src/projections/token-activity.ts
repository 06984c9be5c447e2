/** Append-only log of mints, burns, transfers and forced transfers. */
import { sql } from "drizzle-orm";
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { identifier, int8, u64 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import {
  type AcrossRange,
  acrossStatements,
  type PositionRange,
  readAcross,
  readWithin,
} from "./across-coins.ts";
import { append, type BatchWrite } from "./batch-write.ts";
import {
  type Order,
  type PositionBounds,
  pageBounds,
  periodArrays,
  periodsFrom,
  type WalletPeriod,
} from "./event-range.ts";
import { placeOf } from "./position.ts";
import { progressTables } from "./progress-tables.ts";
import { type IndexRange, indexKey, indexRange, keyRange } from "./row-keys.ts";

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
    index("token_activity_of_type").on(indexKey("coin_type", "activity_type"), t.position),
    // By type, so that a wallet's rare movements are found among many; all of them are six ranges.
    index("token_activity_from")
      .on(indexKey("coin_type", "from_address", "activity_type"), t.position)
      .where(sql`from_address is not null`),
    index("token_activity_to")
      .on(indexKey("coin_type", "to_address", "activity_type"), t.position)
      .where(sql`to_address is not null`),
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

/** Between positions $2 and $3. */
const BOUNDS = { low: "$2::int8", high: "$3::int8" };

/** A page of $4 rows behind $5. */
const PAGE = (order: Order): string => {
  const { where, orderBy } = indexRange(["coin_type"], ["$1"], BOUNDS);
  return `
    select ${COLUMNS} from token_activity where ${where} order by ${orderBy(order)}
    limit (select $4::int8) offset (select $5::int8)`;
};

/** Positions of one range of an index, as many as the page may need. */
const positions = ({ where, orderBy }: IndexRange, order: Order) => `
  (select position from token_activity where ${where} order by ${orderBy(order)}
   limit (select $4::int8 + $5::int8))`;

/** The page of several ranges, each row once: only the rows of the page are read whole. */
const merged = (order: Order, ranges: string): string => `
  select found.* from (
    select distinct position from (${ranges}) as each
    order by position ${order} limit (select $4::int8) offset (select $5::int8)
  ) as chosen, lateral (
    select ${COLUMNS} from token_activity
    where coin_type = $1 and position = chosen.position limit 1
  ) as found
  order by found.position ${order}`;

const TYPES = "unnest($6::text[]) as given (type)";

const OF_TYPES = (order: Order): string => {
  const range = keyRange(["coin_type", "activity_type"], ["$1", "given.type"], BOUNDS);
  return merged(
    order,
    `select one.position from ${TYPES}, lateral ${positions(range, order)} as one`,
  );
};

const OF_WALLETS = (order: Order): string => {
  const [from, to] = ["from_address", "to_address"].map((side) =>
    positions(
      keyRange(["coin_type", side, "activity_type"], ["$1", "wallet.address", "given.type"], {
        low: "greatest($2::int8, wallet.begins - 1)",
        high: "least($3::int8, wallet.ends)",
      }),
      order,
    ),
  );
  return merged(
    order,
    `select one.position from ${periodsFrom(7)}, ${TYPES}, lateral (${from} union all ${to}) as one`,
  );
};

const pagesIn = (order: Order) => ({
  all: PAGE(order),
  ofTypes: OF_TYPES(order),
  ofWallets: OF_WALLETS(order),
});

const PAGES = { asc: pagesIn("asc"), desc: pagesIn("desc") };

type ActivityRow = Omit<TokenActivityRow, "coinType" | "amount"> & { readonly amount: string };

export type ActivityQuery = PositionBounds & {
  readonly coinType: string;
  readonly limit: number;
  readonly offset: number;
  readonly order: Order;
  /** Position of the last row seen. */
  readonly after?: bigint | undefined;
  /** All types unless given. */
  readonly types?: readonly ActivityType[] | undefined;
  /** Movements from or to one of these; each costs a look-up per side and type. */
  readonly wallets?: readonly WalletPeriod[] | undefined;
};

/**
 * A coin type's log in chain order, or newest first; empty for an unknown coin type. All filters
 * apply together, and no row is read that does not match.
 */
export const tokenActivity = async (on: Reads, query: ActivityQuery): Promise<TokenActivity[]> => {
  const { coinType, limit, offset, order, types, wallets } = query;
  const { all, ofTypes, ofWallets } = PAGES[order];
  const { low, high } = pageBounds(query);
  const values = [coinType, low, high, limit, offset];
  const ofTheseTypes = [...values, texts(types ?? ACTIVITY_TYPES)];
  const rows =
    wallets !== undefined
      ? await read<ActivityRow>(on, ofWallets, [...ofTheseTypes, ...periodArrays(wallets)])
      : types !== undefined
        ? await read<ActivityRow>(on, ofTypes, ofTheseTypes)
        : await read<ActivityRow>(on, all, values);
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
