/** How processes that accept requests wake those that process them. */
import type { Sql } from "../../database/connect.ts";

/** Notified soon after a request was accepted. A hint: lanes with work have `wake_at`. */
export const TA_REQUESTS_CHANNEL = "holderbook_ta_requests";

/** Under load one notification serves all requests of this time. */
const QUIET_MS = 25;

/**
 * Makes the waker of this process. It notifies outside of the accepting transactions, and not once for
 * each: inside, Postgres would commit them one after the other (a notifying commit holds a lock of the
 * whole database), and a hint that is lost costs the processors' poll interval and nothing else.
 */
export const requestWaker = ({ sql }: { readonly sql: Sql }): (() => void) => {
  let busy = false;
  let again = false;
  const notify = () => {
    busy = true;
    again = false;
    sql`select pg_notify(${TA_REQUESTS_CHANNEL}, '')`.catch(() => undefined);
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
