/**
 * Snapshots of the register, for several statements.
 *
 * Names resolve to the newest tables even in an older snapshot, which would see a replay's rows as they were before
 * the exchange. So a snapshot begins by locking what an exchange locks first, and takes its state then.
 */
import { getTableName } from "drizzle-orm";
import type { Db } from "../database/connect.ts";
import { ledgerPipelines } from "./ledger-pipelines.ts";

/** Tables to lock, in this order, in the mode of a reader. */
export const LOCKED_FIRST: readonly string[] = ledgerPipelines.map(
  ({ watermark }) => `public.${getTableName(watermark)}`,
);

/** To be called before the first statement of a transaction. */
export const beginSnapshot = async ({ sql }: Db): Promise<void> => {
  await sql
    .unsafe(
      `set transaction isolation level repeatable read; lock table ${LOCKED_FIRST.join(", ")} in access share mode`,
    )
    .simple();
};
