/** The addresses that callbacks go to, and whether anything is sent there. */
import type { Database, Tx } from "../database/connect.ts";
import type { Remedy } from "../remedy.ts";
import { announceArrivals } from "./arrivals.ts";
import { checkCallbackUrl, type OutboundPolicy } from "./outbound.ts";

/** An address as it stands. */
export type CallbackEndpoint = {
  readonly key: string;
  readonly url: string;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
};

/** No endpoint has this key: register it before anything is enqueued for it. Stop. */
export class UnknownEndpointError extends Error {
  override readonly name = "UnknownEndpointError";
  readonly remedy: Remedy = "stop";

  constructor(key: string) {
    super(`no callback endpoint is registered as ${key}`);
  }
}

/**
 * Registers an address under a key (such as `project:acme`), or changes it. Another address is a new
 * beginning: it is enabled, and its failures count from zero. Pending messages go to the new one.
 *
 * @throws CallbackAddressError (stop) when callbacks may not go there
 */
export const registerEndpoint = async (
  database: Pick<Database, "sql">,
  policy: OutboundPolicy,
  { key, url }: { readonly key: string; readonly url: string },
): Promise<void> => {
  checkCallbackUrl(url, policy);
  await database.sql`
    insert into callback_endpoints (key, url) values (${key}, ${url})
    on conflict (key) do update
      set url = excluded.url, disabled_at = null, disabled_reason = null,
          failures = 0, failing_since = null, last_error = null
      where callback_endpoints.url <> excluded.url`;
};

/** The address under a key; undefined when there is none. */
export const findEndpoint = async (
  { sql }: Pick<Tx, "sql">,
  key: string,
): Promise<CallbackEndpoint | undefined> => {
  const [row] = await sql<
    { key: string; url: string; disabled_at: string | null; disabled_reason: string | null }[]
  >`
    select key, url, to_json(disabled_at) #>> '{}' as disabled_at, disabled_reason
    from callback_endpoints where key = ${key}`;
  if (row === undefined) return undefined;
  const disabledAt = row.disabled_at === null ? null : new Date(row.disabled_at);
  return { key: row.key, url: row.url, disabledAt, disabledReason: row.disabled_reason };
};

/**
 * Sends nothing more to an address, such as one that is no longer configured: what is pending for it
 * is given up. Does nothing when it is disabled already, or unknown.
 */
export const disableEndpoint = async (
  { sql }: Pick<Database, "sql">,
  key: string,
  reason: string,
): Promise<void> => {
  await sql`
    update callback_endpoints set disabled_at = now(), disabled_reason = ${reason}
    where key = ${key} and disabled_at is null`;
};

/**
 * Sends to a disabled address again. With `resend`, what was not sent because it was disabled goes
 * first, in its old order; without, it stays as it is and can be redelivered one by one.
 *
 * @throws UnknownEndpointError (stop)
 */
export const enableEndpoint = (
  database: Database,
  key: string,
  { resend }: { readonly resend: boolean },
): Promise<void> =>
  database.transaction(async (tx) => {
    const [found] = await tx.sql`
      update callback_endpoints
      set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null
      where key = ${key} returning key`;
    if (found === undefined) throw new UnknownEndpointError(key);
    if (!resend) return;
    const lanes = await tx.sql<{ lane: string }[]>`
      with pending as (
        update callback_messages set status = 'pending', scheduled = 0
        where endpoint = ${key} and status = 'disabled' returning lane
      )
      select distinct lane from pending`;
    await announceArrivals(
      tx,
      lanes.map(({ lane }) => ({ endpoint: key, lane })),
    );
  });
