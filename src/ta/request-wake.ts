/** How processes that accept requests wake those that process them. */
import type { Sql } from "../database/connect.ts";

/** Notified soon after a request was accepted. A hint: lanes with work have `wake_at`. */
export const TA_REQUESTS_CHANNEL = "holderbook_ta_requests";

/**
 * Makes the waker of this process. It notifies outside of the accepting transactions, one at a time:
 * inside, Postgres would commit them one after the other (a notifying commit holds a lock of the
 * whole database), and a hint that is lost costs the processors' poll interval and nothing else.
 */
export const requestWaker = ({ sql }: { readonly sql: Sql }): (() => void) => {
  let running = false;
  let again = false;
  const wake = async (): Promise<void> => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      await sql`select pg_notify(${TA_REQUESTS_CHANNEL}, '')`.catch(() => undefined);
    } while (again);
    running = false;
  };
  return () => void wake();
};
