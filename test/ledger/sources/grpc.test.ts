import { setTimeout as wait } from "node:timers/promises";
import { Metadata, status } from "@grpc/grpc-js";
import { GrpcTypes } from "@mysten/sui/grpc";
import { expect, test } from "vitest";
import {
  CheckpointPrunedError,
  CheckpointTooLargeError,
  SourceChainChangedError,
  SourceRefusedError,
  SourceUnavailableError,
} from "../../../src/ledger/sources/source-errors.ts";
import { open } from "./grpc-opening.ts";
import { startGrpcServer } from "./grpc-server.ts";
import { sampleCheckpoint } from "./sample-checkpoint.ts";
import { expectSamples, numbers, take } from "./taking.ts";

test("hands over each checkpoint's bytes as sent by the node", async () => {
  await using server = await startGrpcServer({
    newest: 3n,
    checkpoint: (sequence) => sampleCheckpoint(sequence, 100_000),
  });
  await using source = open(server.host);
  const [raw] = await take(source, { first: 3n, last: 3n });
  const sent = GrpcTypes.Checkpoint.toBinary(sampleCheckpoint(3n, 100_000));
  expect(Buffer.compare(raw?.bytes ?? new Uint8Array(), sent)).toBe(0);
});

test("throttling is waited out as long as the node asks, and leads to fewer requests", async () => {
  const metadata = new Metadata();
  // google.rpc.Status { details: [Any { RetryInfo { retry_delay: 0.3 s } }] }
  metadata.set("grpc-status-details-bin", retryInfoDetails(300_000_000));
  let refusals = 12;
  const refusedAt = new Map<bigint, number>();
  const waited: number[] = [];
  await using server = await startGrpcServer({
    newest: 199n,
    onCheckpoint: async (sequence) => {
      await wait(5);
      const before = refusedAt.get(sequence);
      if (before !== undefined) waited.push(performance.now() - before);
      if (sequence < 20n || refusals === 0) return undefined;
      refusals -= 1;
      refusedAt.set(sequence, performance.now());
      return { code: status.RESOURCE_EXHAUSTED, details: "slow down", metadata };
    },
  });
  const setbacks: string[] = [];
  await using source = open(server.host, {
    // Down to one request at a time, one checkpoint may meet nearly all of the refusals.
    retry: { attempts: 13, damagedAttempts: 3, backoff: { firstMs: 5, maxMs: 50 } },
    onSetback: ({ reason }) => setbacks.push(reason),
  });
  expectSamples(await take(source, { first: 0n, last: 199n }), numbers(0, 199));
  expect(setbacks).toHaveLength(12);
  expect(setbacks[0]).toContain("RESOURCE_EXHAUSTED: slow down");
  // The 300 ms count from when the answer arrives; each number refused is asked for again.
  expect(waited.length).toBeGreaterThan(0);
  expect(Math.min(...waited)).toBeGreaterThan(250);
});

test("an unreachable node is retried; if it stays away, that is an error to retry", async () => {
  let failures = 3;
  await using server = await startGrpcServer({
    newest: 9n,
    onCheckpoint: () => (failures-- > 0 ? { code: status.UNAVAILABLE } : undefined),
    onInfo: () => (failures-- > 0 ? { code: status.UNAVAILABLE } : undefined),
  });
  await using source = open(server.host);
  expectSamples(await take(source, { first: 0n, last: 9n }), numbers(0, 9));

  failures = Number.POSITIVE_INFINITY;
  const error = await take(source, { first: 0n, last: 9n }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SourceUnavailableError);
  expect(error).toMatchObject({ remedy: "retry" });
});

test("when TLS is requested, it never speaks without", async () => {
  await using server = await startGrpcServer({ newest: 3n });
  const host = server.host.replace("127.0.0.1", "localhost");
  await using source = open(host, {
    tls: true,
    retry: { attempts: 2, damagedAttempts: 1, backoff: { firstMs: 5, maxMs: 5 } },
  });
  expect(source.description).toBe(`grpc+https://${host}`);
  await expect(take(source, { first: 0n, last: 3n })).rejects.toThrow(SourceUnavailableError);
  expect(server.seen.headers).toEqual([]);
});

test("an answer that takes too long is requested again", async () => {
  let slow = 2;
  await using server = await startGrpcServer({
    newest: 5n,
    onCheckpoint: async (sequence) => {
      if (sequence === 3n && slow-- > 0) await wait(8_000);
      return undefined;
    },
  });
  await using source = open(server.host, { bounds: { answerMs: 2_000, maxMessageBytes: 1 << 20 } });
  expectSamples(await take(source, { first: 0n, last: 5n }), numbers(0, 5));
  expect(server.seen.checkpointCalls.filter((sequence) => sequence === 3n)).toHaveLength(3);
});

test.each([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.INVALID_ARGUMENT,
  status.UNIMPLEMENTED,
])("a refusal with status %i is an immediate error, after everything before it", async (code) => {
  await using server = await startGrpcServer({
    newest: 9n,
    onCheckpoint: (sequence) => (sequence === 4n ? { code, details: "no key" } : undefined),
  });
  await using source = open(server.host);
  const taken: bigint[] = [];
  const error = await take(
    source,
    { first: 0n, last: 9n },
    {
      each: ({ sequence }) => taken.push(sequence),
    },
  ).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SourceRefusedError);
  expect(error).toMatchObject({
    remedy: "retry",
    message: expect.stringContaining("checkpoint 4"),
  });
  expect(taken).toEqual(numbers(0, 3));
});

