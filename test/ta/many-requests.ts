/** A table of many requests, and how many of its rows a read takes. */
import type { Database, Sql } from "../../src/database/connect.ts";

const INVESTORS = 1_000;

/** The `n`th investor's wallet. */
export const walletOf = (n: number): string => `0x${n.toString(16).padStart(64, "0")}`;

/** `count` requests of a thousand investors in turn, each with one wallet; one in 1000 FAILED. */
export const fillRequests = async (
  sql: Sql,
  {
    asset,
    keyId,
    count,
  }: { readonly asset: string; readonly keyId: string; readonly count: number },
) => {
  await sql`
    insert into ta_lanes (asset, investor_id)
    select ${asset}, 'inv-' || n from generate_series(0, ${INVESTORS - 1}::int4) as n`;
  await sql`
    insert into ta_requests (id, lane_id, asset, kind, investor_id, wallet, verified_status, status,
                             reason, message, key_id, created_at, updated_at)
    select gen_random_uuid(), l.id, l.asset, 'whitelist', l.investor_id,
           '0x' || lpad(to_hex(n % ${INVESTORS}::int4), 64, '0'), true, ending.status,
           case ending.status when 'FAILED' then 'SIGNING_ERROR' end, 'ended', ${keyId}, ending.at,
           ending.at
    from generate_series(1, ${count}::int4) as n
    join ta_lanes l on l.asset = ${asset} and l.investor_id = 'inv-' || n % ${INVESTORS}::int4
    cross join lateral (
      select case n % 1000 when 0 then 'FAILED' else 'SUCCESS' end as status,
             now() - (${count}::int4 - n) * interval '1 ms' as at) as ending
    order by n`;
  await sql`analyze ta_requests, ta_lanes`;
};

/** Rows of `ta_requests` that a read takes: all of them, and those without an index. */
export const rowsRead = (
  database: Pick<Database, "transaction">,
  read: (on: { readonly sql: Sql }) => Promise<unknown>,
): Promise<{ readonly byIndex: number; readonly scanned: number }> =>
  database.transaction(async ({ sql }) => {
    const before = await counted(sql);
    await read({ sql });
    const after = await counted(sql);
    return { byIndex: after.byIndex - before.byIndex, scanned: after.scanned - before.scanned };
  });

/** Those of this connection since it last reported its statistics, which no transaction does. */
const counted = async (sql: Sql) => {
  const [row] = await sql<{ byIndex: number; scanned: number }[]>`
    select pg_stat_get_xact_tuples_fetched('ta_requests'::regclass)::int4 as "byIndex",
           pg_stat_get_xact_tuples_returned('ta_requests'::regclass)::int4 as scanned`;
  return { byIndex: row?.byIndex ?? 0, scanned: row?.scanned ?? 0 };
};
