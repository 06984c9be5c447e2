import { getTableName } from "drizzle-orm";
import type { CheckpointMark } from "../../src/log/fact.ts";
import type { WatermarkTable } from "../../src/projections/progress-tables.ts";
import { LAYOUT_WITH_PAST } from "../../src/projections/progress-tables.ts";
import type { TestDatabase } from "../postgres.ts";

/** Puts a pipeline's watermark after a checkpoint, from wherever it stands. */
export const setWatermark = async (
  { sql }: TestDatabase,
  table: WatermarkTable,
  { sequence, digest, timestampMs }: CheckpointMark,
): Promise<void> => {
  const name = getTableName(table);
  await sql`
    insert into ${sql(name)} (pipeline, layout, next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms)
    values (${name.replace(/_watermark$/, "")}, ${LAYOUT_WITH_PAST}, ${sequence + 1n}, ${sequence},
            ${digest}, ${timestampMs})
    on conflict (pipeline) do update
    set next_checkpoint = excluded.next_checkpoint, last_checkpoint = excluded.last_checkpoint,
        last_digest = excluded.last_digest, last_timestamp_ms = excluded.last_timestamp_ms,
        committed_at = now()`;
};

/** As an upgrade leaves a pipeline whose new tables are not filled yet, and as it is afterwards. */
export const setFilled = async (
  { sql }: TestDatabase,
  table: WatermarkTable,
  isFilled: boolean,
): Promise<void> => {
  const layout = isFilled ? LAYOUT_WITH_PAST : LAYOUT_WITH_PAST - 1;
  await sql`update ${sql(getTableName(table))} set layout = ${layout}`;
};

/** What is told while tables that an upgrade added are being filled; null: nothing is. */
export const setFilledThrough = async (
  { sql }: TestDatabase,
  table: WatermarkTable,
  checkpoint: bigint | null,
): Promise<void> => {
  await sql`update ${sql(getTableName(table))} set filled_checkpoint = ${checkpoint}`;
};

/** As a rebuild leaves a pipeline until it is back there; null: as it is afterwards. */
export const setRebuilding = async (
  { sql }: TestDatabase,
  table: WatermarkTable,
  to: bigint | null,
): Promise<void> => {
  await sql`update ${sql(getTableName(table))} set rebuilding_to = ${to}`;
};

/** As if the pipeline had never run. */
export const loseWatermark = async (
  { sql }: TestDatabase,
  table: WatermarkTable,
): Promise<void> => {
  await sql`delete from ${sql(getTableName(table))}`;
};

/** As if the pipeline held this coin, and no other one. */
export const setHeld = async (
  { sql }: TestDatabase,
  table: WatermarkTable,
  coinType: string,
  { from, reason }: { readonly from: bigint; readonly reason: string },
): Promise<void> => {
  const held = { from: `${from}`, reason, since: new Date().toISOString(), fact: null };
  await sql`
    update ${sql(getTableName(table))}
    set held = ${JSON.stringify({ [coinType]: held })}::text::jsonb, undigested_from = ${from}`;
};

/** As if the pipeline had never held a coin. */
export const setNoneHeld = async ({ sql }: TestDatabase, table: WatermarkTable): Promise<void> => {
  await sql`update ${sql(getTableName(table))} set held = null, undigested_from = null`;
};
