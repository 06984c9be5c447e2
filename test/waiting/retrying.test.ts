import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Remedy } from "../../src/waiting/remedy.ts";
import { type Retrying, retrying } from "../../src/waiting/retrying.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

class Trouble extends Error {
  readonly remedy: Remedy;
  constructor(remedy: Remedy) {
    super(`trouble: ${remedy}`);
    this.remedy = remedy;
  }
}

const BACKOFF = { firstMs: 100, maxMs: 1_600 };
const never = new AbortController().signal;

/** Runs an attempt to its end, whatever it waits for; returns the pauses between attempts too. */
const run = async <T>(
  attempt: (progressed: () => void) => Promise<T>,
  settings: Partial<Retrying> = {},
  signal = never,
) => {
  const pauses: number[] = [];
  const failures: number[] = [];
  const onTrouble = (_: Error, pauseMs: number, failed: number) => {
    pauses.push(pauseMs);
    failures.push(failed);
  };
  const running = retrying(attempt, { backoff: BACKOFF, onTrouble, ...settings }, signal);
  const outcome = running.then(
    (answer) => ({ answer, error: undefined }),
    (error: unknown) => ({ answer: undefined, error }),
  );
  await vi.runAllTimersAsync();
  return { ...(await outcome), pauses, failures };
};

/** Fails with these remedies, one after the other, and then answers. */
const failing = (...remedies: Remedy[]) => {
  const left = [...remedies];
  return async () => {
    const remedy = left.shift();
    if (remedy !== undefined) throw new Trouble(remedy);
    return "done";
  };
};

test("pauses double with every failure in a row up to the longest, and half of each is random", async () => {
  const { answer, pauses, failures } = await run(failing(...Array<Remedy>(7).fill("retry")));
  expect(answer).toBe("done");
  expect(failures).toEqual([1, 2, 3, 4, 5, 6, 7]);
  const ceilings = [100, 200, 400, 800, 1_600, 1_600, 1_600];
  for (const [n, ceiling] of ceilings.entries()) {
    expect(pauses[n]).toBeGreaterThanOrEqual(ceiling / 2);
    expect(pauses[n]).toBeLessThanOrEqual(ceiling);
  }
});

test("an attempt with progress makes its failure count as the first", async () => {
  let left = 5;
  const { failures } = await run(async (progressed) => {
    left -= 1;
    if (left === 1) progressed();
    if (left > 0) throw new Trouble("retry");
  });
  expect(failures).toEqual([1, 2, 3, 1]);
});

test("an error with remedy wait is retried about every second without limit, and is no failure", async () => {
  const { answer, pauses, failures } = await run(
    failing("retry", ...Array<Remedy>(20).fill("wait"), "retry"),
    { attempts: 3 },
  );
  expect(answer).toBe("done");
  expect(failures).toEqual([...Array<number>(21).fill(1), 2]);
  for (const pauseMs of pauses.slice(1, -1)) {
    expect(pauseMs).toBeGreaterThanOrEqual(500);
    expect(pauseMs).toBeLessThanOrEqual(1_000);
  }
});

test("an error with remedy stop, or without remedy, is thrown immediately", async () => {
  const stopped = await run(failing("retry", "stop"));
  expect(stopped).toMatchObject({ error: new Trouble("stop"), failures: [1] });
  const unknown = await run(async () => {
    throw new TypeError("a defect");
  });
  expect(unknown).toMatchObject({ error: new TypeError("a defect"), failures: [] });
});

test("after the allowed attempts the last error is thrown", async () => {
  const { error, failures } = await run(failing("retry", "retry", "retry"), { attempts: 3 });
  expect(error).toEqual(new Trouble("retry"));
  expect(failures).toEqual([1, 2]);
});

test("no pause is shorter than the other side requested", async () => {
  const { pauses } = await run(failing("retry"), { leastMs: () => 5_000 });
  expect(pauses).toEqual([5_000]);
});

test("an abort ends the pause, and the error it causes is not reported", async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 60_000);
  const pausing = await run(failing("retry"), { leastMs: () => 600_000 }, stop.signal);
  expect(pausing).toMatchObject({ answer: undefined, failures: [1] });
  expect(vi.getTimerCount()).toBe(0);

  const other = new AbortController();
  const failingByAbort = await run(
    async () => {
      other.abort();
      throw other.signal.reason;
    },
    {},
    other.signal,
  );
  expect(failingByAbort).toMatchObject({ answer: undefined, failures: [] });
});

test("the maximum pause may depend on the error, and a requested minimum holds", async () => {
  const retry = Array<Remedy>(8).fill("retry");
  const bounded = await run(failing(...retry), { mostMs: () => 300 });
  expect(Math.max(...bounded.pauses)).toBeLessThanOrEqual(300);
  const asked = await run(failing(...retry), { mostMs: () => 300, leastMs: () => 700 });
  expect(asked.pauses).toEqual(retry.map(() => 700));
});
