import { setTimeout as wait } from "node:timers/promises";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import {
  type ObjectStoreOptions,
  objectStoreSource,
} from "../../../src/ledger/sources/object-store.ts";
import {
  CheckpointDamagedError,
  CheckpointMissingError,
  CheckpointTooLargeError,
  SourceRefusedError,
  SourceUnavailableError,
} from "../../../src/ledger/sources/source-errors.ts";
import { compressedSample, startObjectStore } from "./object-store-server.ts";
import { expectSamples, numbers, take, until } from "./taking.ts";

/** The shipping source with waits short enough for tests. */
const open = (base: URL, options: Partial<ObjectStoreOptions> = {}) => {
  const source = objectStoreSource({
    base,
    pollMs: 5,
    retry: { attempts: 5, damagedAttempts: 3, backoff: { firstMs: 5, maxMs: 20 } },
    ...options,
  });
  return Object.assign(source, { [Symbol.asyncDispose]: () => source.close() });
};

const failureOf = (reading: Promise<unknown>): Promise<unknown> =>
  reading.then(
    () => "no error",
    (error: unknown) => error,
  );

test.each([false, true])(
  "reads an archive in order over few connections, then waits at the tip (blocking: %s)",
  async (mayBlock) => {
    await using store = await startObjectStore({ newest: 299n, answerMs: 3 });
    await using source = open(store.base, { mayBlock, concurrency: { min: 1, max: 16, start: 4 } });
    const taking = take(source, { first: 0n, last: 305n });
    for (let newest = 300n; newest <= 305n; newest += 1n) {
      await until(
        () => store.seen.gets.includes(newest),
        () => store.seen.gets.at(-1),
      );
      await wait(20);
      store.state.newest = newest;
    }
    expectSamples(await taking, numbers(0, 305));
    expect(store.seen.mostUnderWay).toBeGreaterThan(3);
    expect(store.seen.mostUnderWay).toBeLessThanOrEqual(18);
    expect(store.seen.connections).toBeLessThanOrEqual(18);
  },
);

test("at the tip it requests the next checkpoint only", async () => {
  await using store = await startObjectStore({ newest: 99n });
  await using source = open(store.base, { concurrency: { min: 1, max: 32, start: 32 } });
  const taking = take(source, { first: 99n, last: 150n });
  for (let next = 100n; next <= 104n; next += 1n) {
    await until(
      () => store.seen.gets.filter((sequence) => sequence === next).length > 5,
      () => `${store.seen.gets.length} requests, the last for ${store.seen.gets.at(-1)}`,
    );
    store.state.newest = next;
  }
  const askedBeyond = store.seen.gets.filter((sequence) => sequence > 105n).length;
  store.state.newest = 150n;
  expectSamples(await taking, numbers(99, 150));
  expect(askedBeyond).toBeLessThan(5);
});

test("429 and 5xx are retried, Retry-After is respected in seconds and as a date", async () => {
  const answers: [number, () => string | undefined][] = [
    [429, () => "1"],
    [503, () => new Date(Date.now() + 2000).toUTCString()],
    [500, () => undefined],
    [502, () => "nonsense"],
  ];
  const asked: number[] = [];
  await using store = await startObjectStore({
    newest: 3n,
    misbehave: (sequence, response) => {
      if (sequence !== 2n) return false;
      asked.push(performance.now());
      const [status, retryAfter] = answers[asked.length - 1] ?? [];
      if (status === undefined) return false;
      const value = retryAfter?.();
      response.writeHead(status, value === undefined ? {} : { "retry-after": value }).end();
      return true;
    },
  });
  const waits: number[] = [];
  await using source = open(store.base, { onSetback: ({ waitMs }) => waits.push(waitMs) });
  expectSamples(await take(source, { first: 0n, last: 3n }), numbers(0, 3));
  expect(waits).toHaveLength(4);
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(995);
  // A date has whole seconds: between one and two of them.
  expect((asked[2] ?? 0) - (asked[1] ?? 0)).toBeGreaterThanOrEqual(950);
  // No time that it can read: its own.
  expect(waits[2]).toBeLessThan(500);
});

test("throttling halves the number of requests in flight", async () => {
  let refusals = 0;
  const underWay: number[] = [];
  await using store = await startObjectStore({
    newest: 199n,
    answerMs: 10,
    misbehave: (_, response) => {
      underWay.push(store.seen.underWay + 1);
      if (underWay.length !== 60) return false;
      refusals += 1;
      response.writeHead(429).end();
      return true;
    },
  });
  await using source = open(store.base, {
    concurrency: { min: 1, max: 16, start: 16 },
    retry: { attempts: 5, damagedAttempts: 3, backoff: { firstMs: 1, maxMs: 1 } },
  });
  expectSamples(await take(source, { first: 0n, last: 199n }), numbers(0, 199));
  expect(refusals).toBe(1);
  expect(Math.max(...underWay.slice(30, 60))).toBe(16);
  expect(Math.max(...underWay.slice(90))).toBeLessThanOrEqual(9);
});

