/** Repeats a log line at growing intervals, so that a permanent failure does not flood the log. */

/** How often it happened since it was last logged; absent for once. */
export type Repeats = { readonly times?: number };

/** Logs now, or counts the repetition. Keys in `what` that differ only in numbers are one. */
export type RareLines = (what: string, say: (repeats: Repeats) => void) => void;

/** Intervals double from `first` to `most`. */
const DISTANCE_MS = { first: 10_000, most: 10 * 60_000 };

/** After this pause a repetition counts as new; longer than any loop pauses. */
const FORGOTTEN_AFTER_MS = 3 * 60_000;

/** Entries kept; the oldest is dropped for a new one. */
const MOST = 100;

type Entry = { lastMs: number; nextMs: number; distanceMs: number; times: number };

/** @param nowMs monotonic milliseconds */
export const createRareLines = (nowMs: () => number = () => performance.now()): RareLines => {
  const known = new Map<string, Entry>();
  return (what, say) => {
    const key = what.replace(/\d+/g, "#");
    const now = nowMs();
    const entry = known.get(key);
    if (entry === undefined || now - entry.lastMs > FORGOTTEN_AFTER_MS) {
      const [oldest] = known.keys();
      if (entry === undefined && known.size >= MOST && oldest !== undefined) known.delete(oldest);
      const { first } = DISTANCE_MS;
      known.set(key, { lastMs: now, nextMs: now + first, distanceMs: first, times: 0 });
      return say({});
    }
    entry.lastMs = now;
    entry.times += 1;
    if (now < entry.nextMs) return;
    const { times } = entry;
    entry.times = 0;
    entry.distanceMs = Math.min(2 * entry.distanceMs, DISTANCE_MS.most);
    entry.nextMs = now + entry.distanceMs;
    say({ times });
  };
};
