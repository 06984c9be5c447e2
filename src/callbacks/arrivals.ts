/** How a transaction that leaves something to send makes itself known to the relays. */
import { texts } from "../database/column-arrays.ts";
import type { Tx } from "../database/connect.ts";

/** Notified when a transaction with something to send commits. */
export const CALLBACKS_CHANNEL = "holderbook_callbacks";

/** Tells the relays, when the transaction commits, that lanes have something to send. */
export const announceArrivals = async (
  { sql }: Pick<Tx, "sql">,
  arrivals: readonly { readonly endpoint: string; readonly lane: string }[],
): Promise<void> => {
  if (arrivals.length === 0) return;
  const endpoints = texts(arrivals.map(({ endpoint }) => endpoint));
  const lanes = texts(arrivals.map(({ lane }) => lane));
  await Promise.all([
    sql`
      insert into callback_arrivals (endpoint, lane)
      select distinct endpoint, lane
      from unnest(${endpoints}::text[], ${lanes}::text[]) as arrived (endpoint, lane)`,
    sql`select pg_notify(${CALLBACKS_CHANNEL}, '')`,
  ]);
};
