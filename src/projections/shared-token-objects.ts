/**
 * The `SharedToken` objects that stand now.
 */
import { index, pgTable } from "drizzle-orm/pg-core";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Tx } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import type { AtOnce } from "../database/writing.ts";
import {
  clearLiveSet,
  foldAtOnce,
  foldChanges,
  type LiveSet,
  type ObjectChange,
} from "./live-objects.ts";

export const sharedTokenObjectsTable = pgTable(
  "shared_token_objects",
  {
    objectId: identifier("object_id").primaryKey(),
    coinType: identifier("coin_type").notNull(),
    owner: identifier("owner").notNull(),
    /** In the coin's smallest unit; an object that holds nothing still stands. */
    balance: u64("balance").notNull(),
    /** Version and checkpoint of the last write, by a failed transaction too. */
    version: u64("version").notNull(),
    checkpoint: int8("checkpoint").notNull(),
  },
  (t) => [index("shared_token_objects_of_owner").on(t.coinType, t.owner, t.objectId)],
);

/** A `SharedToken` as it stands. */
export type SharedTokenState = Omit<typeof sharedTokenObjectsTable.$inferSelect, "objectId">;

const liveSet: LiveSet = { table: sharedTokenObjectsTable, held: "balance", part: "token" };

/**
 * Folds the changes of a batch into the live objects and the token part of their owners' balances.
 * @throws ImpossibleBalanceError (stop)
 */
export const foldSharedTokens = (
  tx: Tx,
  changes: readonly ObjectChange<SharedTokenState>[],
): Promise<void> => foldChanges(tx, liveSet, changes);

/** The same for few changes, as parts of the statement that moves the watermark. */
export const foldSharedTokensAtOnce = (
  changes: readonly ObjectChange<SharedTokenState>[],
): AtOnce => foldAtOnce(liveSet, changes);

/** Forgets all objects and the token part of all balances, before a rebuild. */
export const clearSharedTokens = (tx: Tx): Promise<void> => clearLiveSet(tx, liveSet);

/** A live object of one owner. */
export type TokenObject = {
  readonly objectId: string;
  readonly owner: string;
  readonly balance: bigint;
  readonly version: bigint;
  readonly checkpoint: bigint;
};

const OBJECTS = `
  select object_id as "objectId", owner, balance, version, checkpoint from shared_token_objects
  where coin_type = $1 and owner = $2
  order by object_id
  limit (select $3::int8)`;

type ObjectRow = Omit<TokenObject, "balance" | "version"> & {
  readonly balance: string;
  readonly version: string;
};

/** An owner's live objects of one coin, by object id ascending; empty for an unknown one of either. */
export const tokenObjects = async (
  on: Reads,
  query: { readonly coinType: string; readonly owner: string; readonly limit: number },
): Promise<TokenObject[]> => {
  const rows = await read<ObjectRow>(on, OBJECTS, [query.coinType, query.owner, query.limit]);
  return rows.map((row) => ({
    ...row,
    balance: BigInt(row.balance),
    version: BigInt(row.version),
  }));
};
