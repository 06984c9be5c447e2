/** Column types that the tables share: what the ledgers' values are in Postgres. */
import { bigint, customType, numeric, timestamp } from "drizzle-orm/pg-core";

/** Bytes as they are: hashes, addresses, sealed records. */
export const bytea = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });

/**
 * ASCII text the ledger names things by: addresses, object ids, types, digests. Compared byte by byte
 * whatever the database's locale, so that every deployment sorts (and pages) alike.
 */
export const identifier = customType<{ data: string; driverData: string }>({
  dataType: () => 'text collate "C"',
});

/** An unsigned 64-bit number of the ledger. */
export const u64 = (name: string) => numeric(name, { precision: 20, scale: 0, mode: "bigint" });

/** A sum of unsigned 64-bit numbers: fifty billion billion of the largest ones fit. */
export const sumOfU64 = (name: string) =>
  numeric(name, { precision: 39, scale: 0, mode: "bigint" });

/** A number of an EVM contract: uint256 has up to 78 digits. */
export const uint256 = (name: string) => numeric(name, { precision: 78, scale: 0, mode: "bigint" });

/** A moment by the database's or our own clock, with its time zone. */
export const at = (name: string) => timestamp(name, { withTimezone: true });

/** What rises with the chain and fits 63 bits: checkpoint numbers, positions, milliseconds. */
export const int8 = (name: string) => bigint(name, { mode: "bigint" });

const INT8_MAX = 2n ** 63n - 1n;

/**
 * A caller's number as the nearest one that an `int8` column can be compared with: a number beyond
 * the column's range selects what it should, where Postgres would refuse it.
 */
export const asInt8 = (value: bigint): bigint =>
  value > INT8_MAX ? INT8_MAX : value < -INT8_MAX ? -INT8_MAX : value;
