/** Says at the start which requests cannot go on, because their asset is not configured. */
import type { Sql } from "../../database/connect.ts";
import type { Logger } from "../../logging/logger.ts";

/** Most requests with a reservation that are named; there are rarely more than a few. */
const NAMED = 20;

/** Warns once for each asset that has open requests and is not among `assets`. */
export const warnOfLeftRequests = async (
  sql: Sql,
  assets: ReadonlySet<string>,
  logger: Pick<Logger, "warn">,
): Promise<void> => {
  const open = await sql<{ asset: string; requests: number }[]>`
    select asset, count(*)::int4 as requests from ta_requests
    where status in ('QUEUED', 'PENDING') group by asset`;
  for (const { asset, requests } of open) {
    if (assets.has(asset)) continue;
    const holding = await sql<{ requestId: string; purse: string; txId: string | null }[]>`
      select r.id as "requestId", p.resource as purse, r.tx_id as "txId"
      from ta_reservations p join ta_requests r on r.id = p.request_id
      where r.asset = ${asset} order by p.claimed_at limit ${NAMED}`;
    logger.warn(
      { asset, requests, holding },
      `transfer agent: ${requests} requests for ${asset} cannot go on, because ASSETS_FILE of this ` +
        "process does not name it: put it back until they are done. What pays for those under way " +
        '(`holding`) is held until their transactions are settled: see "An asset that is taken out" in ' +
        "docs/explanation/transfer-agent-processing.md",
    );
  }
};
