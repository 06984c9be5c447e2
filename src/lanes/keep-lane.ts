/** Keeps a claimed lane while its worker is busy, however long one of its calls takes. */
import type { Sql } from "../database/connect.ts";
import { type LaneClaim, LaneLostError, type Lanes } from "./lanes.ts";

/** Renewals per lease: two may fail before the third one is the last. */
const RENEWALS = 4;

/** A lane that is being kept; disposing ends that. */
export type KeptLane = Disposable & {
  /** Aborts with a LaneLostError when another worker has the lane, or may have it. */
  readonly lost: AbortSignal;
};

/**
 * Renews the lease in the background until disposed of. The lane counts as lost when the claim has it no
 * more, and when the lease has run out because the database did not answer: another worker may have it.
 * @param claimedAt `performance.now()` before the lane was claimed
 */
export const keepLane = (sql: Sql, lanes: Lanes, claim: LaneClaim, claimedAt: number): KeptLane => {
  const lost = new AbortController();
  let disposed = false;
  const lose = () => lost.abort(new LaneLostError(claim.id));
  const endOf = (since: number) =>
    setTimeout(lose, Math.max(0, claim.leaseMs - (performance.now() - since)));
  let end = endOf(claimedAt);

  const renew = async () => {
    const askedAt = performance.now();
    try {
      await lanes.renew(sql, claim);
      if (disposed) return;
      clearTimeout(end);
      end = endOf(askedAt);
    } catch (error) {
      if (error instanceof LaneLostError) lose();
      // Otherwise the database is away: the next renewal may be in time.
    }
    if (!disposed && !lost.signal.aborted) next = setTimeout(renew, claim.leaseMs / RENEWALS);
  };
  let next = setTimeout(renew, claim.leaseMs / RENEWALS);

  return {
    lost: lost.signal,
    [Symbol.dispose]: () => {
      disposed = true;
      clearTimeout(next);
      clearTimeout(end);
    },
  };
};
