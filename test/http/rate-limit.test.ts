import fc from "fast-check";
import { expect, test } from "vitest";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";

/** A clock that moves when it is told to. */
const handClock = () => {
  let ms = 0;
  return {
    now: () => ms,
    pass: (seconds: number) => {
      ms += seconds * 1000;
    },
  };
};

test("a caller may spend its quota at once, then as fast as it refills", () => {
  const clock = handClock();
  const limit = createRateLimit({ policy: "default", quota: 3, windowSeconds: 60, now: clock.now });
  expect([1, 2, 3].map(() => limit.take("a").remaining)).toEqual([2, 1, 0]);
  const refused = limit.take("a");
  expect(refused).toEqual({
    allowed: false,
    remaining: 0,
    resetSeconds: 60,
    retryAfterSeconds: 20,
  });

  clock.pass(19);
  expect(limit.take("a")).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
  clock.pass(1);
  expect(limit.take("a")).toMatchObject({ allowed: true, remaining: 0 });
  clock.pass(3600);
  expect(limit.take("a").remaining).toBe(2);
});

test("callers have separate quotas", () => {
  const limit = createRateLimit({ policy: "default", quota: 1, windowSeconds: 60 });
  expect(limit.take("a").allowed).toBe(true);
  expect(limit.take("a").allowed).toBe(false);
  expect(limit.take("b").allowed).toBe(true);
});

test("previewing a request's verdict does not count as a request", () => {
  const limit = createRateLimit({ policy: "default", quota: 2, windowSeconds: 60 });
  expect(limit.peek("a").remaining).toBe(2);
  limit.take("a");
  expect([limit.peek("a").remaining, limit.peek("a").remaining]).toEqual([1, 1]);
});

test("the header fields follow the IETF draft, and a refusal says when to come back", () => {
  const clock = handClock();
  const limit = createRateLimit({
    policy: "default",
    quota: 100,
    windowSeconds: 60,
    now: clock.now,
  });
  for (let i = 0; i < 49; i += 1) limit.take("a");
  expect(limit.headers(limit.take("a"))).toEqual({
    "ratelimit-policy": '"default";q=100;w=60',
    ratelimit: '"default";r=50;t=30',
  });
  for (let i = 0; i < 50; i += 1) limit.take("a");
  const { statusCode, headers, remedy } = limit.refusal(limit.take("a"));
  expect({ statusCode, remedy }).toEqual({ statusCode: 429, remedy: "retry" });
  expect(headers).toEqual({
    "ratelimit-policy": '"default";q=100;w=60',
    ratelimit: '"default";r=0;t=60',
    "retry-after": "1",
  });
});

test("over any period a caller gets at most its quota plus the refill", () => {
  const steps = fc.array(fc.record({ passMs: fc.nat(5000), takes: fc.nat(8) }), { maxLength: 50 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 20 }), (history, quota) => {
      let ms = 0;
      const windowSeconds = 10;
      const limit = createRateLimit({ policy: "p", quota, windowSeconds, now: () => ms });
      const granted: number[] = [];
      for (const { passMs, takes } of history) {
        ms += passMs;
        for (let i = 0; i < takes; i += 1) if (limit.take("a").allowed) granted.push(ms);
      }
      granted.forEach((from, first) => {
        granted.slice(first).forEach((to, more) => {
          const refilled = ((to - from) / 1000) * (quota / windowSeconds);
          expect(more + 1).toBeLessThanOrEqual(quota + refilled + 1e-6);
        });
      });
    }),
    { numRuns: 300 },
  );
});

test("a refused caller who waits as instructed is admitted", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 3600 }), (quota, w) => {
      const clock = handClock();
      const limit = createRateLimit({ policy: "p", quota, windowSeconds: w, now: clock.now });
      for (let i = 0; i < quota; i += 1) expect(limit.take("a").allowed).toBe(true);
      clock.pass(limit.take("a").retryAfterSeconds);
      expect(limit.take("a").allowed).toBe(true);
    }),
  );
});

test("the number of remembered callers is bounded; the least recently seen is forgotten", () => {
  const limit = createRateLimit({
    policy: "default",
    quota: 1,
    windowSeconds: 3600,
    maxCallers: 100,
  });
  for (let i = 0; i < 100; i += 1) limit.take(`caller ${i}`);
  limit.take("caller 0");
  limit.take("one more");
  expect(limit.peek("caller 0").allowed).toBe(false);
  expect(limit.peek("caller 1").allowed).toBe(true);
  expect(limit.peek("caller 2").allowed).toBe(false);
});
