/** Column types shared by all tables. */
import { bigint, customType, numeric, timestamp } from "drizzle-orm/pg-core";

export const bytea = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });

/**
 * ASCII identifiers of the ledger: addresses, object ids, types, digests. Compared by bytes in any
 * database locale, so all deployments sort and page alike.
 */
export const identifier = customType<{ data: string; driverData: string }>({
  dataType: () => 'text collate "C"',
});

export const u64 = (name: string) => numeric(name, { precision: 20, scale: 0, mode: "bigint" });

export const sumOfU64 = (name: string) =>
  numeric(name, { precision: 39, scale: 0, mode: "bigint" });

/** uint256 of EVM contracts: up to 78 digits. */
export const uint256 = (name: string) => numeric(name, { precision: 78, scale: 0, mode: "bigint" });

export const at = (name: string) => timestamp(name, { withTimezone: true });

/** Checkpoint numbers, positions, milliseconds: below 2^63. */
export const int8 = (name: string) => bigint(name, { mode: "bigint" });

const INT8_MAX = 2n ** 63n - 1n;

/**
 * Clamps a caller's number to int8, so that it selects correctly where Postgres would refuse it.
 */
export const asInt8 = (value: bigint): bigint =>
  value > INT8_MAX ? INT8_MAX : value < -INT8_MAX ? -INT8_MAX : value;
