/**
 * Says what keeps happening at growing distances: a full disk fails every attempt of every loop alike,
 * and a log of a thousand equal lines hides the one that differs.
 */

import type { Logger } from "./logger.ts";

/** Added to a line: how often it happened since it was last said, this time included; absent for once. */
export type Repeats = { readonly times?: number };

/** Says it, or not now. `what` tells things apart; numbers in it do not. */
export type RareLines = (what: string, say: (repeats: Repeats) => void) => void;

/** Warns, rarely, that traces are lost; `logger` is asked for when it is needed: it is made after them. */
export const warnOfLostTraces = (logger: () => Pick<Logger, "warn"> | undefined) => {
  const rarely = createRareLines();
  return (code: string | undefined): void =>
    rarely("traces", (repeats) =>
      logger()?.warn(
        { code, ...repeats },
        "traces cannot be sent to their collector; they are lost",
      ),
    );
};

/** From the first line to the second; each further distance is twice as long, up to the most. */
const DISTANCE_MS = { first: 10_000, most: 10 * 60_000 };

/** What did not happen for so long is news again; longer than any loop of ours pauses. */
const FORGOTTEN_AFTER_MS = 3 * 60_000;

/** Things told apart at a time; the one that was first said longest ago is forgotten for another. */
const MOST = 100;

type Said = { lastMs: number; nextMs: number; distanceMs: number; times: number };

/** @param nowMs milliseconds that never go back */
export const createRareLines = (nowMs: () => number = () => performance.now()): RareLines => {
  const known = new Map<string, Said>();
  return (what, say) => {
    const key = what.replace(/\d+/g, "#");
    const now = nowMs();
    const said = known.get(key);
    if (said === undefined || now - said.lastMs > FORGOTTEN_AFTER_MS) {
      const [oldest] = known.keys();
      if (said === undefined && known.size >= MOST && oldest !== undefined) known.delete(oldest);
      const { first } = DISTANCE_MS;
      known.set(key, { lastMs: now, nextMs: now + first, distanceMs: first, times: 0 });
      return say({});
    }
    said.lastMs = now;
    said.times += 1;
    if (now < said.nextMs) return;
    const { times } = said;
    said.times = 0;
    said.distanceMs = Math.min(2 * said.distanceMs, DISTANCE_MS.most);
    said.nextMs = now + said.distanceMs;
    say({ times });
  };
};
