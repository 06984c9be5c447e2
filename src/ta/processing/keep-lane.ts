/** Keeps a claimed lane while its worker is busy, however long one of its calls takes. */
import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "../../database/connect.ts";
import { type LaneClaim, LaneLostError, renewLane } from "./lanes.ts";

/** Renewals per lease: two may fail before the third one is the last. */
const RENEWALS = 4;

/** A lane that is being kept; disposing ends that. */
export type KeptLane = Disposable & {
  /** Aborts with a LaneLostError when another worker has the lane, or may have it. */
  readonly lost: AbortSignal;
};

/**
 * Renews the lease in the background until disposed of. The lane counts as lost when another worker
 * has claimed it, and when the lease has run out because the database did not answer: whoever
 * comes next may be at work already.
 * @param claimedAt `performance.now()` before the lane was claimed
 */
export const keepLane = (sql: Sql, claim: LaneClaim, claimedAt: number): KeptLane => {
  const over = new AbortController();
  const lost = new AbortController();
  const lose = () => lost.abort(new LaneLostError(claim.id));
  const left = (since: number) => Math.max(0, claim.leaseMs - (performance.now() - since));
  let end = setTimeout(lose, left(claimedAt));

  const renewOnce = async () => {
    const askedAt = performance.now();
    try {
      await renewLane(sql, claim);
    } catch (error) {
      if (error instanceof LaneLostError) lose();
      // Otherwise the database is away: the next renewal may be in time.
      return;
    }
    if (over.signal.aborted) return;
    clearTimeout(end);
    end = setTimeout(lose, left(askedAt));
  };

  const renew = async () => {
    while (!over.signal.aborted && !lost.signal.aborted) {
      const slept = delay(claim.leaseMs / RENEWALS, undefined, { signal: over.signal });
      await slept.catch(() => undefined);
      if (!over.signal.aborted) await renewOnce();
    }
  };
  void renew();

  return {
    lost: lost.signal,
    [Symbol.dispose]: () => {
      over.abort();
      clearTimeout(end);
    },
  };
};
