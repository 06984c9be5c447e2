/**
 * Computes and publishes both versions of a whole cap table's root, without a request for one of
 * its rows.
 */
import type { Root2 } from "../../../client/verify-statement.ts";
import type { Database, Sql } from "../../database/connect.ts";
import type { TableOf } from "../../projections/cap-table-json.ts";
import { type CapTables, type CapTotals, createCapTables } from "../../projections/cap-tables.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../../projections/needed.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { DeploymentKey, Signature } from "./deployment-key.ts";
import { publishRoot, publishRoot2, type Root, rootEntryOf } from "./published-roots.ts";
import type { SequenceEntry } from "./sequence.ts";

/**
 * The rows of a cap table do not add up to the treasury's supply: the database was altered, or
 * there is a defect. Nothing is signed, because a published root is permanent. Stop: reconcile the
 * register.
 */
export class SupplyMismatchError extends Error {
  override readonly name = "SupplyMismatchError";
  readonly remedy: Remedy = "stop";

  constructor(coinType: string, checkpoint: bigint, issued: bigint, totalSupply: bigint) {
    super(
      `the rows of ${coinType} at checkpoint ${checkpoint} add up to ${issued}, but the treasury's supply is ${totalSupply}. Nothing is signed: run \`holderbook reconcile\``,
    );
  }
}

/**
 * A replay's rows took the place of those that a root was computed from, before it was published. Nothing was signed.
 * Retry: compute it again.
 */
export class RowsReplacedError extends Error {
  override readonly name = "RowsReplacedError";
  readonly remedy: Remedy = "retry";

  constructor() {
    super(
      "the rows of the cap table were replaced by a replay's while its root was computed; nothing was signed, ask again",
    );
  }
}

/** Published roots of a table; version 2 only if it was computed. */
type VersionedRoots = { readonly version1: Root; readonly version2: Root2 | null };

export type Roots = VersionedRoots & {
  /** Of the rows, see `assertRows`. */
  readonly rebuilds: number;
};

/**
 * To be called after publishing, in its transaction: that holds the sequence then, as an exchange does.
 * @throws RowsReplacedError (retry)
 */
export const assertRows = async (sql: Sql, rebuilds: number): Promise<void> => {
  const now = await guardedReads({ sql }, FOR_CAP_TABLES).committed();
  if (now.rebuilds !== rebuilds) throw new RowsReplacedError();
};

/** @throws SupplyMismatchError (stop) */
export const rootsOf = (
  chainId: string,
  { coinType, decimals, mark, totalSupply }: TableOf,
  { issued, root, root2 }: Pick<CapTotals, "issued" | "root" | "root2">,
): VersionedRoots => {
  if (totalSupply !== null && totalSupply !== issued) {
    throw new SupplyMismatchError(coinType, mark.sequence, issued, totalSupply);
  }
  const of = {
    chainId,
    coinType,
    checkpoint: mark.sequence.toString(),
    checkpointDigest: mark.digest,
  };
  const total = issued.toString();
  const checkpointTimestampMs = mark.timestampMs.toString();
  return {
    version1: { ...of, root, total },
    version2:
      root2 === null ? null : { ...of, root: root2, total, decimals, checkpointTimestampMs },
  };
};

/** Decimals learned later do not change a published root. */
export const coveredDecimals = (
  published: SequenceEntry | undefined,
  { decimals }: Pick<TableOf, "decimals">,
): number | null => (published?.body.decimals === null ? null : decimals);

/**
 * @param tables the process's register cache
 * @throws SupplyMismatchError (stop), QuarantinedError (wait)
 */
export const tableRoots = async (
  { db, sql }: Pick<Database, "db" | "sql">,
  chainId: string,
  table: TableOf,
  tables: CapTables = createCapTables(),
): Promise<Roots> => {
  const { coinType, mark } = table;
  const { sequence: checkpoint, timestampMs } = mark;
  const decimals = coveredDecimals(await rootEntryOf(sql, { coinType, checkpoint }), table);
  const on = guardedReads(db, FOR_CAP_TABLES).ofCoin(coinType).at(checkpoint);
  const { rebuilds } = await on.committed();
  const totals = await tables.totals(on, {
    coinType,
    at: { checkpoint, timestampMs },
    decimals,
  });
  return { ...rootsOf(chainId, { ...table, decimals }, totals), rebuilds };
};

/**
 * Publishes both roots; returns the signature of version 1.
 * @param sql of a transaction
 * @throws RootConflictError (stop), RowsReplacedError (retry)
 */
export const publishRoots = async (
  sql: Sql,
  key: DeploymentKey,
  { version1, version2, rebuilds }: Roots,
): Promise<Signature> => {
  const signature = await publishRoot(sql, key, version1);
  if (version2 !== null) await publishRoot2(sql, key, version2);
  await assertRows(sql, rebuilds);
  return signature;
};
