import { setTimeout as wait } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { readMaskOf } from "../../../src/ledger/sources/grpc-messages.ts";
import { open, subscribed } from "./grpc-opening.ts";
import { startGrpcServer } from "./grpc-server.ts";
import { expectSamples, numbers, take, until } from "./taking.ts";

test("catches up by concurrent fetches, then follows the tip by a stream, each checkpoint once", async () => {
  await using server = await startGrpcServer({
    newest: 299n,
    onCheckpoint: () => wait(5, undefined),
  });
  await using source = open(server.host);
  const taking = take(source, { first: 0n, last: 340n });
  await subscribed(server);
  for (let made = 0; made < 41; made += 1) {
    server.produce();
    await wait(1);
  }
  expectSamples(await taking, numbers(0, 340));
  expect(server.seen.mostUnderWay).toBeGreaterThan(4);
  expect(server.seen.checkpointCalls.filter((sequence) => sequence > 301n)).toEqual([]);
  expect([...server.seen.readMasks]).toEqual([readMaskOf(false).paths.join(",")]);
});

test("a stream that breaks or ends mid-way leaves no gap and repeats nothing", async () => {
  await using server = await startGrpcServer({ newest: 0n });
  await using source = open(server.host);
  const taking = take(source, { first: 0n, last: 44n });
  for (let round = 1; round <= 4; round += 1) {
    await subscribed(server, round);
    server.produce(7);
    server.breakStreams(round % 2 === 0 ? undefined : { code: status.UNAVAILABLE });
    // Made without a listener.
    server.state.newest += 4n;
  }
  expectSamples(await taking, numbers(0, 44));
  expect(server.seen.subscriptions).toBe(4);
});

test("numbers a stream skips are fetched, repeated ones dropped, regressions ignored", async () => {
  await using server = await startGrpcServer({ newest: 4n });
  await using source = open(server.host);
  const taking = take(source, { first: 5n, last: 20n });
  await subscribed(server);
  server.state.newest = 20n;
  for (const sequence of [6, 6, 5, 7, 2, 8, 11, 9, 10, 11, 12, 13, 20]) {
    server.announce(BigInt(sequence));
  }
  expectSamples(await taking, numbers(5, 20));
  const fetched = server.seen.checkpointCalls.toSorted((a, b) => Number(a - b));
  expect(fetched).toEqual([5n, 9n, 10n, ...numbers(14, 19)]);
});

test("a stream that falls silent while the chain moves on is replaced", async () => {
  await using server = await startGrpcServer({ newest: 2n, onSubscribe: () => "silent" });
  await using source = open(server.host, { silenceMs: 100 });
  const taking = take(source, { first: 0n, last: 30n });
  await until(
    () => server.seen.subscriptions === 1,
    () => server.seen.subscriptions,
  );
  server.state.newest = 12n;
  await until(
    () => server.seen.checkpointCalls.includes(12n),
    () => server.seen.checkpointCalls.at(-1),
  );
  server.state.onSubscribe = () => undefined;
  await subscribed(server, 3);
  server.state.newest = 29n;
  server.produce();
  expectSamples(await taking, numbers(0, 30));
});

test("a stream that only repeats the past counts as silent", async () => {
  await using server = await startGrpcServer({ newest: 5n });
  await using source = open(server.host, { silenceMs: 100 });
  const taking = take(source, { first: 0n, last: 8n });
  await subscribed(server);
  const past = setInterval(() => server.announce(3n), 5);
  server.state.newest = 8n;
  expectSamples(await taking, numbers(0, 8));
  clearInterval(past);
});

test("a node without subscriptions is polled", async () => {
  await using server = await startGrpcServer({
    newest: 5n,
    onSubscribe: () => ({ code: status.UNIMPLEMENTED, details: "no subscriptions here" }),
  });
  await using source = open(server.host);
  const taking = take(source, { first: 0n, last: 12n });
  await until(
    () => server.seen.subscriptions === 1,
    () => server.seen.subscriptions,
  );
  server.state.newest = 12n;
  expectSamples(await taking, numbers(0, 12));
  expect(server.seen.subscriptions).toBe(1);
});

test.each([
  ["checkpoints", { checkpoints: 8, bytes: 1 << 20 }],
  ["bytes", { checkpoints: 1_000, bytes: 3_000 }],
])("frames beyond the %s limit are dropped and fetched later", async (_, window) => {
  await using server = await startGrpcServer({ newest: 0n });
  await using source = open(server.host, { window });
  const taking = take(
    source,
    { first: 0n, last: 200n },
    {
      each: async ({ sequence }) => {
        // The consumer is busy while the chain runs ahead.
        if (sequence === 1n) await wait(150);
      },
    },
  );
  await subscribed(server);
  server.produce(200);
  expectSamples(await taking, numbers(0, 200));
  const fetched = server.seen.checkpointCalls.filter((sequence) => sequence > 1n);
  expect(fetched).toEqual(fetched.toSorted((a, b) => Number(a - b)));
  expect(fetched.length).toBeGreaterThan(150);
  expect(fetched.length).toBeLessThan(199);
});
