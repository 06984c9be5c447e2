import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createWaker } from "../../src/waiting/waker.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Whether a wait is over once all that is due now has run. */
const isOver = async (wait: Promise<void>): Promise<boolean> => {
  let over = false;
  void wait.then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return over;
};

test("a wake ends all pending waits, and leaves no timer behind", async () => {
  const waker = createWaker();
  const waits = [waker.since(waker.mark()), waker.since(waker.mark(), 60_000)];
  for (const wait of waits) expect(await isOver(wait)).toBe(false);
  waker.wake();
  await Promise.all(waits);
  expect(vi.getTimerCount()).toBe(0);
});

test("an event between checking and waiting is not missed", async () => {
  const waker = createWaker();
  const mark = waker.mark();
  waker.wake();
  expect(await isOver(waker.since(mark))).toBe(true);
  expect(await isOver(waker.since(waker.mark()))).toBe(false);
});

test("a wait ends after its time, or on abort", async () => {
  const waker = createWaker();
  const timed = waker.since(waker.mark(), 1_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(await isOver(timed)).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await isOver(timed)).toBe(true);

  const stop = new AbortController();
  const stopped = waker.since(waker.mark(), 1_000, stop.signal);
  expect(await isOver(stopped)).toBe(false);
  stop.abort();
  expect(await isOver(stopped)).toBe(true);
  expect(await isOver(waker.since(waker.mark(), 1_000, stop.signal))).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});
