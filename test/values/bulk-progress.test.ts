import { expect, test } from "vitest";
import { paceFrom } from "../../src/backfill/show-progress.ts";
import { bulkLines, NO_BULK } from "../../src/values/bulk-progress.ts";

const BACKFILL = {
  ...{ at: "12344", last: "306120456", ratePerSecond: 7_999.6, secondsLeft: 38_264 },
  ...{ workers: 8, waitingRanges: 236, readRanges: 20, failedRanges: 0, failure: null },
};

test("a divided backfill is worded with its rate, the time left, workers and ranges; a failure only when there is one", () => {
  expect(bulkLines({ ...NO_BULK, backfill: BACKFILL }).map((line) => line.join(": "))).toEqual([
    "Backfill: at 12,344 of 306,120,456, 8,000 per second, time left 10h 37m",
    "Backfill workers: 8 in the last minute",
    "Ranges ahead: 236 waiting, 20 read",
  ]);
  const failed = { failedRanges: 2, failure: "checkpoint 12345: no answer", at: null };
  const backfill = { ...BACKFILL, ...failed, ratePerSecond: 0, secondsLeft: null };
  expect(bulkLines({ ...NO_BULK, backfill }).map(([, value]) => value)).toEqual([
    "at none of 306,120,456, 0 per second, time left unknown",
    "8 in the last minute",
    "236 waiting, 20 read",
    "2; checkpoint 12345: no answer",
  ]);
  expect(bulkLines(NO_BULK)).toEqual([]);
});

test("the rate is that of the last five minutes, bursts or not, and falls to zero when nothing comes", () => {
  const rateAt = paceFrom(0n, 0);
  expect(rateAt(0n, 0)).toBe(0);
  expect(rateAt(3_000n, 30_000)).toBe(100);
  for (let ms = 60_000; ms <= 300_000; ms += 30_000) rateAt(3_000n, ms);
  expect(rateAt(3_000n, 300_000)).toBe(10);
  expect(rateAt(3_000n, 390_000)).toBe(0);
});
