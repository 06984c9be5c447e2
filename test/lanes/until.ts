import { setTimeout as delay } from "node:timers/promises";

const STEP_MS = 25;

/**
 * Waits until `seen` returns something that `enough` accepts, and returns it.
 * A missed deadline says what was waited for and what was seen last.
 */
export const until = async <Seen>(
  what: string,
  seen: () => Seen | Promise<Seen>,
  enough: (value: Seen) => boolean,
  deadlineMs = 30_000,
): Promise<Seen> => {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const value = await seen();
    if (enough(value)) return value;
    if (Date.now() > deadline) {
      const shown = JSON.stringify(value, (_key, inner: unknown) =>
        typeof inner === "bigint" ? inner.toString() : inner,
      );
      throw new Error(`waited ${deadlineMs} ms for ${what}; last seen: ${shown?.slice(0, 2_000)}`);
    }
    await delay(STEP_MS);
  }
};
