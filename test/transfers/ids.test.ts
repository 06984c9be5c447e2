import fc from "fast-check";
import { expect, test } from "vitest";
import { TransferEventIdError, transferEventIds } from "../../src/transfers/ids.ts";

const NOW = 1_800_000_000n;

/** Block times of records in the order of a chain: several records a second, never backwards. */
const times = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 50 }).map((steps) => {
  let time = NOW;
  return steps.map((step) => {
    time += BigInt(step);
    return time;
  });
});

test("ids rise with the chain, are exact in every JSON parser, and are consecutive within a second", () => {
  fc.assert(
    fc.property(times, fc.nat({ max: 9 }), (blockTimes, network) => {
      const next = transferEventIds(network, null);
      const ids = blockTimes.map((blockTimestamp) => next({ blockTimestamp, block: 1n }));
      ids.forEach((id, n) => {
        expect(id).toBeGreaterThan(0n);
        expect(id).toBeLessThan(BigInt(Number.MAX_SAFE_INTEGER));
        const before = ids[n - 1];
        if (before === undefined) return;
        expect(id).toBeGreaterThan(before);
        if (blockTimes[n] === blockTimes[n - 1]) expect(id).toBe(before + 1n);
      });
    }),
  );
});

test("ids do not depend on interruptions of reading", () => {
  fc.assert(
    fc.property(times, fc.nat({ max: 50 }), (blockTimes, at) => {
      const idsOf = (next: ReturnType<typeof transferEventIds>, part: readonly bigint[]) =>
        part.map((blockTimestamp) => next({ blockTimestamp, block: 1n }));
      const whole = idsOf(transferEventIds(2, null), blockTimes);
      const first = idsOf(transferEventIds(2, null), blockTimes.slice(0, at));
      const rest = idsOf(transferEventIds(2, first.at(-1) ?? null), blockTimes.slice(at));
      expect([...first, ...rest]).toEqual(whole);
    }),
  );
});

test("two networks of a project never share an id, whatever the second", () => {
  const ids = [0, 1, 9].map((network) =>
    transferEventIds(network, null)({ blockTimestamp: NOW, block: 1n }),
  );
  expect(new Set(ids).size).toBe(3);
  const later = transferEventIds(0, null)({ blockTimestamp: NOW + 1n, block: 2n });
  expect(ids.every((id) => id < later)).toBe(true);
});

test("an overfull second, time that runs back and an eleventh network are errors instead of ids", () => {
  const last = transferEventIds(3, null)({ blockTimestamp: NOW, block: 1n }) + 99_998n;
  const place = { blockTimestamp: NOW, block: 7n };
  expect(() => transferEventIds(3, last)(place)).toThrow(/block 7: more than 99999 records/);
  expect(transferEventIds(3, last - 1n)(place)).toBe(last);
  expect(() => transferEventIds(3, last)({ blockTimestamp: NOW - 1n, block: 7n })).toThrow(
    /block 7 has timestamp 1799999999, .* timestamps run backwards/,
  );
  expect(() => transferEventIds(10, null)).toThrow(TransferEventIdError);
});
