/** A key that its owner chose to keep for this tab: until they sign out, the tab closes, or its time is over. */
import { kept } from "./store.ts";

/** A working day. */
export const STAY_HOURS = 8;

const place = kept("holderbook.session", { tab: true });

type KeptSession = { readonly key: string; readonly untilMs: number };

/** Keeps a key for this tab from now on; returns until when, milliseconds. */
export const keepSession = (key: string, nowMs = Date.now()): number => {
  const untilMs = nowMs + STAY_HOURS * 3_600_000;
  place.set(JSON.stringify({ key, untilMs } satisfies KeptSession));
  return untilMs;
};

export const forgetSession = place.remove;

/** The kept key; null without one, or once its time is over. */
export const keptSession = (nowMs = Date.now()): KeptSession | null => {
  const text = place.get();
  if (text === null) return null;
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found === "object" && found !== null && "key" in found && "untilMs" in found) {
      const { key, untilMs } = found;
      if (typeof key === "string" && typeof untilMs === "number" && untilMs > nowMs) {
        return { key, untilMs };
      }
    }
  } catch {
    // Not what this page wrote.
  }
  forgetSession();
  return null;
};
