import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DeadlineError, withinDeadline } from "../../src/waiting/deadline.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("an answer in time is returned, and its timer is gone", async () => {
  expect(await withinDeadline(Promise.resolve(7), { ms: 1_000 })).toBe(7);
  const failed = withinDeadline(Promise.reject(new Error("no")), { ms: 1_000 });
  await expect(failed).rejects.toThrow("no");
  expect(vi.getTimerCount()).toBe(0);
});

test("a missed deadline gives the caller's error, and a later failure is not unhandled", async () => {
  const answer = Promise.withResolvers<never>();
  const missed = withinDeadline(answer.promise, { ms: 1_000 });
  const chosen = withinDeadline(answer.promise, { ms: 1_000 }, () => new RangeError("too late"));
  const outcomes = Promise.allSettled([missed, chosen]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await outcomes).toEqual([
    { status: "rejected", reason: new DeadlineError({ ms: 1_000 }) },
    { status: "rejected", reason: new RangeError("too late") },
  ]);
  answer.reject(new Error("an answer that is not waited for any more"));
});
