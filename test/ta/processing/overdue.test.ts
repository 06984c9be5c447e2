import pino from "pino";
import { expect, test } from "vitest";
import { registerLag } from "../../../src/ta/processing/waiting.ts";

const MINUTE = 60_000;

/** What is logged while requests look at the register of one asset, each at its minute. */
const loggedOf = (looks: readonly (readonly [minute: number, place: bigint | null])[]) => {
  let minute = 0;
  const minutes: unknown[] = [];
  const write = (line: string) => void minutes.push(JSON.parse(line).minutes);
  const lag = registerLag({
    logger: pino({}, { write }),
    overdueMs: 10 * MINUTE,
    now: () => minute * MINUTE,
  });
  for (const [at, place] of looks) {
    minute = at;
    lag.note({ id: `request-${at}`, asset: "acme" }, place);
  }
  return minutes;
};

test("a lagging register is logged every ten minutes while requests wait for it", () => {
  const looks = Array.from({ length: 45 }, (_, n) => [n / 2, 100n] as const);
  expect(loggedOf(looks)).toEqual([10, 20]);
});

test("a register found lagging once, and again an hour later, is not reported as lagging for an hour", () => {
  expect(
    loggedOf([
      [0, 100n],
      [60, 900n],
    ]),
  ).toEqual([]);
});

test("a register that was up to date in between starts a new lag", () => {
  const behind = (from: number) => Array.from({ length: 8 }, (_, n) => [from + n, 100n] as const);
  expect(loggedOf([...behind(0), [8, null], ...behind(9)])).toEqual([]);
});
