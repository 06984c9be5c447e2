import { copyFile, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type DirectoryOptions,
  DirectoryUnreadableError,
  directorySource,
} from "../../../src/ledger/sources/directory.ts";
import {
  CheckpointDamagedError,
  CheckpointMissingError,
  CheckpointTooLargeError,
} from "../../../src/ledger/sources/source-errors.ts";
import { compressedSample } from "./object-store-server.ts";
import { sampleCheckpointBytes } from "./sample-checkpoint.ts";
import { expectSamples, numbers, take } from "./taking.ts";

const temporaryFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), "checkpoints-"));
  return {
    path,
    put: (sequence: bigint) =>
      writeFile(join(path, `${sequence}.binpb.zst`), compressedSample(sequence)),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
};

const open = (path: string, options: Partial<DirectoryOptions> = {}) =>
  directorySource({ path, missingGraceMs: 60, rereadMs: 5, ...options });

const { signal } = new AbortController();

test("reads both kinds of files in order and knows the newest", async () => {
  await using folder = await temporaryFolder();
  for (const sequence of [8n, 9n, 10n, 12n]) await folder.put(sequence);
  const bcs = Buffer.from([1, 2, 3, 4]);
  await writeFile(join(folder.path, "11.chk"), bcs);
  const source = open(folder.path);
  const taken = await take(source, { first: 8n, last: 12n });
  expect(taken.map(({ sequence }) => sequence)).toEqual([8n, 9n, 10n, 11n, 12n]);
  expect(taken[3]).toMatchObject({ encoding: "bcs" });
  expect([...(taken[3]?.bytes ?? [])]).toEqual([2, 3, 4]);
  expectSamples(
    taken.filter((_, index) => index !== 3),
    [8n, 9n, 10n, 12n],
  );
  expect(await source.latest(signal)).toBe(12n);
  expect(await source.chainId(signal)).toBeNull();
});

test("a file that its neighbours do not follow can be read alone", async () => {
  await using folder = await temporaryFolder();
  for (const sequence of [3n, 70n, 4000n]) await folder.put(sequence);
  expectSamples(await take(open(folder.path), { first: 70n, last: 70n }), [70n]);
});

test("a gap before later files is an error that names both, unless it closes in time", async () => {
  await using folder = await temporaryFolder();
  for (const sequence of [0n, 1n, 5n, 9n]) await folder.put(sequence);
  const taken: bigint[] = [];
  const error = await take(
    open(folder.path),
    { first: 0n, last: 9n },
    {
      each: ({ sequence }) => taken.push(sequence),
    },
  ).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CheckpointMissingError);
  expect(error).toMatchObject({
    sequence: 2n,
    remedy: "retry",
    message: expect.stringContaining("5"),
  });
  expect(taken).toEqual([0n, 1n]);

  const taking = take(open(folder.path, { missingGraceMs: 5_000 }), { first: 0n, last: 5n });
  for (const sequence of [4n, 3n, 2n]) await folder.put(sequence);
  expectSamples(await taking, numbers(0, 5));
});

test("waits at the end for new files, and ignores unfinished ones", async () => {
  await using folder = await temporaryFolder();
  await using elsewhere = await temporaryFolder();
  await folder.put(0n);
  // Far apart, so that only the file system's own word can be what wakes the source.
  const taking = take(open(folder.path, { pollMs: 60_000 }), { first: 0n, last: 20n });
  for (const sequence of numbers(1, 20)) {
    await elsewhere.put(sequence);
    const name = `${sequence}.binpb.zst`;
    const unfinished = join(folder.path, `.${name}.tmp`);
    await copyFile(join(elsewhere.path, name), unfinished);
    await rename(unfinished, join(folder.path, name));
  }
  expectSamples(await taking, numbers(0, 20));
});

test("a file that stays damaged is an error with its number; one still being written is read again", async () => {
  await using folder = await temporaryFolder();
  const whole = compressedSample(0n);
  const file = join(folder.path, "0.binpb.zst");
  await writeFile(file, whole.subarray(0, 30));
  const error = await take(open(folder.path), { first: 0n, last: 0n }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(CheckpointDamagedError);
  expect(error).toMatchObject({ sequence: 0n, remedy: "retry" });

  const taking = take(open(folder.path, { rereadMs: 300 }), { first: 0n, last: 0n });
  await writeFile(file, whole);
  expectSamples(await taking, [0n]);

  await writeFile(join(folder.path, "1.chk"), Buffer.from([7, 1, 2]));
  await expect(take(open(folder.path), { first: 1n, last: 1n })).rejects.toThrow(
    /checkpoint 1 is damaged.*found 7/,
  );
});

test("files and contents above the limit stop with the number named", async () => {
  await using folder = await temporaryFolder();
  await folder.put(0n);
  for (const maxCheckpointBytes of [20, sampleCheckpointBytes(0n).byteLength - 1]) {
    const source = open(folder.path, { maxCheckpointBytes });
    await expect(take(source, { first: 0n, last: 0n })).rejects.toThrow(CheckpointTooLargeError);
  }
});

test("takes the chain's id from ledger.json; an unreadable folder or description is named", async () => {
  await using folder = await temporaryFolder();
  const ledger = join(folder.path, "ledger.json");
  await writeFile(ledger, JSON.stringify({ chainId: "demo-chain", packages: [] }));
  expect(await open(folder.path).chainId(signal)).toBe("demo-chain");
  for (const text of ["{", "{}", '{"chainId":7}']) {
    await writeFile(ledger, text);
    await expect(open(folder.path).chainId(signal)).rejects.toThrow(DirectoryUnreadableError);
  }
  const absent = join(folder.path, "absent");
  await expect(open(absent).chainId(signal)).rejects.toThrow(absent);
  await expect(take(open(absent), { first: 0n, last: 1n })).rejects.toThrow(
    DirectoryUnreadableError,
  );
});

test("ends without an error when aborted while waiting", async () => {
  await using folder = await temporaryFolder();
  await folder.put(0n);
  const taken: bigint[] = [];
  const stop = new AbortController();
  for await (const { sequence } of open(folder.path).checkpoints({ first: 0n }, stop.signal)) {
    taken.push(sequence);
    setTimeout(() => stop.abort(), 50);
  }
  expect(taken).toEqual([0n]);
});
