/**
 * The vesting grants (`Timelock` objects) that stand now.
 */
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Sql, Tx } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { appendRows } from "../database/table-rows.ts";
import { type AtOnce, appendAtOnce, together } from "../database/writing.ts";
import { type BalanceChangeRow, grantChangesTable } from "./balance-changes.ts";
import { GRANTS_INCLUDED, GrantIndexBehindError } from "./grant-lag.ts";
import {
  clearLiveSet,
  foldAtOnce,
  foldChanges,
  type LiveSet,
  type ObjectChange,
  standing,
} from "./live-objects.ts";

/** Amounts in the coin's smallest unit; times and periods in milliseconds, as the contract has them. */
const columns = () => ({
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
});

export const timelockObjectsTable = pgTable(
  "timelock_objects",
  { objectId: identifier("object_id").primaryKey(), ...columns() },
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

/**
 * How grants stood before: each state at the end of a checkpoint that a later one replaced or ended.
 * The row of a grant that stands now is in `timelock_objects` alone.
 */
export const timelockRangesTable = pgTable(
  "timelock_ranges",
  {
    objectId: identifier("object_id").notNull(),
    ...columns(),
    /** The first checkpoint it no longer stood like this after. */
    until: int8("until").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.objectId, t.checkpoint] }),
    index("timelock_ranges_of_coin").on(t.coinType, t.commencementTimestampMs, t.objectId, t.until),
    index("timelock_ranges_of_owner").on(
      t.coinType,
      t.owner,
      t.commencementTimestampMs,
      t.objectId,
      t.until,
    ),
  ],
);

/** A grant as it stands. */
export type TimelockState = Omit<typeof timelockObjectsTable.$inferSelect, "objectId">;

const liveSet: LiveSet = { table: timelockObjectsTable, held: "left_balance", part: "grant" };

/** What a batch says of grants. */
export type GrantRows = {
  /** How its grants stand at its end. */
  readonly objects: readonly ObjectChange<TimelockState>[];
  /** How they stood between, and before. */
  readonly ended: readonly (typeof timelockRangesTable.$inferSelect)[];
  readonly changes: readonly BalanceChangeRow[];
};

/** The grants of these ids, as they stand. */
export const standingTimelocks = async (
  sql: Sql,
  objectIds: readonly string[],
): Promise<Map<string, TimelockState>> => {
  const rows = await standing<StoredGrant>(sql, liveSet, objectIds);
  return new Map(
    rows.map(({ objectId, coinType, version, checkpoint, ...row }) => {
      const { objectId: _, ...grant } = grantOf({ objectId, ...row });
      return [objectId, { coinType, ...grant, version: BigInt(version), checkpoint }];
    }),
  );
};

/** As Postgres sends it. */
type StoredGrant = GrantRow & {
  readonly coinType: string;
  readonly version: string;
  readonly checkpoint: bigint;
};

/**
 * Folds a batch into the live grants, the grant part of their owners' balances and the history of both.
 * @throws ImpossibleBalanceError (stop)
 */
export const foldTimelocks = async (tx: Tx, rows: GrantRows): Promise<void> => {
  await foldChanges(tx, liveSet, rows.objects);
  await appendRows(tx.sql, timelockRangesTable, rows.ended);
  await appendRows(tx.sql, grantChangesTable, rows.changes);
};

/** The same for few rows, as parts of the statement that moves the watermark. */
export const foldTimelocksAtOnce = (rows: GrantRows): AtOnce =>
  together([
    foldAtOnce(liveSet, rows.objects),
    appendAtOnce(timelockRangesTable, rows.ended),
    appendAtOnce(grantChangesTable, rows.changes),
  ]);

/** Forgets all of it, and the grant part of all balances, before a rebuild. */
export const clearTimelocks = async (tx: Tx): Promise<void> => {
  await tx.sql`truncate timelock_ranges, grant_changes`;
  await clearLiveSet(tx, liveSet);
};

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

/** As Postgres sends it: numbers as digits. */
type GrantRow = { readonly [Member in keyof TokenTimelock]: string };

/** All but `included` are null in the row of an empty list. */
type ListedGrant = { readonly included: boolean } & GrantRow;

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
      ? await read<ListedGrant>(on, OF_COIN, [coinType, limit])
      : await read<ListedGrant>(on, OF_OWNER, [coinType, limit, owner]);
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
