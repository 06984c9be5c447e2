/**
 * Snapshots of the register, for several statements.
 *
 * Names resolve to the newest tables even in an older snapshot, which would see a replay's rows as they were before
 * the exchange. So a snapshot begins by locking what an exchange locks first, and takes its state then.
 */
import { getTableName } from "drizzle-orm";
import type { Db } from "../database/connect.ts";
import type { ProgressTables } from "../projections/progress-tables.ts";
import { ledgerPipelines } from "./ledger-pipelines.ts";

const locked = (pipelines: readonly ProgressTables[]): readonly string[] =>
  pipelines.map(({ watermark }) => `public.${getTableName(watermark)}`);

/** Tables to lock, in this order, in the mode of a reader. */
export const LOCKED_FIRST: readonly string[] = locked(ledgerPipelines);

/**
 * To be called before the first statement of a transaction.
 * @param read pipelines whose rows it reads, in the order of the list: others may be exchanged meanwhile
 */
export const beginSnapshot = async (
  { sql }: Db,
  read: readonly ProgressTables[] = ledgerPipelines,
): Promise<void> => {
  await sql
    .unsafe(
      `set transaction isolation level repeatable read; lock table ${locked(read).join(", ")} in access share mode`,
    )
    .simple();
};
