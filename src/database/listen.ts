import { setTimeout as delay } from "node:timers/promises";
import { type ConnectionSettings, openSession } from "./session.ts";

/** Pause before the next connection, when one was lost or could not be made. */
const RECONNECT_MS = 1_000;

/** See `Database.listen`. Never rejects: who listens also polls. */
export const listenUntil = async (
  signal: AbortSignal,
  settings: ConnectionSettings,
  channel: string,
  heard: (payload: string | null) => void,
): Promise<void> => {
  const name = `"${channel.replaceAll('"', '""')}"`;
  while (!signal.aborted) {
    try {
      await using session = await openSession(settings, (_, payload) => heard(payload));
      await session.sql.unsafe(`listen ${name}`);
      heard(null);
      await eitherAborts(session.lost, signal);
    } catch {
      // The reason shows where the database is needed; here only the next attempt matters.
    }
    await delay(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
  }
};

const eitherAborts = (...signals: AbortSignal[]) =>
  new Promise<void>((resolve) => {
    const either = AbortSignal.any(signals);
    if (either.aborted) resolve();
    either.addEventListener("abort", () => resolve(), { once: true });
  });