test("a body cut short in transit is fetched again", async () => {
  let cuts = 2;
  await using store = await startObjectStore({
    newest: 5n,
    misbehave: (sequence, response) => {
      if (sequence !== 4n || cuts-- <= 0) return false;
      const body = compressedSample(sequence);
      response.writeHead(200, { "content-length": body.byteLength });
      response.write(body.subarray(0, 20), () => response.destroy());
      return true;
    },
  });
  await using source = open(store.base);
  expectSamples(await take(source, { first: 0n, last: 5n }), numbers(0, 5));
});

const DAMAGE: readonly [string, (bytes: Buffer) => Buffer][] = [
  ["cut short", (bytes) => bytes.subarray(0, bytes.byteLength - 7)],
  ["empty", () => Buffer.alloc(0)],
  ["not zstd", () => Buffer.from("<html>maintenance</html>")],
];

test.each(
  [false, true].flatMap((mayBlock) => DAMAGE.map(([name, damage]) => ({ name, damage, mayBlock }))),
)(
  "an object that stays damaged ($name, blocking: $mayBlock) is an error with its number, after everything before it",
  async ({ damage, mayBlock }) => {
    let damaged = 2;
    await using store = await startObjectStore({
      newest: 9n,
      misbehave: (sequence, response) => {
        if (sequence !== 6n || damaged-- <= 0) return false;
        response.writeHead(200).end(damage(compressedSample(sequence)));
        return true;
      },
    });
    await using source = open(store.base, { mayBlock });
    expectSamples(await take(source, { first: 0n, last: 9n }), numbers(0, 9));

    damaged = Number.POSITIVE_INFINITY;
    const taken: bigint[] = [];
    const error = await failureOf(
      take(source, { first: 0n, last: 9n }, { each: ({ sequence }) => taken.push(sequence) }),
    );
    expect(error).toBeInstanceOf(CheckpointDamagedError);
    expect(error).toMatchObject({ sequence: 6n, remedy: "retry" });
    expect(taken).toEqual(numbers(0, 5));
  },
);

test("a body that trickles too slowly, and a silent server, are given up and retried", async () => {
  let slow = 2;
  await using store = await startObjectStore({
    newest: 3n,
    misbehave: (sequence, response) => {
      if (sequence !== 1n || slow-- <= 0) return false;
      if (slow === 0) return true;
      response.writeHead(200, { "content-length": 1000 });
      const drip = setInterval(() => response.write("x"), 10);
      response.on("close", () => clearInterval(drip));
      return true;
    },
  });
  await using source = open(store.base, { http: { silenceMs: 1_000, answerMs: 2_000 } });
  expectSamples(await take(source, { first: 0n, last: 3n }), numbers(0, 3));
  expect(store.seen.gets.filter((sequence) => sequence === 1n)).toHaveLength(3);
});

test("objects and checkpoints above their bounds are errors that name the number", async () => {
  await using store = await startObjectStore({
    newest: 3n,
    misbehave: (sequence, response) => {
      if (sequence !== 2n) return false;
      response.writeHead(200).end(zstdCompressSync(Buffer.alloc(1 << 20)));
      return true;
    },
  });
  for (const bound of [
    { maxObjectBytes: 20 },
    { maxCheckpointBytes: 100_000 },
    { maxCheckpointBytes: 100_000, mayBlock: true },
  ]) {
    await using source = open(store.base, bound);
    const error = await failureOf(take(source, { first: 2n, last: 2n }));
    expect(error).toBeInstanceOf(CheckpointTooLargeError);
    expect(error).toMatchObject({ sequence: 2n, remedy: "retry" });
  }
});

