/** How those who bring work wake the processes that do it. */
import { texts } from "../database/column-arrays.ts";
import type { Sql, Tx } from "../database/connect.ts";
import type { Lanes } from "./lanes.ts";

/**
 * Announces, in the transaction that writes their work, that lanes have something to do once it has
 * committed. The lanes' own rows stay untouched: workers never wait for the transaction.
 * @param arrived names of lanes, as the two columns of `key` have them
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

/** Under load one notification serves all that arrives in this time. */
const QUIET_MS = 25;

/**
 * Makes a function that notifies of arrivals, outside of the transactions that write them and not once
 * for each: inside, Postgres would commit them one after the other (a notifying commit holds a lock of
 * the whole database). It is a hint: one that is lost costs the poll interval and nothing else.
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
