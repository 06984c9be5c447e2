/**
 * The lines that a pipeline should have made of one checkpoint: its facts, read from the log anew, applied to
 * what its tables say stood before. Views with the names of its tables show that to the pipeline's own code.
 */
import { getTableName } from "drizzle-orm";
import type { Db, Sql } from "../../database/connect.ts";
import { readFacts } from "../../log/read-facts.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { makeRows, type Pipeline } from "../../pipelines/pipeline.ts";
import { BEFORE_SETTING } from "../../pipelines/stored-tables.ts";
import type { DigestLine } from "../../projections/digest-lines.ts";
import { within } from "./folded-log.ts";

/** Makes the views, in the session of `sql` and for that one alone. */
export const showThePast = async (sql: Sql): Promise<void> => {
  await sql`select set_config(${BEFORE_SETTING}, '0', true)`;
  const stored = ledgerPipelines.flatMap(({ tables, sharedTables = [] }) => [
    ...tables,
    ...sharedTables,
  ]);
  for (const { table, before } of new Set(stored)) {
    if (before === null) continue;
    await sql.unsafe(`create temporary view ${getTableName(table)} as ${before}`);
  }
};

/**
 * What a pipeline makes of a checkpoint's facts, by what its tables say of the checkpoints before.
 * `showThePast` was called in the same transaction.
 * @throws UndecodableFactError (stop) where a fact cannot be read
 */
export const expectedLines = async (
  tx: Db,
  pipeline: Pipeline,
  checkpoint: bigint,
): Promise<readonly DigestLine[]> => {
  const { sql } = tx;
  await sql`select set_config(${BEFORE_SETTING}, ${`${checkpoint}`}, true)`;
  const one = { from: checkpoint, upTo: checkpoint, maxFacts: 1, maxBytes: 1 };
  const batch = await readFacts(sql, { ...one, names: pipeline.facts });
  if (batch === null) return [];
  const rows = await makeRows(pipeline, batch.facts, within(tx));
  return rows.lines({ first: checkpoint, last: checkpoint });
};
