import { setTimeout as delay } from "node:timers/promises";
import type { Backoff } from "../waiting/backoff.ts";
import { retrying } from "../waiting/retrying.ts";
import type { ConnectionSettings } from "./connection.ts";
import { openSession } from "./session.ts";

/** Before the next connection, when one was lost or could not be made. */
const RECONNECT: Backoff = { firstMs: 1_000, maxMs: 1_000 };

/**
 * How often a connection that only listens is used, milliseconds: a connection that
 * died silently would otherwise go unnoticed.
 */
const USE_EVERY_MS = 15_000;

/** See `Database.listen`. Never rejects: every listener also polls. */
export const listenUntil = async (
  signal: AbortSignal,
  settings: ConnectionSettings,
  channel: string,
  heard: (payload: string | null) => void,
): Promise<void> => {
  const name = `"${channel.replaceAll('"', '""')}"`;
  const attempt = async (): Promise<void> => {
    await using session = await openSession(settings, (_, payload) => heard(payload));
    await session.sql.unsafe(`listen ${name}`);
    heard(null);
    const ended = AbortSignal.any([session.lost, signal]);
    while (!ended.aborted) {
      await delay(USE_EVERY_MS, undefined, { signal: ended, ref: false }).catch(() => undefined);
      if (!ended.aborted) await session.sql`select 1`;
    }
    session.lost.throwIfAborted();
  };
  // The reason shows where the database is needed; here only the next attempt matters.
  await retrying(attempt, { backoff: RECONNECT, remedy: () => "retry" }, signal);
};
