/**
 * The vesting grants (`Timelock` objects) that stand now.
 */
import { and, eq, sql } from "drizzle-orm";
import { index, pgTable } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Db, Tx } from "../database/connect.ts";
import { GrantIndexBehindError, grantsIncluded } from "./grant-lag.ts";
import { clearLiveSet, foldChanges, type LiveSet, type ObjectChange } from "./live-objects.ts";

/** Amounts in the coin's smallest unit; times and periods in milliseconds, as the contract has them. */
export const timelockObjectsTable = pgTable(
  "timelock_objects",
  {
    objectId: identifier("object_id").primaryKey(),
    coinType: identifier("coin_type").notNull(),
    owner: identifier("owner").notNull(),
    funder: identifier("funder").notNull(),
    releaseScheduleId: u64("release_schedule_id").notNull(),
    releaseCount: u64("release_count").notNull(),
    delayUntilFirstReleaseMs: u64("delay_until_first_release_ms").notNull(),
    periodBetweenReleasesMs: u64("period_between_releases_ms").notNull(),
    initialReleasePortionBps: u64("initial_release_portion_bps").notNull(),
    commencementTimestampMs: u64("commencement_timestamp_ms").notNull(),
    totalAmount: u64("total_amount").notNull(),
    /** Claimed so far. */
    tokensTransferred: u64("tokens_transferred").notNull(),
    /** What the grant still holds: locked, or unlocked and not yet claimed. */
    leftBalance: u64("left_balance").notNull(),
    /** Version and checkpoint of the last write, by a failed transaction too. */
    version: u64("version").notNull(),
    checkpoint: int8("checkpoint").notNull(),
  },
  (t) => [
    index("timelock_objects_of_coin").on(t.coinType, t.commencementTimestampMs, t.objectId),
    index("timelock_objects_of_owner").on(
      t.coinType,
      t.owner,
      t.commencementTimestampMs,
      t.objectId,
    ),
  ],
);

/** A grant as it stands. */
export type TimelockState = Omit<typeof timelockObjectsTable.$inferSelect, "objectId">;

const liveSet: LiveSet = { table: timelockObjectsTable, held: "left_balance", part: "grant" };

/**
 * Folds the changes of a batch into the live grants and the grant part of their owners' balances.
 * @throws ImpossibleBalanceError (stop)
 */
export const foldTimelocks = (
  tx: Tx,
  changes: readonly ObjectChange<TimelockState>[],
): Promise<void> => foldChanges(tx, liveSet, changes);

/** Forgets all grants and the grant part of all balances, before a rebuild. */
export const clearTimelocks = (tx: Tx): Promise<void> => clearLiveSet(tx, liveSet);

/** A live grant; amounts in the coin's smallest unit. */
export type TokenTimelock = Omit<
  typeof timelockObjectsTable.$inferSelect,
  "coinType" | "version" | "checkpoint"
>;

/**
 * Live grants of a coin, or of one owner, earliest commencement first, then by object id; empty for an
 * unknown coin type or owner.
 * @throws GrantIndexBehindError (wait) while the list could hold grants that are gone
 */
export const tokenTimelocks = async (
  db: Db,
  query: {
    readonly coinType: string;
    readonly owner?: string | undefined;
    readonly limit: number;
  },
): Promise<TokenTimelock[]> => {
  const table = timelockObjectsTable;
  const page = db
    .select()
    .from(table)
    .where(
      and(
        grantsIncluded,
        eq(table.coinType, query.coinType),
        query.owner === undefined ? undefined : eq(table.owner, query.owner),
      ),
    )
    .orderBy(table.commencementTimestampMs, table.objectId)
    .limit(query.limit)
    .as("page");
  // One row comes always, so that an empty list can be told from one that must not be shown.
  const rows = await db
    .select({
      told: grantsIncluded,
      grant: {
        objectId: page.objectId,
        owner: page.owner,
        funder: page.funder,
        releaseScheduleId: page.releaseScheduleId,
        releaseCount: page.releaseCount,
        delayUntilFirstReleaseMs: page.delayUntilFirstReleaseMs,
        periodBetweenReleasesMs: page.periodBetweenReleasesMs,
        initialReleasePortionBps: page.initialReleasePortionBps,
        commencementTimestampMs: page.commencementTimestampMs,
        totalAmount: page.totalAmount,
        tokensTransferred: page.tokensTransferred,
        leftBalance: page.leftBalance,
      },
    })
    .from(sql`(select) as one_row`)
    .leftJoin(page, sql`true`)
    .orderBy(page.commencementTimestampMs, page.objectId);
  if (rows.some(({ told }) => !told)) throw new GrantIndexBehindError();
  return rows.flatMap(({ grant }) => (grant === null ? [] : [grant]));
};
