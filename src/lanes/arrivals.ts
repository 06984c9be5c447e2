/** Producers of work wake the processes that do it. */
import { texts } from "../database/column-arrays.ts";
import type { Sql, Tx } from "../database/connect.ts";
import type { Lanes } from "./lanes.ts";

/**
 * Announces lanes with new work, in the transaction that writes it; locks no lane.
 * @param arrived names of lanes, in the order of the two `key` columns
 */
export const announceArrivals = async (
  { sql }: Pick<Tx, "sql">,
  { arrivals, key, channel }: Lanes,
  arrived: readonly (readonly [string, string])[],
): Promise<void> => {
  if (arrived.length === 0 || arrivals === undefined) return;
  const [one, other] = [
    texts(arrived.map(([name]) => name)),
    texts(arrived.map(([, name]) => name)),
  ];
  await Promise.all([
    sql`
      insert into ${sql(arrivals)} (${sql(key[0])}, ${sql(key[1])})
      select distinct one, other
      from unnest(${one}::text[], ${other}::text[]) as arrived (one, other)`,
    sql`select pg_notify(${channel}, '')`,
  ]);
};

/** One notification serves all arrivals of this time. */
const QUIET_MS = 25;

/**
 * Makes a function that notifies of arrivals outside of their transactions, coalesced: inside,
 * Postgres would serialise the commits (a notifying commit holds a database-wide lock). A lost hint
 * costs one poll interval.
 */
export const arrivalHints = (
  { sql }: { readonly sql: Sql },
  { channel }: Pick<Lanes, "channel">,
): (() => void) => {
  let busy = false;
  let again = false;
  const notify = () => {
    busy = true;
    again = false;
    sql`select pg_notify(${channel}, '')`.catch(() => undefined);
    setTimeout(() => {
      busy = false;
      if (again) notify();
    }, QUIET_MS).unref();
  };
  return () => {
    if (busy) again = true;
    else notify();
  };
};
