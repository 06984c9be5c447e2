import fc from "fast-check";
import { expect, test } from "vitest";
import { attemptsOf, DEFAULT_RETRY_SECONDS, retryDelayMs } from "../../src/callbacks/callbacks.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

test("the default schedule is eleven attempts: 5 s to 24 h apart, 2.95 days in all", () => {
  expect(attemptsOf(DEFAULT_RETRY_SECONDS)).toBe(11);
  const delays = DEFAULT_RETRY_SECONDS.map((_, index) =>
    retryDelayMs(DEFAULT_RETRY_SECONDS, index + 1, undefined, 0.5),
  );
  const [minute, hour] = [60_000, 3_600_000];
  const short = [5_000, 30_000, 2 * minute, 10 * minute, 30 * minute];
  const long = [2 * hour, 6 * hour, 14 * hour, 24 * hour, 24 * hour];
  expect(delays).toEqual([...short, ...long]);
  expect(DEFAULT_RETRY_SECONDS.reduce((sum, seconds) => sum + seconds, 0)).toBe(254_555);
  expect(retryDelayMs(DEFAULT_RETRY_SECONDS, 11, undefined)).toBeUndefined();
  expect(retryDelayMs([], 1, 5_000)).toBeUndefined();
});

test("a delay varies by a fifth either way, and is never shorter than the receiver asked for", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.option(fc.nat(3 * DAY_MS), { nil: undefined }),
      (made, random, asked) => {
        const scheduled = (DEFAULT_RETRY_SECONDS[made - 1] ?? 0) * 1_000;
        const delay = retryDelayMs(DEFAULT_RETRY_SECONDS, made, asked, random) ?? -1;
        const honoured = Math.min(asked ?? 0, DAY_MS);
        expect(delay).toBeGreaterThanOrEqual(Math.max(0.8 * scheduled - 0.001, honoured));
        expect(delay).toBeLessThanOrEqual(Math.max(1.2 * scheduled + 0.001, honoured));
      },
    ),
  );
});
