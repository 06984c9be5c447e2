/**
 * The vesting grants (`Timelock` objects) that stand now.
 */
import { index, pgTable } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Tx } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import type { AtOnce } from "../database/writing.ts";
import { GRANTS_INCLUDED, GrantIndexBehindError } from "./grant-lag.ts";
import {
  clearLiveSet,
  foldAtOnce,
  foldChanges,
  type LiveSet,
  type ObjectChange,
} from "./live-objects.ts";

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

/** The same for few changes, as parts of the statement that moves the watermark. */
export const foldTimelocksAtOnce = (changes: readonly ObjectChange<TimelockState>[]): AtOnce =>
  foldAtOnce(liveSet, changes);

/** Forgets all grants and the grant part of all balances, before a rebuild. */
export const clearTimelocks = (tx: Tx): Promise<void> => clearLiveSet(tx, liveSet);

/** A live grant; amounts in the coin's smallest unit. */
export type TokenTimelock = Omit<
  typeof timelockObjectsTable.$inferSelect,
  "coinType" | "version" | "checkpoint"
>;

const grants = (condition: string) => `
  select included, grants.* from (select ${GRANTS_INCLUDED} as included) as told
  -- One row comes always, so that an empty list can be told from one that must not be shown.
  left join lateral (
    select object_id as "objectId", owner, funder, release_schedule_id as "releaseScheduleId",
           release_count as "releaseCount",
           delay_until_first_release_ms as "delayUntilFirstReleaseMs",
           period_between_releases_ms as "periodBetweenReleasesMs",
           initial_release_portion_bps as "initialReleasePortionBps",
           commencement_timestamp_ms as "commencementTimestampMs", total_amount as "totalAmount",
           tokens_transferred as "tokensTransferred", left_balance as "leftBalance"
    from timelock_objects
    where told.included and coin_type = $1 ${condition}
    order by timelock_objects.commencement_timestamp_ms, timelock_objects.object_id
    limit (select $2::int8)
  ) as grants on true`;

const OF_COIN = grants("");
const OF_OWNER = grants("and owner = $3");

/** As Postgres sends it: numbers as digits; all but `included` null in the row of an empty list. */
type GrantRow = { readonly included: boolean } & {
  readonly [Member in keyof TokenTimelock]: string;
};

/**
 * Live grants of a coin, or of one owner, earliest commencement first, then by object id; empty for an
 * unknown coin type or owner.
 * @throws GrantIndexBehindError (wait) while the list could hold grants that are gone
 */
export const tokenTimelocks = async (
  on: Reads,
  {
    coinType,
    owner,
    limit,
  }: {
    readonly coinType: string;
    readonly owner?: string | undefined;
    readonly limit: number;
  },
): Promise<TokenTimelock[]> => {
  const rows =
    owner === undefined
      ? await read<GrantRow>(on, OF_COIN, [coinType, limit])
      : await read<GrantRow>(on, OF_OWNER, [coinType, limit, owner]);
  const [first] = rows;
  if (first?.included !== true) throw new GrantIndexBehindError();
  return first.objectId === null ? [] : rows.map(grantOf);
};

const grantOf = (row: GrantRow): TokenTimelock => ({
  objectId: row.objectId,
  owner: row.owner,
  funder: row.funder,
  releaseScheduleId: BigInt(row.releaseScheduleId),
  releaseCount: BigInt(row.releaseCount),
  delayUntilFirstReleaseMs: BigInt(row.delayUntilFirstReleaseMs),
  periodBetweenReleasesMs: BigInt(row.periodBetweenReleasesMs),
  initialReleasePortionBps: BigInt(row.initialReleasePortionBps),
  commencementTimestampMs: BigInt(row.commencementTimestampMs),
  totalAmount: BigInt(row.totalAmount),
  tokensTransferred: BigInt(row.tokensTransferred),
  leftBalance: BigInt(row.leftBalance),
});
