import { expect, test } from "vitest";
import {
  type AdaptiveConcurrency,
  createAdaptiveConcurrency,
} from "../../../src/ledger/sources/adaptive-concurrency.ts";

/**
 * A server in simulated time: an answer takes 20 ms; from `capacity` requests under way on they queue
 * up, and from `refusesAbove` on they are refused.
 */
const simulate = (
  {
    capacity,
    refusesAbove = Number.POSITIVE_INFINITY,
  }: { capacity: number; refusesAbove?: number },
  bounds = { min: 1, max: 64, start: 4 },
) => {
  let now = 0;
  const concurrency = createAdaptiveConcurrency(bounds, () => now);
  const run = (seconds: number): readonly number[] => {
    const limits: number[] = [];
    const ends: { at: number; end: () => void }[] = [];
    let free = now;
    for (const until = now + seconds * 1000; now < until; now += 1) {
      for (const due of ends.filter(({ at }) => at <= now)) {
        ends.splice(ends.indexOf(due), 1);
        due.end();
      }
      while (ends.length < concurrency.limit) {
        const attempt = concurrency.begin();
        if (ends.length >= refusesAbove) {
          ends.push({ at: now + 5, end: () => attempt.pushedBack() });
          continue;
        }
        free = Math.max(free, now) + 20 / capacity;
        ends.push({ at: Math.max(now + 20, free), end: () => attempt.succeeded(100_000) });
      }
      limits.push(concurrency.limit);
    }
    for (const { end } of ends) end();
    return limits;
  };
  return { concurrency, run };
};

const average = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

test("grows while more requests bring more, and settles where they stop to", () => {
  const { run } = simulate({ capacity: 24 });
  run(10);
  const settled = average(run(20));
  expect(settled).toBeGreaterThan(18);
  expect(settled).toBeLessThan(36);
});

test("reaches the upper bound when nothing limits it, and never passes it", () => {
  const { run } = simulate({ capacity: 1000 }, { min: 1, max: 50, start: 4 });
  const limits = run(20);
  expect(limits.at(-1)).toBe(50);
  expect(Math.max(...limits)).toBe(50);
});

test("halves once for all requests refused together, and not below the lower bound", () => {
  let now = 0;
  const concurrency = createAdaptiveConcurrency({ min: 3, max: 64, start: 32 }, () => now);
  const together = Array.from({ length: 32 }, () => concurrency.begin());
  for (const attempt of together) attempt.pushedBack();
  expect(concurrency.limit).toBe(16);
  for (const expected of [8, 4, 3, 3]) {
    now += 100;
    concurrency.begin().pushedBack();
    expect(concurrency.limit).toBe(expected);
  }
});

test("settles below the server's limit", () => {
  const { run } = simulate({ capacity: 1000, refusesAbove: 20 });
  run(10);
  const settled = run(30);
  expect(average(settled)).toBeGreaterThan(8);
  expect(average(settled)).toBeLessThan(21);
});

test("does not grow while the consumer, not the limit, sets the pace", () => {
  let now = 0;
  const concurrency = createAdaptiveConcurrency({ min: 1, max: 64, start: 8 }, () => now);
  for (let i = 0; i < 2000; i += 1) {
    const attempt = concurrency.begin();
    now += 5;
    attempt.succeeded(100_000);
  }
  expect(concurrency.limit).toBe(8);
});

test("a requested pause holds for every request", async () => {
  const concurrency: AdaptiveConcurrency = createAdaptiveConcurrency({ min: 1, max: 8, start: 4 });
  concurrency.begin().pushedBack(80);
  const started = performance.now();
  await concurrency.cleared(new AbortController().signal);
  expect(performance.now() - started).toBeGreaterThan(70);

  concurrency.begin().pushedBack(60_000);
  await concurrency.cleared(AbortSignal.timeout(20));
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("refuses contradictory bounds and attempts ended twice", () => {
  for (const bounds of [
    { min: 0, max: 4, start: 1 },
    { min: 4, max: 3, start: 4 },
    { min: 1, max: 4, start: 8 },
    { min: 1, max: 4, start: 1.5 },
  ]) {
    expect(() => createAdaptiveConcurrency(bounds)).toThrow(RangeError);
  }
  const attempt = createAdaptiveConcurrency({ min: 1, max: 1, start: 1 }).begin();
  attempt.ended();
  expect(() => attempt.succeeded(1)).toThrow("twice");
});
