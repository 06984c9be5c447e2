/**
 * The lines that a pipeline should have made of one checkpoint: its facts, read from the log anew, applied to
 * what its tables say stood before. Views with the names of its tables show that to the pipeline's own code.
 */
import type { Db, Sql } from "../../database/connect.ts";
import { readFacts } from "../../log/read-facts.ts";
import type { RunnablePipeline } from "../../pipelines/pipeline.ts";
import type { DigestLine } from "../../projections/digest-lines.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";

const BEFORE = "current_setting('holderbook.before')::int8";

const stood = (columns: string, live: string, ended: string) => `
  select ${columns} from public.${live} where checkpoint < ${BEFORE}
  union all
  select ${columns} from public.${ended} where checkpoint < ${BEFORE} and until >= ${BEFORE}`;

const open = (columns: string, table: string) => `
  select ${columns}, checkpoint, case when until >= ${BEFORE} then ${STILL_OPEN} else until end as until
  from public.${table} where checkpoint < ${BEFORE}`;

const lastChange = (table: string) => `
  coalesce((select balance_after from public.${table} c
            where c.coin_type = o.coin_type and c.owner = o.owner and c.position < ${BEFORE} * 1000000000
            order by c.position desc limit 1), 0)`;

const GRANT = `
  object_id, coin_type, owner, funder, release_schedule_id, release_count, delay_until_first_release_ms,
  period_between_releases_ms, initial_release_portion_bps, commencement_timestamp_ms, total_amount,
  tokens_transferred, left_balance, version, checkpoint`;

const VIEWS: Readonly<Record<string, string>> = {
  shared_token_objects: stood(
    "object_id, coin_type, owner, balance, version, checkpoint",
    "shared_token_objects",
    "shared_token_ranges",
  ),
  timelock_objects: stood(GRANT, "timelock_objects", "timelock_ranges"),
  token_grants: stood(
    "object_id, tokens_transferred, left_balance",
    "timelock_objects",
    "timelock_ranges",
  ),
  balances: `
    select coin_type, owner, ${lastChange("token_changes")} as token_balance,
           ${lastChange("grant_changes")} as grant_balance
    from (select coin_type, owner from public.token_changes
          union select coin_type, owner from public.grant_changes) o`,
  membership_ranges: open("coin_type, address, aspect, value", "membership_ranges"),
  role_ranges: open("coin_type, owner, role", "role_ranges"),
};

/** Makes the views, in the session that `sql` is of and for that one alone. */
export const showThePast = async (sql: Sql): Promise<void> => {
  await sql`select set_config('holderbook.before', '0', true)`;
  for (const [name, text] of Object.entries(VIEWS)) {
    await sql.unsafe(`create temporary view ${name} as ${text}`);
  }
};

/**
 * What a pipeline makes of a checkpoint's facts, by what its tables say of the checkpoints before.
 * `showThePast` was called in the same transaction.
 * @throws UndecodableFactError (stop) where a fact cannot be read
 */
export const expectedLines = async (
  tx: Db,
  pipeline: RunnablePipeline,
  checkpoint: bigint,
): Promise<readonly DigestLine[]> => {
  const { sql } = tx;
  await sql`select set_config('holderbook.before', ${`${checkpoint}`}, true)`;
  const one = { from: checkpoint, upTo: checkpoint, maxFacts: 1, maxBytes: 1 };
  const batch = await readFacts(sql, { ...one, names: pipeline.facts });
  if (batch === null) return [];
  const prepared = await pipeline.prepare(batch.facts, {
    statement: (work) => work(sql),
    transaction: (work) => work(tx),
  });
  return prepared.lines({ first: checkpoint, last: checkpoint });
};
