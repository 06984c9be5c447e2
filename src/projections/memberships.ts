/**
 * Memberships of wallets over ranges of checkpoints: holder, group and freeze. Written by
 * `holder_lifecycle`.
 */
import { sql } from "drizzle-orm";
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { openRanges, type RangeTable, rangesAt } from "./ranges.ts";
import { endOf } from "./row-keys.ts";

/** A wallet has at most one value of each at a checkpoint's end. */
export type Aspect = "holder" | "group" | "freeze";

export const membershipRangesTable = pgTable(
  "membership_ranges",
  {
    coinType: identifier("coin_type").notNull(),
    address: identifier("address").notNull(),
    aspect: identifier("aspect").$type<Aspect>().notNull(),
    /** The holder's id, the group's id, or 1 for frozen. */
    value: u64("value").notNull(),
    /** First checkpoint at whose end the value held. */
    checkpoint: int8("checkpoint").notNull(),
    /** First checkpoint at whose end it no longer held; `STILL_OPEN` while it does. */
    until: int8("until").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.address, t.aspect, t.checkpoint] }),
    // The coins of a wallet.
    index("membership_ranges_of_wallet").on(t.address, t.coinType),
    index("membership_ranges_by_end").on(sql.raw(endOf("address")), t.address),
  ],
);

export const membershipRanges: RangeTable = {
  table: membershipRangesTable,
  key: ["coin_type", "address", "aspect"],
};

export type MembershipRange = typeof membershipRangesTable.$inferSelect;

export type MembershipKey = Pick<MembershipRange, "coinType" | "address" | "aspect">;

/** Current memberships of these wallets; absent if none. */
export const currentMemberships = async (
  sql: Sql,
  keys: readonly MembershipKey[],
): Promise<readonly MembershipRange[]> => {
  const rows = await openRanges<StoredMembership>(
    sql,
    membershipRanges,
    keys.map(({ coinType, address, aspect }) => [coinType, address, aspect]),
  );
  return rows.map(membershipOf);
};

/** Memberships of a coin's wallets at the end of a checkpoint. */
export const membershipsAt = async (
  sql: Sql,
  coinType: string,
  at: bigint,
): Promise<readonly MembershipRange[]> =>
  (await rangesAt<StoredMembership>(sql, membershipRanges, coinType, at)).map(membershipOf);

type StoredMembership = Omit<MembershipRange, "value"> & { readonly value: string };

const membershipOf = (row: StoredMembership): MembershipRange => ({
  ...row,
  value: BigInt(row.value),
});
