import { expect, test } from "vitest";
import { estimateTouching } from "../../../src/ledger/history/estimate.ts";
import type { LedgerIndex, Touch } from "../../../src/ledger/history/ledger-index.ts";

const never = new AbortController().signal;
const what: readonly Touch[] = [{ kind: "events", address: "0x1" }];
const RANGE = { first: 1_000n, last: 300_999_999n };

/** Lists that match wherever `matches` says, every `step` checkpoints. */
const listsOf = (matches: (checkpoint: bigint) => boolean, step: bigint) => {
  let listed = 0;
  const touching: LedgerIndex["touching"] = async function* (_, { first, last }) {
    for (let at = first; at <= last; at += step) {
      if (!matches(at)) continue;
      listed += 1;
      yield at;
    }
  };
  return { touching, listed: () => listed };
};

test("the first matches of each part of the range stand for the part", async () => {
  // Nothing in the first half, and then one in every thousand.
  const lists = listsOf((checkpoint) => checkpoint >= 150_500_000n, 1_000n);

  const estimate = await estimateTouching(lists, what, RANGE, 10_000, never);

  expect(Number(estimate?.checkpoints)).toBeGreaterThan(145_000);
  expect(Number(estimate?.checkpoints)).toBeLessThan(155_000);
  expect(estimate?.some).toHaveLength(4);
  expect(lists.listed()).toBe(400);
});

test("few matches are counted, not estimated", async () => {
  const lists = listsOf((checkpoint) => checkpoint % 30_000_000n === 0n, 500_000n);
  const range = { first: 0n, last: 299_999_999n };

  expect((await estimateTouching(lists, what, range, 10_000, never))?.checkpoints).toBe(10n);
});

test("lists too slow to sample give no estimate", async () => {
  const touching: LedgerIndex["touching"] = async function* (_, __, signal) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };

  expect(await estimateTouching({ touching }, what, RANGE, 20, never)).toBeNull();
});