test("a pruned start names the first available checkpoint", async () => {
  await using server = await startGrpcServer({ newest: 90n, firstAvailable: 50n });
  await using source = open(server.host);
  const error = await take(source, { first: 10n, last: 60n }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CheckpointPrunedError);
  expect(error).toMatchObject({ firstAvailable: 50n, message: expect.stringContaining("50") });
});

test("reports its chain, and stops when the address leads to another one", async () => {
  await using server = await startGrpcServer({ newest: 3n });
  await using source = open(server.host);
  const { signal } = new AbortController();
  expect(await source.chainId(signal)).toBe(server.state.chainId);
  expect(await source.latest(signal)).toBe(3n);
  server.state.chainId = "69WiPg3DAQiwdxfncX6wYQ2siKwAe6L9BZthQea3JNMD";
  await expect(take(source, { first: 0n, last: 3n })).rejects.toThrow(SourceChainChangedError);
});

test("a message above the limit is an error that names the checkpoint", async () => {
  await using server = await startGrpcServer({
    newest: 3n,
    checkpoint: (sequence) => sampleCheckpoint(sequence, 50_000),
  });
  await using source = open(server.host, {
    bounds: { answerMs: 5_000, maxMessageBytes: 10_000 },
  });
  const error = await take(source, { first: 2n, last: 3n }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CheckpointTooLargeError);
  expect(error).toMatchObject({ sequence: 2n, remedy: "retry" });
});

test("a checkpoint announced by one node and unknown to its neighbour is waited for", async () => {
  let unknown = 3;
  await using server = await startGrpcServer({
    newest: 9n,
    onCheckpoint: (sequence) =>
      sequence === 6n && unknown-- > 0 ? { code: status.NOT_FOUND } : undefined,
  });
  await using source = open(server.host);
  expectSamples(await take(source, { first: 0n, last: 9n }), numbers(0, 9));

  unknown = Number.POSITIVE_INFINITY;
  await using impatient = open(server.host, { behindGraceMs: 50 });
  await expect(take(impatient, { first: 0n, last: 9n })).rejects.toThrow(
    /checkpoint 6 failed.*announced, but not found/,
  );
});

test("returns the decimals of a coin, null when the network knows none", async () => {
  await using server = await startGrpcServer({ decimals: new Map([["0x2::sui::SUI", 9]]) });
  await using source = open(server.host);
  const { signal } = new AbortController();
  expect(await source.coinDecimals?.("0x2::sui::SUI", signal)).toBe(9);
  expect(await source.coinDecimals?.("0x3::none::NONE", signal)).toBeNull();
});

test("returns where a package was published, null when the node cannot", async () => {
  await using server = await startGrpcServer({ published: new Map([["0x5", 273_300_000n]]) });
  await using source = open(server.host);
  await using other = await startGrpcServer();
  await using silent = open(other.host);
  const { signal } = new AbortController();
  expect(await source.publishedAt?.("0x5", signal)).toBe(273_300_000n);
  expect(await source.publishedAt?.("0x6", signal)).toBeNull();
  expect(await silent.publishedAt?.("0x5", signal)).toBeNull();
});

test("ends without an error when aborted, at the tip and while fetching", async () => {
  await using server = await startGrpcServer({
    newest: 500n,
    checkpoint: (sequence) => sampleCheckpoint(sequence, 5_000),
  });
  await using source = open(server.host, { headers: { "x-token": "secret" } });
  for (const stopAt of [100n, 500n]) {
    const controller = new AbortController();
    let newest = -1n;
    for await (const { sequence } of source.checkpoints({ first: 0n }, controller.signal)) {
      newest = sequence;
      if (sequence === stopAt) setTimeout(() => controller.abort(), 20);
    }
    expect(newest).toBeGreaterThanOrEqual(stopAt);
  }
  expect(server.seen.headers[0]?.get("x-token")).toEqual(["secret"]);
  expect(source.description).not.toContain("secret");
});

/** `google.rpc.Status` with a `RetryInfo` of so many nanoseconds, in wire bytes. */
const retryInfoDetails = (nanos: number): Buffer => {
  const lengthDelimited = (field: number, bytes: Uint8Array) =>
    Buffer.concat([Buffer.from([(field << 3) | 2, bytes.byteLength]), bytes]);
  const varint: number[] = [];
  for (let rest = nanos; rest > 0; rest = Math.floor(rest / 128)) {
    varint.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
  }
  const duration = Buffer.from([(2 << 3) | 0, ...varint]);
  const retryInfo = lengthDelimited(1, duration);
  const typeUrl = Buffer.from("type.googleapis.com/google.rpc.RetryInfo");
  const any = Buffer.concat([lengthDelimited(1, typeUrl), lengthDelimited(2, retryInfo)]);
  return Buffer.concat([Buffer.from([0x08, status.RESOURCE_EXHAUSTED]), lengthDelimited(3, any)]);
};
