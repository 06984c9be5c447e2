import fc from "fast-check";
import { expect, test } from "vitest";
import { newestAt, newTimeline, settle, stop, type Timeline, timeOf } from "../../demo/timeline.ts";

const NOW = 1_800_000_000_000n;

/** A ledger's life: reading for a while, or being away. */
const life = fc.record({
  history: fc.bigInt(0n, 5_000n),
  historySpanMs: fc.bigInt(0n, 10_000_000n),
  perSecond: fc.bigInt(1n, 1_000n),
  days: fc.array(
    fc.record({
      awayMs: fc.bigInt(0n, 200_000n),
      readMs: fc.bigInt(0n, 120_000n),
      perSecond: fc.bigInt(1n, 1_000n),
      closes: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
});

test("a settled checkpoint keeps its time, and time never runs backwards", () => {
  fc.assert(
    fc.property(life, ({ days, ...first }) => {
      let nowMs = NOW;
      let timeline: Timeline = newTimeline({ ...first, nowMs });
      const settled = new Map<bigint, bigint>();
      const note = () => {
        const newest = newestAt(timeline, nowMs);
        for (const n of [0n, newest / 2n, newest - 1n, newest]) {
          if (n >= 0n && !settled.has(n)) settled.set(n, timeOf(timeline, n));
        }
      };
      note();
      for (const { awayMs, readMs, perSecond, closes } of days) {
        nowMs += awayMs;
        for (let left = readMs; left > 0n; left -= 10_000n) {
          timeline = settle(timeline, nowMs, perSecond) ?? timeline;
          note();
          nowMs += left < 10_000n ? left : 10_000n;
        }
        note();
        if (closes) timeline = stop(timeline, newestAt(timeline, nowMs), nowMs);
      }
      for (const [n, time] of settled) expect(timeOf(timeline, n)).toBe(time);
      const numbers = [...settled.keys()].sort((a, b) => (a < b ? -1 : 1));
      for (const [index, n] of numbers.slice(1).entries()) {
        expect(timeOf(timeline, n)).toBeGreaterThanOrEqual(timeOf(timeline, numbers[index] ?? 0n));
      }
    }),
    { numRuns: 200 },
  );
});

test("the newest checkpoint is the last one due", () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 1_000n), fc.bigInt(0n, 29_000n), (perSecond, laterMs) => {
      const timeline = newTimeline({ nowMs: NOW, history: 10n, historySpanMs: 1_000n, perSecond });
      const newest = newestAt(timeline, NOW + laterMs);
      expect(timeOf(timeline, newest)).toBeLessThanOrEqual(NOW + laterMs);
      expect(timeOf(timeline, newest + 1n)).toBeGreaterThan(NOW + laterMs);
    }),
  );
});

test("a ledger that was not read for a while continues now, with the next number", () => {
  const timeline = newTimeline({ nowMs: NOW, history: 100n, historySpanMs: 1_000n, perSecond: 4n });
  const week = NOW + 7n * 86_400_000n;
  const stopped = newestAt(timeline, week);
  expect(stopped).toBe(timeline.settledUntil);
  const further = settle(timeline, week, 4n);
  expect(further && timeOf(further, stopped + 1n)).toBe(week);
  expect(further && newestAt(further, week)).toBe(stopped + 1n);
});
