/** Column types that the projections share: what the ledger's values are in Postgres. */
import { customType, numeric } from "drizzle-orm/pg-core";

/**
 * ASCII text the ledger names things by: addresses, object ids, types, digests. Compared byte by byte
 * whatever the database's locale, so that every deployment sorts (and pages) alike.
 */
export const identifier = customType<{ data: string; driverData: string }>({
  dataType: () => 'text collate "C"',
});

/** An unsigned 64-bit number of the ledger. */
export const u64 = (name: string) => numeric(name, { precision: 20, scale: 0, mode: "bigint" });

/** A sum of unsigned 64-bit numbers: a billion billion of the largest ones fit. */
export const sumOfU64 = (name: string) => numeric(name, { precision: 39, scale: 0, mode: "bigint" });
