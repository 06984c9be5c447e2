/**
 * What wallets were in a coin's register, and are: the holder each belongs to, its group, and whether it
 * is frozen, in ranges of checkpoints. Written by `holder_lifecycle`.
 */
import { pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { openRanges, type RangeTable, rangesAt } from "./ranges.ts";

/** What a wallet has one value of at most, at the end of each checkpoint. */
export type Aspect = "holder" | "group" | "freeze";

export const membershipRangesTable = pgTable(
  "membership_ranges",
  {
    coinType: identifier("coin_type").notNull(),
    address: identifier("address").notNull(),
    aspect: identifier("aspect").$type<Aspect>().notNull(),
    /** The holder's id, the group's id, or 1 for frozen. */
    value: u64("value").notNull(),
    /** The first checkpoint at whose end the value held. */
    checkpoint: int8("checkpoint").notNull(),
    /** The first checkpoint that it no longer did; `STILL_OPEN` while it stands. */
    until: int8("until").notNull(),
  },
  (t) => [primaryKey({ columns: [t.coinType, t.address, t.aspect, t.checkpoint] })],
);

export const membershipRanges: RangeTable = {
  table: membershipRangesTable,
  key: ["coin_type", "address", "aspect"],
};

export type MembershipRange = typeof membershipRangesTable.$inferSelect;

/** A wallet of a coin, and what about it. */
export type MembershipKey = Pick<MembershipRange, "coinType" | "address" | "aspect">;

/** What these wallets are now; those that are nothing do not come. */
export const standingMemberships = async (
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

/** What the wallets of a coin were at the end of a checkpoint. */
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
