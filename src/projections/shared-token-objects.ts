/** Current and past `SharedToken` objects. */
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { type BalanceChangeRow, tokenChangesTable } from "./balance-changes.ts";
import { append, type BatchWrite } from "./batch-write.ts";
import {
  currentObjects,
  foldChanges,
  type LiveSet,
  type ObjectChange,
  type ObjectKey,
  objectKey,
} from "./live-objects.ts";
import {
  keepGrants,
  keepTokens,
  type SeenGrant,
  type TokenNews,
  tokenSuppliesTable,
} from "./tokens.ts";

export const sharedTokenObjectsTable = pgTable(
  "shared_token_objects",
  {
    objectId: identifier("object_id").notNull(),
    coinType: identifier("coin_type").notNull(),
    owner: identifier("owner").notNull(),
    /** In the coin's smallest unit; may be 0. */
    balance: u64("balance").notNull(),
    /** Version and checkpoint of the last write, even by a failed transaction. */
    version: u64("version").notNull(),
    checkpoint: int8("checkpoint").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.objectId, t.coinType] }),
    index("shared_token_objects_of_owner").on(t.coinType, t.owner, t.objectId),
  ],
);

/**
 * States at the end of a checkpoint that a later one replaced or ended; current ones are in
 * `shared_token_objects` only.
 */
export const sharedTokenRangesTable = pgTable(
  "shared_token_ranges",
  {
    objectId: identifier("object_id").notNull(),
    coinType: identifier("coin_type").notNull(),
    owner: identifier("owner").notNull(),
    balance: u64("balance").notNull(),
    version: u64("version").notNull(),
    /** First checkpoint at whose end it was in this state. */
    checkpoint: int8("checkpoint").notNull(),
    /** First checkpoint at whose end it was not. */
    until: int8("until").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.objectId, t.checkpoint, t.coinType] }),
    index("shared_token_ranges_of_owner").on(t.coinType, t.owner, t.objectId, t.until),
  ],
);

export type SharedTokenState = Omit<typeof sharedTokenObjectsTable.$inferSelect, "objectId">;

const liveSet: LiveSet = { table: sharedTokenObjectsTable, held: "balance", part: "token" };

export type TokenRows = {
  /** States at the batch's end. */
  readonly objects: readonly ObjectChange<SharedTokenState>[];
  /** States that the batch replaced or ended. */
  readonly ended: readonly (typeof sharedTokenRangesTable.$inferSelect)[];
  readonly changes: readonly BalanceChangeRow[];
  readonly grants: readonly SeenGrant[];
  readonly tokens: TokenNews;
};

/** Current states by `objectKey`. */
export const currentTokens = async (
  sql: Sql,
  objects: readonly ObjectKey[],
): Promise<Map<string, SharedTokenState>> => {
  const rows = await currentObjects<StoredToken>(sql, liveSet.table, objects);
  return new Map(
    rows.map(({ objectId, ...row }) => [
      objectKey({ objectId, ...row }),
      { ...row, balance: BigInt(row.balance), version: BigInt(row.version) },
    ]),
  );
};

type StoredToken = Omit<typeof sharedTokenObjectsTable.$inferSelect, "balance" | "version"> & {
  readonly balance: string;
  readonly version: string;
};

/**
 * Folds a batch into live objects, the token part of balances, and the history of both. Throws
 * ImpossibleBalanceError (stop).
 */
export const foldSharedTokens = (rows: TokenRows): readonly BatchWrite[] => [
  foldChanges(liveSet, rows.objects),
  append(sharedTokenRangesTable, rows.ended),
  append(tokenChangesTable, rows.changes),
  keepGrants(rows.grants),
  keepTokens(rows.tokens),
  append(tokenSuppliesTable, rows.tokens.supplies),
];

export type TokenObject = {
  readonly objectId: string;
  readonly owner: string;
  readonly balance: bigint;
  readonly version: bigint;
  readonly checkpoint: bigint;
};

const OBJECT_COLUMNS = `object_id as "objectId", owner, balance, version, checkpoint`;

const OF_OWNER = "coin_type = $1 and owner = $2 and object_id > $4";

const OBJECTS = `
  select ${OBJECT_COLUMNS} from shared_token_objects
  where ${OF_OWNER}
  order by object_id
  limit (select $3::int8)`;

/** Current objects, and those that ended since. */
const OBJECTS_AT = `
  (select ${OBJECT_COLUMNS} from shared_token_objects
   where ${OF_OWNER} and checkpoint <= $5
   order by object_id limit (select $3::int8))
  union all
  (select ${OBJECT_COLUMNS} from shared_token_ranges
   where ${OF_OWNER} and checkpoint <= $5 and until > $5
   order by object_id limit (select $3::int8))
  order by "objectId"
  limit (select $3::int8)`;

/** As Postgres sends it: `numeric` columns as digits. */
type ObjectRow = Omit<TokenObject, "balance" | "version"> & {
  readonly balance: string;
  readonly version: string;
};

/**
 * An owner's objects of one coin, now or at the end of checkpoint `at`, by object id; empty if
 * unknown. `after`: object id of the last row seen.
 */
export const tokenObjects = async (
  on: Reads,
  query: {
    readonly coinType: string;
    readonly owner: string;
    readonly limit: number;
    readonly after?: string | undefined;
    readonly at?: bigint | undefined;
  },
): Promise<TokenObject[]> => {
  const { coinType, owner, limit, after = "", at } = query;
  const given = [coinType, owner, limit, after];
  const rows = await (at === undefined
    ? read<ObjectRow>(on, OBJECTS, given)
    : read<ObjectRow>(on, OBJECTS_AT, [...given, at]));
  return rows.map((row) => ({
    ...row,
    balance: BigInt(row.balance),
    version: BigInt(row.version),
  }));
};
