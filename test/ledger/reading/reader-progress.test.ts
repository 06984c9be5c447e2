import { expect, test } from "vitest";
import { keepProgress } from "../../../src/ledger/reading/progress.ts";
import { fact, mark, marksOf, piecesOf } from "../../log/facts.ts";

/** An append of checkpoints up to `last`. */
const appended = (first: bigint, last: bigint, facts = 0) => ({
  batch: {
    first,
    last: mark(last),
    marks: [],
    blocks: piecesOf(marksOf(first, last)),
    facts: Array.from({ length: facts }, (_, transaction) => fact(last, transaction)),
  },
  coins: [],
  checkpoints: Number(last - first) + 1,
  skipped: 1,
  rawBytes: 1_000,
  beganMs: 0,
  decodedMs: 0,
});

test("rates cover the last ten seconds, and give the remaining time", () => {
  let now = 0;
  const progress = keepProgress(0n, undefined, () => now);
  progress.tip(10_000n);
  for (let second = 0n; second < 30n; second += 1n) {
    now += 1_000;
    const first = second * 100n;
    progress.appended(appended(first, first + 99n, 5));
  }
  const { checkpointsPerSecond, factsPerSecond, bytesPerSecond, lag, etaSeconds, read, skipped } =
    progress.now();
  expect(checkpointsPerSecond).toBeCloseTo(110, -1.5);
  expect(factsPerSecond).toBeCloseTo(5.5, 0);
  expect(bytesPerSecond).toBeCloseTo(1_100, -3);
  expect(lag).toBe(7_001n);
  expect(etaSeconds).toBeCloseTo(7_001 / checkpointsPerSecond, 5);
  expect(read).toBe(3_000);
  expect(skipped).toBe(30);

  now += 60_000;
  expect(progress.now()).toMatchObject({ checkpointsPerSecond: 0, etaSeconds: null });
});

test("no lag at the tip, and the tip is never behind the log", () => {
  const progress = keepProgress(5n, undefined);
  expect(progress.now()).toMatchObject({ next: 5n, tip: null, lag: null, etaSeconds: null });
  progress.tip(3n);
  progress.appended(appended(5n, 9n));
  expect(progress.now()).toMatchObject({ next: 10n, tip: 9n, lag: 0n, etaSeconds: 0 });
});

test("with a last checkpoint requested, the remaining distance ends there", () => {
  const progress = keepProgress(0n, 49n);
  expect(progress.now().lag).toBe(50n);
  progress.tip(1_000n);
  progress.opened(40n, mark(39n));
  expect(progress.now()).toMatchObject({ lag: 10n, last: mark(39n) });
});
