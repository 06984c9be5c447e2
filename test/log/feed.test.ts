import fc from "fast-check";
import { expect, test } from "vitest";
import type { Fact } from "../../src/log/fact.ts";
import { factBytes } from "../../src/log/fact.ts";
import { createFeed } from "../../src/log/feed.ts";
import { batch, fact, filled, mark } from "./facts.ts";

const WANTED = new Set(["shared_token::Transfer"]);
const ROOMY = { maxFacts: 1_000, maxBytes: 10_000_000 };

test("a position receives everything from its checkpoint on, as one batch, even from mid-batch", () => {
  const feed = createFeed(ROOMY);
  const place = feed.open();
  place.take(0n, WANTED, 100);
  feed.push(filled(0n, 4n, 2));
  feed.push(batch(5n, 5n));
  feed.push(filled(6n, 7n, 2));

  expect(place.take(3n, WANTED, 100)).toEqual({
    first: 3n,
    last: mark(7n),
    facts: [...filled(3n, 4n, 2).facts, ...filled(6n, 7n, 2).facts],
  });
  expect(place.take(8n, WANTED, 100)).toBeNull();
});

test("no position in it makes the feed exceed its bounds", () => {
  const feed = createFeed({ maxFacts: 10, maxBytes: 10_000_000 });
  const slow = feed.open();
  slow.take(0n, WANTED, 100);
  for (let checkpoint = 0n; checkpoint < 20n; checkpoint += 1n) {
    feed.push(filled(checkpoint, checkpoint, 1));
  }
  expect(slow.take(9n, WANTED, 100)).toBeNull();
  expect(slow.take(10n, WANTED, 100)?.facts).toHaveLength(10);

  const small = createFeed({ maxFacts: 1_000, maxBytes: factBytes(fact(0n)) * 3 });
  const place = small.open();
  place.take(0n, WANTED, 100);
  small.push(filled(0n, 0n, 2));
  small.push(filled(1n, 1n, 2));
  expect(place.take(0n, WANTED, 100)).toBeNull();
  expect(place.take(1n, WANTED, 100)?.facts).toHaveLength(2);
  small.push(filled(2n, 2n, 4));
  expect(place.take(2n, WANTED, 100)).toBeNull();
});

test("a batch that does not follow the newest replaces everything", () => {
  const feed = createFeed(ROOMY);
  const place = feed.open();
  place.take(0n, WANTED, 100);
  feed.push(filled(0n, 9n, 1));
  feed.push(filled(20n, 29n, 1));
  expect(place.take(5n, WANTED, 100)).toBeNull();
  expect(place.take(20n, WANTED, 100)?.facts).toHaveLength(10);
  expect(feed.next).toBe(30n);
});

test("facts without a reader are dropped, and a bound ends a batch between pushes", () => {
  const feed = createFeed(ROOMY);
  const place = feed.open();
  place.take(0n, WANTED, 100);
  feed.push(batch(0n, 0n, [fact(0n), fact(0n, 1, { name: "controlled_treasury::Mint" })]));
  feed.push(filled(1n, 1n, 5));
  feed.push(filled(2n, 2n, 5));

  expect(place.take(0n, WANTED, 6)).toMatchObject({ last: mark(1n), facts: { length: 6 } });
  expect(place.take(1n, WANTED, 2)).toMatchObject({ last: mark(1n), facts: { length: 5 } });
  expect(place.take(0n, new Set(), 1)).toBeNull();
});

test("any readers at any pace get every fact once and in order, unless the feed says null", () => {
  const step = fc.record({
    reader: fc.nat(2),
    pushes: fc.nat(3),
    limit: fc.integer({ min: 1, max: 20 }),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 5, max: 40 }),
      (steps, maxFacts) => {
        const feed = createFeed({ maxFacts, maxBytes: 10_000_000 });
        const readers = [0, 1, 2].map(() => ({ place: feed.open(), next: 0n, lost: false }));
        for (const { place } of readers) place.take(0n, WANTED, 1);
        let end = 0n;
        for (const { reader, pushes, limit } of steps) {
          for (let n = 0; n < pushes; n += 1) {
            const last = end + BigInt(n);
            feed.push(filled(end, last, (n + Number(end % 3n)) % 4));
            end = last + 1n;
          }
          const mine = readers[reader];
          if (mine === undefined || mine.lost) continue;
          const taken = mine.place.take(mine.next, WANTED, limit);
          if (taken === null) {
            mine.lost = mine.next < end;
            continue;
          }
          expect(taken.first).toBe(mine.next);
          const inside = (each: Fact) =>
            each.checkpoint >= taken.first && each.checkpoint <= taken.last.sequence;
          expect(taken.facts.every(inside)).toBe(true);
          const keys = taken.facts.map((each) => each.checkpoint * 100n + BigInt(each.transaction));
          expect(keys).toEqual([...new Set(keys)].sort((a, b) => (a < b ? -1 : 1)));
          mine.next = taken.last.sequence + 1n;
        }
      },
    ),
  );
});
