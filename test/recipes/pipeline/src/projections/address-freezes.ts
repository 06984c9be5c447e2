/** Wallets that were frozen or released: one row per event, never updated. */
import { boolean, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { asInt8, identifier, int8 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { append, type BatchWrite } from "./batch-write.ts";
import { lineKind } from "./digest-lines.ts";
import { BEFORE_ALL, BEHIND_ALL, positionsEnd } from "./position.ts";
import { progressTables } from "./progress-tables.ts";

export const freezeProgress = progressTables("address_freezes");
export const { watermark: addressFreezesWatermark, digests: addressFreezesDigests } =
  freezeProgress;

export const addressFreezesTable = pgTable(
  "address_freezes",
  {
    coinType: identifier("coin_type").notNull(),
    /** Also tells the checkpoint and the event's number: see `positionOf`. */
    position: int8("position").notNull(),
    txDigest: identifier("tx_digest").notNull(),
    /** Time of the checkpoint, milliseconds since the Unix epoch. */
    timestampMs: int8("timestamp_ms").notNull(),
    address: identifier("address").notNull(),
    /** False: released. */
    isFrozen: boolean("is_frozen").notNull(),
  },
  (t) => [primaryKey({ columns: [t.coinType, t.position] })],
);

export type AddressFreeze = typeof addressFreezesTable.$inferSelect;

/** A line of the digest. */
export const FREEZE_LINE = lineKind(
  0,
  ["coinType", "position"],
  ["coinType", "position", "txDigest", "timestampMs", "address", "isFrozen"],
);

export const appendFreezes = (rows: readonly AddressFreeze[]): readonly BatchWrite[] => [
  append(addressFreezesTable, rows),
];

const FREEZES = `
  select coin_type as "coinType", position, tx_digest as "txDigest", timestamp_ms as "timestampMs",
         address, is_frozen as "isFrozen"
  from address_freezes
  where coin_type = $1 and position > $2 and position < $3
  order by position limit (select $4::int8)`;

/** Freezes and releases of a coin, oldest first, up to the end of checkpoint `at`; empty for an unknown coin type. */
export const addressFreezes = (
  on: Reads,
  query: {
    readonly coinType: string;
    readonly limit: number;
    /** Position of the last row seen. */
    readonly after?: bigint | undefined;
    readonly at?: bigint | undefined;
  },
): Promise<AddressFreeze[]> => {
  const { coinType, limit, after = BEFORE_ALL, at } = query;
  const end = at === undefined ? BEHIND_ALL : positionsEnd(at);
  return read<AddressFreeze>(on, FREEZES, [coinType, asInt8(after), asInt8(end), limit]);
};
