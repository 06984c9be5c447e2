import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import type { Tour } from "../../web/src/data/answers.ts";
import { isOver, passedOf, READ, settledOf, upTo } from "../../web/src/pages/tour/tour.ts";

/** The time of a step, so many milliseconds after the first. */
const timeAt = (ms: number) => new Date(ms).toISOString();

const step = (ms: number, status: string, message: string) => ({
  at: timeAt(ms),
  status,
  message,
});

const HISTORY = [
  step(1, "QUEUED", "accepted; the wallet will be whitelisted"),
  step(2, "PENDING", "taken up"),
  step(3, "PENDING", "signed transaction Tx1"),
  step(4, "PENDING", "executed at 12; waiting until the register shows it"),
  step(5, "PENDING", "confirmed by the register"),
  step(6, "SUCCESS", "the wallet was put into group 1 by transaction Tx1"),
];

const WHOLE: Tour = {
  wallet: "0x1",
  asset: "demo-a",
  coinType: "0x5::acme::ACME",
  request: { status: "SUCCESS", history: HISTORY },
  txId: "Tx1",
  checkpoint: "12",
  holderEvent: { eventType: "address_joined_group", address: "0x1", groupId: "1", position: "1" },
  delivery: { id: "ta-1", state: "delivered", attempts: 1 },
  done: true,
};

const states = (tour: Tour) => passedOf(tour).map(({ state }) => state);

test("a completed tour has a time for each station in the history", () => {
  expect(passedOf(WHOLE).map(({ at }) => at)).toEqual([...[1, 2, 3, 4, 5].map(timeAt), null]);
  expect(new Set(states(WHOLE))).toEqual(new Set(["done"]));
  expect(isOver(WHOLE)).toBe(true);
});

test("the station after the passed ones is waited for, and none beyond it counts as passed", () => {
  const begun: Tour = { ...WHOLE, request: { status: "QUEUED", history: HISTORY.slice(0, 1) } };
  const waiting: Tour = {
    ...begun,
    txId: null,
    checkpoint: null,
    holderEvent: null,
    delivery: null,
  };
  expect(states(waiting)).toEqual(["done", "now", "later", "later", "later", "later"]);
  expect(isOver(waiting)).toBe(false);
  // The register is read apart from the request, and may be behind the delivery.
  expect(states({ ...WHOLE, holderEvent: null })).toEqual([
    "done",
    "done",
    "done",
    "done",
    "now",
    "later",
  ]);
});

test("a failed request ends the tour at the station it did not pass", () => {
  const failed: Tour = {
    ...WHOLE,
    request: { status: "FAILED", history: HISTORY },
    txId: null,
    checkpoint: null,
    holderEvent: null,
  };
  expect(states(failed)).toEqual(["done", "done", "failed", "later", "later", "later"]);
  expect(isOver(failed)).toBe(true);
});

test("stations are shown one after another, however fast they were passed", () => {
  const passed = passedOf(WHOLE);
  expect(settledOf(passed)).toBe(6);
  expect(upTo(passed, 2).map(({ state }) => state)).toEqual([
    "done",
    "done",
    "now",
    "later",
    "later",
    "later",
  ]);
  expect(upTo(passed, 2)[2]?.at).toBeNull();
  expect(upTo(passed, 6)).toEqual(passed);
});

test("the documentation that a station names exists", () => {
  for (const file of Object.values(READ)) expect(existsSync(file), file).toBe(true);
});
