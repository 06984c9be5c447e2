/** Which batches are traced: all at the chain's tip, few while catching up. */

/** A batch older than this is catching up. */
const HEAD_MS = 60_000;

/** Interval of traced batches while catching up. */
const BEHIND_EVERY_MS = 10_000;

/** Limit of traced batches per second at the tip. */
const HEAD_PER_SECOND = 20;

/** Whether to trace a batch, by the Unix time of its last checkpoint. */
type SampleBatch = (timestampMs: bigint) => boolean;

/** @param now Unix milliseconds; replaced by tests */
export const batchSampler = (now: () => number = Date.now): SampleBatch => {
  let second = { number: 0, traced: 0 };
  let behindAtMs = Number.NEGATIVE_INFINITY;
  return (timestampMs) => {
    const nowMs = now();
    if (nowMs - Number(timestampMs) > HEAD_MS) {
      if (nowMs - behindAtMs < BEHIND_EVERY_MS) return false;
      behindAtMs = nowMs;
      return true;
    }
    const number = Math.floor(nowMs / 1_000);
    if (number !== second.number) second = { number, traced: 0 };
    second.traced += 1;
    return second.traced <= HEAD_PER_SECOND;
  };
};
