/** Renews the lease of a claimed lane while its worker is busy. */
import type { Sql } from "../database/connect.ts";
import { type LaneClaim, LaneLostError, type Lanes } from "./lanes.ts";

/** Renewals per lease: the lane survives two failures in a row. */
const RENEWALS = 4;

/** Disposing ends the renewals. */
type KeptLane = Disposable & {
  /** Aborts with a LaneLostError when another worker has or may have the lane. */
  readonly lost: AbortSignal;
};

/**
 * Renews the lease in the background. The lane is lost when the claim no longer holds it, or when
 * the lease expires because the database did not answer: another worker may have it.
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
      // Otherwise the database is unreachable: the next renewal may succeed.
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
