/** Replays as their rows look some time after a kill. */
import { getTableName } from "drizzle-orm";
import type { Tx } from "../../src/database/connect.ts";
import { replaysTable } from "../../src/projections/replays.ts";

export const silenceReplays = async ({ sql }: Tx): Promise<void> => {
  await sql`update ${sql(getTableName(replaysTable))} set updated_at = updated_at - interval '1 minute'`;
};
