/** Says when a transaction is under way for longer than any should be, so that somebody looks at it. */
import type { Database } from "../../database/connect.ts";
import type { Logger } from "../../logger.ts";
import type { OpenRequest } from "./lanes.ts";

/** A transaction that is not executed after this is spoken of, and again each time as long. */
const OVERDUE_MINUTES = 10;

/** Warns when it is time to, once among all processes. */
export const warnWhenOverdue = async (
  { sql }: Pick<Database, "sql">,
  logger: Pick<Logger, "warn">,
  { id, asset, txId }: Pick<OpenRequest, "id" | "asset" | "txId">,
): Promise<void> => {
  const [row] = await sql<{ minutes: number }[]>`
    update ta_transactions set reminded_at = now()
    where request_id = ${id}
      and coalesce(reminded_at, created_at) < now() - ${OVERDUE_MINUTES} * interval '1 minute'
    returning floor(extract(epoch from now() - created_at) / 60)::int4 as minutes`;
  if (row === undefined) return;
  logger.warn(
    { requestId: id, asset, txId, minutes: row.minutes },
    `transfer agent: the transaction of request ${id} was signed ${row.minutes} minutes ago and is not ` +
      "executed; the same bytes are submitted again and again. On an EVM chain its fee may have become " +
      'too low: see "A transaction that is not executed" in docs/transfer-agent-processing.md',
  );
};
