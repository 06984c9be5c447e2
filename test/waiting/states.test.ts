import { expect, test } from "vitest";
import { createStates } from "../../src/waiting/states.ts";

test("a state moves along its transitions, and any other move is an error that names both states", () => {
  const states = createStates("idle", { idle: ["busy"], busy: ["idle", "over"], over: [] });
  states.enter("busy");
  expect(states.current()).toBe("busy");
  expect(() => states.enter("busy")).toThrow("no transition from busy to busy");
  states.enter("over");
  expect(() => states.enter("idle")).toThrow("no transition from over to idle");
  expect(states.current()).toBe("over");
});
