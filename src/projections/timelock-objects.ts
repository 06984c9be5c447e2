/** Current and past vesting grants (`Timelock` objects). */
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { type BalanceChangeRow, grantChangesTable } from "./balance-changes.ts";
import { GRANTS_INCLUDED, GrantIndexBehindError } from "./balance-progress.ts";
import { append, type BatchWrite } from "./batch-write.ts";
import {
  currentObjects,
  foldChanges,
  type LiveSet,
  type ObjectChange,
  type ObjectKey,
  objectKey,
} from "./live-objects.ts";

/** Amounts in the coin's smallest unit; times and periods in milliseconds, as in the contract. */
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
  /** Amount left: locked, or unlocked and unclaimed. */
  leftBalance: u64("left_balance").notNull(),
  /** Version and checkpoint of the last write, even by a failed transaction. */
  version: u64("version").notNull(),
  checkpoint: int8("checkpoint").notNull(),
});

export const timelockObjectsTable = pgTable(
  "timelock_objects",
  { objectId: identifier("object_id").notNull(), ...columns() },
  (t) => [
    primaryKey({ columns: [t.objectId, t.coinType] }),
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
 * States at the end of a checkpoint that a later one replaced or ended; current ones are in
 * `timelock_objects` only.
 */
export const timelockRangesTable = pgTable(
  "timelock_ranges",
  {
    objectId: identifier("object_id").notNull(),
    ...columns(),
    /** First checkpoint at whose end it was not in this state. */
    until: int8("until").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.objectId, t.checkpoint, t.coinType] }),
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

export type TimelockState = Omit<typeof timelockObjectsTable.$inferSelect, "objectId">;

const liveSet: LiveSet = { table: timelockObjectsTable, held: "left_balance", part: "grant" };

export type GrantRows = {
  /** States at the batch's end. */
  readonly objects: readonly ObjectChange<TimelockState>[];
  /** States that the batch replaced or ended. */
  readonly ended: readonly (typeof timelockRangesTable.$inferSelect)[];
  readonly changes: readonly BalanceChangeRow[];
};

/** Current states by `objectKey`. */
export const currentTimelocks = async (
  sql: Sql,
  objects: readonly ObjectKey[],
): Promise<Map<string, TimelockState>> => {
  const rows = await currentObjects<StoredGrant>(sql, liveSet.table, objects);
  return new Map(
    rows.map(({ objectId, coinType, version, checkpoint, ...row }) => {
      const { objectId: _, ...grant } = grantOf({ objectId, ...row });
      const key = objectKey({ coinType, objectId });
      return [key, { coinType, ...grant, version: BigInt(version), checkpoint }];
    }),
  );
};

type StoredGrant = GrantRow & {
  readonly coinType: string;
  readonly version: string;
  readonly checkpoint: bigint;
};

/**
 * Folds a batch into live grants, the grant part of balances, and the history of both. Throws
 * ImpossibleBalanceError (stop).
 */
export const foldTimelocks = (rows: GrantRows): readonly BatchWrite[] => [
  foldChanges(liveSet, rows.objects),
  append(timelockRangesTable, rows.ended),
  append(grantChangesTable, rows.changes),
];

/** Amounts in the coin's smallest unit. */
export type TokenTimelock = Omit<
  typeof timelockObjectsTable.$inferSelect,
  "coinType" | "version" | "checkpoint"
>;

/** Columns that `grantOf` decodes. */
export const GRANT_COLUMNS = `
  object_id as "objectId", owner, funder, release_schedule_id as "releaseScheduleId",
  release_count as "releaseCount", delay_until_first_release_ms as "delayUntilFirstReleaseMs",
  period_between_releases_ms as "periodBetweenReleasesMs",
  initial_release_portion_bps as "initialReleasePortionBps",
  commencement_timestamp_ms as "commencementTimestampMs", total_amount as "totalAmount",
  tokens_transferred as "tokensTransferred", left_balance as "leftBalance"`;

const IN_ORDER = `
  order by GRANTS.commencement_timestamp_ms, GRANTS.object_id limit (select $2::int8)`;

/** A table's page, of a coin or an owner, behind the last row seen. */
const page = (table: string, condition: string): string => `
  select ${GRANT_COLUMNS} from ${table}
  where coin_type = $1 and (commencement_timestamp_ms, object_id) > ($3::numeric, $4) ${condition}
  ${IN_ORDER.replaceAll("GRANTS", table)}`;

const present = (condition: string) => `
  select included, grants.* from (select ${GRANTS_INCLUDED} as included) as progress
  -- Always one row: an empty list differs from one that must not be shown.
  left join lateral (${page("timelock_objects", `and progress.included ${condition}`)}) as grants on true`;

/** Current grants, and those that ended since; $5 is the checkpoint. */
const past = (condition: string) => `
  (${page("timelock_objects", `and checkpoint <= $5 ${condition}`)})
  union all
  (${page("timelock_ranges", `and checkpoint <= $5 and until > $5 ${condition}`)})
  order by "commencementTimestampMs", "objectId" limit (select $2::int8)`;

const OF_COIN = present("");
const OF_OWNER = present("and owner = $5");
const OF_COIN_AT = past("");
const OF_OWNER_AT = past("and owner = $6");

/** As Postgres sends it: numbers as digits. */
export type GrantRow = { readonly [Member in keyof TokenTimelock]: string };

/** All but `included` are null for an empty list. */
type ListedGrant = { readonly included: boolean } & GrantRow;

/** Cursor: commencement (ms) and object id of a page's last row. */
export type GrantPlace = { readonly commencementTimestampMs: bigint; readonly objectId: string };

/** Times are never negative. */
const BEFORE_ALL_GRANTS: GrantPlace = { commencementTimestampMs: -1n, objectId: "" };

/**
 * Grants of a coin, or of one owner, now or at the end of checkpoint `at`, by commencement, then
 * object id; empty if unknown.
 * @throws GrantIndexBehindError (wait) while a current list could hold grants that are gone
 */
export const tokenTimelocks = async (
  on: Reads,
  query: {
    readonly coinType: string;
    readonly owner?: string | undefined;
    readonly limit: number;
    readonly after?: GrantPlace | undefined;
    readonly at?: bigint | undefined;
  },
): Promise<TokenTimelock[]> => {
  const { coinType, owner, limit, after = BEFORE_ALL_GRANTS, at } = query;
  const given = [coinType, limit, after.commencementTimestampMs.toString(), after.objectId];
  const ofOwner = owner === undefined ? [] : [owner];
  if (at !== undefined) {
    const text = owner === undefined ? OF_COIN_AT : OF_OWNER_AT;
    return (await read<GrantRow>(on, text, [...given, at, ...ofOwner])).map(grantOf);
  }
  const text = owner === undefined ? OF_COIN : OF_OWNER;
  const rows = await read<ListedGrant>(on, text, [...given, ...ofOwner]);
  const [first] = rows;
  if (first?.included !== true) throw new GrantIndexBehindError();
  return first.objectId === null ? [] : rows.map(grantOf);
};

export const grantOf = (row: GrantRow): TokenTimelock => ({
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

export type GrantState = {
  readonly checkpoint: bigint;
  /** State after the checkpoint, or before it if the grant ended there. */
  readonly grant: TokenTimelock;
  /** True if the checkpoint replaced or ended this state; its new state, if any, follows. */
  readonly isOver: boolean;
};

const states = (table: string, at: string, isOver: boolean): string => `
  select ${at} as at, ${isOver} as "isOver", ${GRANT_COLUMNS}
  from ${table} where coin_type = $1 and ${at} <= $2`;

const STATES_PER_PAGE = 10_000;

const STATES = `
  select * from (
    ${states("timelock_objects", "checkpoint", false)}
    union all ${states("timelock_ranges", "checkpoint", false)}
    union all ${states("timelock_ranges", "until", true)}) as states
  where (at, "objectId", not "isOver") > ($3, $4, $5)
  order by at, "objectId", not "isOver" limit ${STATES_PER_PAGE}`;

type StateRow = GrantRow & { readonly at: bigint; readonly isOver: boolean };

/**
 * A coin's grant states up to a checkpoint, by checkpoint, then object. No index has this order, so each page looks at
 * all of the coin's states.
 */
export async function* grantStates(
  on: Reads,
  { coinType, upTo }: { readonly coinType: string; readonly upTo: bigint },
): AsyncGenerator<GrantState> {
  for (let after: StateRow | undefined; ; ) {
    const { at = -1n, objectId = "", isOver = true } = after ?? {};
    const rows = await read<StateRow>(on, STATES, [coinType, upTo, at, objectId, !isOver]);
    for (const row of rows) yield { checkpoint: row.at, isOver: row.isOver, grant: grantOf(row) };
    after = rows.at(-1);
    if (rows.length < STATES_PER_PAGE) return;
  }
}
