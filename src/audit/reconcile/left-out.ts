/** Facts that operators left out of the rows (`quarantine resolve`), beside the acts that say so. */
import type { Sql } from "../../database/connect.ts";
import type { Findings } from "./findings.ts";

type Row = {
  readonly coinType: string;
  readonly pipeline: string;
  /** Of the fact, in words. */
  readonly place: string;
  readonly by: string;
  readonly because: string;
  readonly isAct: boolean;
  readonly isLeftOut: boolean;
};

/** In `operator_acts`, which the sequence covers, and in `quarantines`, which the pipelines follow. */
const RESOLUTIONS = `
  with acts as (
    select coin_type, d ->> 'pipeline' as pipeline, d ->> 'checkpoint' as checkpoint, d ->> 'transaction' as transaction,
      d ->> 'kind' as kind, d ->> 'index' as index, d ->> 'type' as type, d ->> 'digest' as digest, d ->> 'by' as by, d ->> 'because' as because
    from operator_acts, lateral (select details::jsonb as d) as details
    where command = 'quarantine resolve'),
  left_out as (
    select coin_type, pipeline, checkpoint::text, transaction::text, kind, index::text, type, tx_digest as digest, by, reason as because
    from quarantines where event = 'resolved')
  select coin_type as "coinType", pipeline,
    format('the %s of checkpoint %s, transaction %s, index %s', kind, checkpoint, transaction, index) as place,
    coalesce(a.by, q.by, '') as by, coalesce(a.because, q.because, '') as because,
    a.by is not null as "isAct", q.by is not null as "isLeftOut"
  from acts a full join left_out q using (coin_type, pipeline, checkpoint, transaction, kind, index, type, digest)
  where $1::text is null or coin_type = $1
  order by coin_type, pipeline, checkpoint::int8, transaction::int8, index::int8`;

/** That these facts need not be in the rows, in words; finds those without an act, and acts that are not followed. */
export const leftOutOnFaith = async (
  sql: Sql,
  coinType: string | undefined,
  found: Findings,
): Promise<readonly string[]> => {
  const onFaith: string[] = [];
  for (const row of await sql.unsafe<Row[]>(RESOLUTIONS, [coinType ?? null])) {
    const what = `${row.coinType}, ${row.pipeline}: ${row.place}`;
    if (!row.isAct) found.add(`quarantines: ${what} is left out, but no act says so`);
    else if (!row.isLeftOut) found.add(`quarantines: ${what} is not left out, but an act says so`);
    else onFaith.push(`that a fact may be left out, ${what}: by ${row.by}: ${row.because}`);
  }
  return onFaith;
};
