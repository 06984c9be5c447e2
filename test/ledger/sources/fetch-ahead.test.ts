import { setTimeout as wait } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { fetchAhead } from "../../../src/ledger/sources/fetch-ahead.ts";

const never = new AbortController().signal;

const raw = (sequence: bigint, size: number): RawCheckpoint => ({
  sequence,
  encoding: "protobuf",
  bytes: new Uint8Array(size),
});

test("delivers in order up to the first missing one, within its bounds, in whatever order fetches end", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        first: fc.integer({ min: 0, max: 50 }),
        count: fc.integer({ min: 0, max: 60 }),
        absent: fc.option(fc.integer({ min: 0, max: 60 })),
        limit: fc.integer({ min: 1, max: 12 }),
        checkpoints: fc.integer({ min: 1, max: 20 }),
        bytes: fc.integer({ min: 1, max: 3000 }),
        startWith: fc.integer({ min: 1, max: 20 }),
        delays: fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
        sizes: fc.infiniteStream(fc.integer({ min: 0, max: 400 })),
      }),
      async ({ first, count, absent, limit, checkpoints, bytes, startWith, delays, sizes }) => {
        const firstSequence = BigInt(first);
        const last = firstSequence + BigInt(count) - 1n;
        const missing = absent === null ? null : firstSequence + BigInt(absent);
        let underWay = 0;
        let held = 0;
        let delivered = 0;
        const reading = fetchAhead(
          {
            range: { first: firstSequence, last },
            concurrency: { limit },
            bounds: { checkpoints, bytes },
            startWith,
            fetch: async (sequence) => {
              underWay += 1;
              held += 1;
              // One fetch is always allowed, so that the next checkpoint can come.
              expect(underWay).toBeLessThanOrEqual(limit);
              // The one being handed over no longer counts as ahead.
              expect(held).toBeLessThanOrEqual(checkpoints + 1);
              const turns = delays.next().value ?? 0;
              for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
              underWay -= 1;
              return sequence === missing ? null : raw(sequence, sizes.next().value ?? 0);
            },
          },
          never,
        );
        for (;;) {
          const step = await reading.next();
          if (step.done) {
            const end = missing !== null && missing <= last ? missing : last + 1n;
            expect(step.value.next).toBe(end > firstSequence ? end : firstSequence);
            expect(BigInt(delivered)).toBe(step.value.next - firstSequence);
            return;
          }
          expect(step.value.sequence).toBe(firstSequence + BigInt(delivered));
          delivered += 1;
          held -= 1;
        }
      },
    ),
    { numRuns: 150 },
  );
});

test("stops fetching ahead at the byte limit", async () => {
  let fetched = 0;
  const reading = fetchAhead(
    {
      range: { first: 0n },
      concurrency: { limit: 8 },
      bounds: { checkpoints: 1000, bytes: 10_000 },
      startWith: 8,
      fetch: async (sequence) => {
        fetched += 1;
        return raw(sequence, 1000);
      },
    },
    never,
  );
  await reading.next();
  await wait(20);
  // The first eight were started before any size was known.
  expect(fetched).toBeLessThanOrEqual(11);
  await reading.return({ next: 0n, laterSeen: null });
});

test("reports a later available checkpoint, and throws an error only after earlier checkpoints", async () => {
  const reading = fetchAhead(
    {
      range: { first: 0n, last: 9n },
      concurrency: { limit: 10 },
      bounds: { checkpoints: 10, bytes: 1 << 20 },
      fetch: async (sequence) => {
        if (sequence === 3n) {
          await wait(5);
          return null;
        }
        if (sequence === 7n) throw new Error("broken");
        return raw(sequence, 1);
      },
    },
    never,
  );
  const taken: bigint[] = [];
  let step = await reading.next();
  for (; !step.done; step = await reading.next()) taken.push(step.value.sequence);
  expect(taken).toEqual([0n, 1n, 2n]);
  expect(step.value.next).toBe(3n);
  expect(step.value.laterSeen).toBeGreaterThan(3n);

  const failing = fetchAhead(
    {
      range: { first: 5n, last: 9n },
      concurrency: { limit: 10 },
      bounds: { checkpoints: 10, bytes: 1 << 20 },
      fetch: async (sequence) => {
        if (sequence === 7n) throw new Error("broken");
        await wait(5);
        return raw(sequence, 1);
      },
    },
    never,
  );
  expect((await failing.next()).value).toMatchObject({ sequence: 5n });
  expect((await failing.next()).value).toMatchObject({ sequence: 6n });
  await expect(failing.next()).rejects.toThrow("broken");
});

test("a consumer that leaves ends every fetch in flight", async () => {
  const aborted: bigint[] = [];
  const reading = fetchAhead(
    {
      range: { first: 0n },
      concurrency: { limit: 4 },
      bounds: { checkpoints: 10, bytes: 1 << 20 },
      fetch: (sequence, signal) =>
        sequence === 0n
          ? Promise.resolve(raw(sequence, 1))
          : new Promise((_, reject) => {
              signal.addEventListener("abort", () => {
                aborted.push(sequence);
                reject(signal.reason);
              });
            }),
    },
    never,
  );
  await reading.next();
  await reading.return({ next: 1n, laterSeen: null });
  expect(aborted.length).toBeGreaterThanOrEqual(3);
});
