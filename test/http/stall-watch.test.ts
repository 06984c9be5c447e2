import { expect, test } from "vitest";
import { createStallWatch, type Observation } from "../../src/http/health/stall-watch.ts";

const SECOND = 1000;

/** A watch of one pipeline; `see` observes it at a second. */
const watching = () => {
  const watch = createStallWatch();
  return {
    see: (second: number, observation: Omit<Observation, "name">) =>
      watch.judge({ name: "token_activity", ...observation }, second * SECOND),
  };
};

test("no backlog is ok, for however long", () => {
  const { see } = watching();
  expect(see(0, { next: 10n, goal: 10n }).state).toBe("ok");
  expect(see(100_000, { next: 10n, goal: 10n }).state).toBe("ok");
});

test("a moving backfill is catching up, for however long", () => {
  const { see } = watching();
  for (let second = 0; second < 10_000; second += 50) {
    const { state, reason } = see(second, { next: BigInt(second), goal: 1_000_000n });
    expect({ state, reason }).toEqual({
      state: "catching_up",
      reason: `${1_000_000 - second} checkpoints behind`,
    });
  }
});

test("a backlog without progress for 60 s is a stall, with the reason; progress ends it", () => {
  const { see } = watching();
  expect(see(0, { next: 10n, goal: 500n }).state).toBe("catching_up");
  expect(see(59, { next: 10n, goal: 600n }).state).toBe("catching_up");
  expect(see(60, { next: 10n, goal: 700n })).toEqual({
    state: "stalled",
    reason: "690 checkpoints behind; no progress for 60 s",
  });
  expect(see(61, { next: 11n, goal: 700n }).state).toBe("catching_up");
});

test("a single checkpoint pending for 60 s is a stall too", () => {
  const { see } = watching();
  expect(see(0, { next: 10n, goal: 11n }).state).toBe("ok");
  expect(see(60, { next: 10n, goal: 11n }).state).toBe("stalled");
});

test("work after a long idle time restarts the clock", () => {
  const { see } = watching();
  see(0, { next: 10n, goal: 10n });
  expect(see(10_000, { next: 10n, goal: 900n }).state).toBe("catching_up");
  expect(see(10_059, { next: 10n, goal: 900n }).state).toBe("catching_up");
  expect(see(10_060, { next: 10n, goal: 900n }).state).toBe("stalled");
});

test("a pipeline that gave up is stalled at once, until another process moves it", () => {
  const { see } = watching();
  const trouble = { gaveUp: true, reason: "fact 12/0/3 does not fit its layout" };
  expect(see(0, { next: 10n, goal: 12n, trouble })).toEqual({
    state: "stalled",
    reason: "gave up: fact 12/0/3 does not fit its layout",
  });
  expect(see(1, { next: 11n, goal: 13n, trouble }).state).toBe("ok");
  expect(see(2, { next: 11n, goal: 14n, trouble }).state).toBe("ok");
});

test("a retrying pipeline is stalled only after 60 s, and then the reason names its trouble", () => {
  const { see } = watching();
  const trouble = { gaveUp: false, reason: "connection refused" };
  expect(see(0, { next: 10n, goal: 12n, trouble }).state).toBe("ok");
  expect(see(60, { next: 10n, goal: 12n, trouble }).reason).toBe(
    "2 checkpoints behind; no progress for 60 s: connection refused",
  );
});

test("a pipeline that never ran is reported as such", () => {
  const { see } = watching();
  see(0, { next: null, goal: 900n });
  expect(see(60, { next: null, goal: 900n }).reason).toBe("has never run; no progress for 60 s");
});

test("without a target nothing is stalled: no work is known", () => {
  const { see } = watching();
  see(0, { next: 10n, goal: null });
  expect(see(3600, { next: 10n, goal: null }).state).toBe("ok");
});
