import { expect, test } from "vitest";
import { createRareLines } from "../../src/logging/rare-lines.ts";

/** Says `what` every `everyMs` for so long; returns when it was heard, and how many times it stood for. */
const saying = (what: (n: number) => string, everyMs: number, forMs: number) => {
  let nowMs = 0;
  const rarely = createRareLines(() => nowMs);
  const heard: { readonly atMs: number; readonly times: number }[] = [];
  let said = 0;
  for (; nowMs < forMs; nowMs += everyMs) {
    rarely(what(said), ({ times = 1 }) => heard.push({ atMs: nowMs, times }));
    said += 1;
  }
  return { heard, said };
};

test("an event 23 times a second for 35 seconds gives three lines with counts, not 819", () => {
  const { heard } = saying((n) => `could not extend file "base/5/${n}"`, 1_000 / 23, 35_000);
  expect(heard.map(({ atMs }) => Math.round(atMs / 1_000))).toEqual([0, 10, 30]);
  expect(heard[1]?.times).toBeGreaterThan(200);
});

test("intervals grow to ten minutes, and every occurrence is counted once", () => {
  const { heard, said } = saying(() => "down", 1_000, 3 * 3_600_000);
  const distances = heard.slice(1).map(({ atMs }, n) => (atMs - (heard[n]?.atMs ?? 0)) / 1_000);
  expect(distances.slice(0, 7)).toEqual([10, 20, 40, 80, 160, 320, 600]);
  expect(distances.slice(6).every((distance) => distance === 600)).toBe(true);
  const counted = heard.reduce((sum, { times }) => sum + times, 0);
  expect(said - counted).toBeLessThan(600);
});

test("a different event is logged immediately, and so is the same one after a pause", () => {
  let nowMs = 0;
  const rarely = createRareLines(() => nowMs);
  const heard: string[] = [];
  const say = (what: string) => rarely(what, ({ times }) => heard.push(`${what} ${times ?? ""}`));
  say("down");
  say("down");
  say("full");
  nowMs = 200_000;
  say("down");
  expect(heard).toEqual(["down ", "full ", "down "]);
});
