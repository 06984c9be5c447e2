import { setTimeout as delay } from "node:timers/promises";
import type { Backoff } from "../waiting/backoff.ts";
import { retrying } from "../waiting/retrying.ts";
import type { ConnectionSettings } from "./connection.ts";
import { openSession } from "./session.ts";

const RECONNECT: Backoff = { firstMs: 1_000, maxMs: 1_000 };

/** Interval of a test statement, to notice a connection that died silently. */
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
  // The cause shows where the database is used.
  await retrying(attempt, { backoff: RECONNECT, remedy: () => "retry" }, signal);
};
