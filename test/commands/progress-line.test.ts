import { expect, test, vi } from "vitest";
import { type CatchUp, progressLine } from "../../src/commands/progress-line.ts";
import { createLogger } from "../../src/logging/logger.ts";
import { remedyOf } from "../../src/waiting/remedy.ts";

const now: CatchUp = {
  state: "reading",
  next: 0n,
  tip: 2_121n,
  checkpointsPerSecond: 0,
  factsPerSecond: 0,
  lag: 2_122n,
  etaSeconds: null,
};

/** What is logged, line by line, off a terminal. */
const shown = (...reports: readonly Partial<CatchUp>[]) => {
  const logger = createLogger({ level: "silent", remedyOf });
  const info = vi.spyOn(logger, "info");
  const line = progressLine(logger, undefined);
  for (const change of reports) line.report({ ...now, ...change });
  return info.mock.calls;
};

test("a standby says once that it is one, and shows no progress", () => {
  const lines = shown({ state: "opening" }, { state: "standby" }, { state: "standby" });
  expect(lines).toEqual([["another process reads this ledger; standing by to take over"]]);
});

test("before the first checkpoint the progress line says that none was read", () => {
  expect(shown({})).toEqual([
    [expect.objectContaining({ checkpoint: null, tip: "2121" }), "catching up"],
  ]);
});
