/** Which batches are traced: all of them at the chain's end, and one now and then while it is far. */

/** A batch whose last checkpoint is older is one of catching up. */
const HEAD_MS = 60_000;

/** Between two that are traced all the same, milliseconds. */
const BEHIND_EVERY_MS = 10_000;

/** At the chain's end there are a few a second; more than this many are not traced, whatever the chain does. */
const HEAD_PER_SECOND = 20;

/** Whether to trace a batch, by the time of its last checkpoint in milliseconds since the Unix epoch. */
export type SampleBatch = (timestampMs: bigint) => boolean;

/** @param now milliseconds since the Unix epoch; replaced by tests */
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