test("a missing object is awaited, then named with the next existing one", async () => {
  await using store = await startObjectStore({ newest: 60n, lost: new Set([20n]) });
  await using source = open(store.base, { missingGraceMs: 10_000 });
  const taking = take(source, { first: 0n, last: 60n });
  await until(
    () => store.seen.gets.filter((sequence) => sequence === 20n).length > 3,
    () => store.seen.gets.length,
  );
  store.state.lost.clear();
  expectSamples(await taking, numbers(0, 60));

  store.state.lost.add(20n);
  await using impatient = open(store.base, { missingGraceMs: 50 });
  const error = await failureOf(take(impatient, { first: 0n, last: 60n }));
  expect(error).toBeInstanceOf(CheckpointMissingError);
  expect(error).toMatchObject({ sequence: 20n, remedy: "retry" });

  // Nothing of the neighbourhood was seen: only looking beyond tells.
  store.state.oldest = 21n;
  await using late = open(store.base, { missingGraceMs: 50 });
  await expect(take(late, { first: 10n, last: 60n })).rejects.toThrow(/checkpoint 10 is missing/);
});

test("an unreachable store is tried several times, a refusing one once", async () => {
  const gone = await startObjectStore({ newest: 3n });
  await gone[Symbol.asyncDispose]();
  await using unreachable = open(gone.base);
  const unavailable = await failureOf(take(unreachable, { first: 0n, last: 3n }));
  expect(unavailable).toBeInstanceOf(SourceUnavailableError);
  expect(unavailable).toMatchObject({ remedy: "retry" });

  for (const status of [400, 401, 403, 301]) {
    await using store = await startObjectStore({
      newest: 3n,
      misbehave: (_, response) => {
        response.writeHead(status, { location: "https://elsewhere.example/" }).end();
        return true;
      },
    });
    await using source = open(store.base);
    const refused = await failureOf(take(source, { first: 0n, last: 3n }));
    expect(refused).toBeInstanceOf(SourceRefusedError);
    expect(refused).toMatchObject({ message: expect.stringContaining(`HTTP ${status}`) });
    expect(store.seen.gets.filter((sequence) => sequence === 0n)).toHaveLength(1);
  }
});

test("finds the newest checkpoint in a logarithmic number of requests", async () => {
  await using store = await startObjectStore({ newest: 275_761_458n });
  await using source = open(store.base);
  const { signal } = new AbortController();
  expect(await source.latest(signal)).toBe(275_761_458n);
  expect(store.seen.heads.length).toBeLessThan(65);
  // What is there is read once: a page in place of the store would say so of everything.
  expect(store.seen.gets).toEqual([275_761_458n]);

  const before = store.seen.heads.length;
  store.state.newest += 20n;
  expect(await source.latest(signal)).toBe(275_761_478n);
  expect(store.seen.heads.length - before).toBeLessThan(15);

  await using empty = await startObjectStore();
  await using nothing = open(empty.base);
  expect(await nothing.latest(signal)).toBeNull();
  expect(await nothing.chainId(signal)).toBeNull();
});

test("keeps the query string and sends the headers without showing either", async () => {
  await using store = await startObjectStore({ newest: 1n });
  const base = new URL(`${store.base.href}/?signature=secret`);
  await using source = open(base, { headers: { authorization: "Bearer hidden" } });
  expectSamples(await take(source, { first: 0n, last: 1n }), numbers(0, 1));
  expect(store.seen.lastUrl).toBe("/archive/1.binpb.zst?signature=secret");
  expect(store.seen.lastHeaders).toMatchObject({ authorization: "Bearer hidden" });
  expect(source.description).not.toMatch(/secret|hidden/);
});

test("ends without an error when aborted, at the tip and while fetching", async () => {
  await using store = await startObjectStore({ newest: 300n, answerMs: 2 });
  await using source = open(store.base);
  for (const stopAt of [50n, 300n]) {
    const controller = new AbortController();
    let newest = -1n;
    for await (const { sequence } of source.checkpoints({ first: 0n }, controller.signal)) {
      newest = sequence;
      if (sequence === stopAt) setTimeout(() => controller.abort(), 15);
    }
    expect(newest).toBeGreaterThanOrEqual(stopAt);
  }
});

test("a page that answers every request in place of the store is distrusted, and forgotten once it is gone", async () => {
  await using store = await startObjectStore({ newest: 50n });
  await using source = open(store.base, {
    retry: { attempts: 2, damagedAttempts: 2, backoff: { firstMs: 1, maxMs: 1 } },
  });
  const { signal } = new AbortController();
  expect(await source.latest(signal)).toBe(50n);
  store.state.misbehave = (_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<html>maintenance</html>");
    return true;
  };
  await expect(source.latest(signal)).rejects.toThrow(CheckpointDamagedError);
  // Something that can be read in place of each.
  store.state.misbehave = () => false;
  store.state.newest = 2n ** 70n;
  expect(await source.latest(signal)).toBe(2n ** 63n - 1n);
  store.state.newest = 52n;
  expect(await source.latest(signal)).toBe(52n);
});
