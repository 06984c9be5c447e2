import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import {
  CheckpointFileError,
  openCheckpointFile,
  readCheckpointFile,
  sequenceInName,
} from "../../src/ledger/sources/chk-file.ts";
import { encodedCorpus } from "./corpus.ts";

const [first] = encodedCorpus;
if (first === undefined) throw new Error("the corpus is empty");
const { bcs, protobuf } = first;
const chk = Buffer.concat([Buffer.of(1), bcs.bytes]);
const zst = zstdCompressSync(protobuf.bytes);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chk-file-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

test("both kinds of file yield their checkpoint", async () => {
  const { sequence, encoding } = await openCheckpointFile("1001.chk", chk);
  expect({ sequence, encoding }).toEqual({ sequence: 1001n, encoding: "bcs" });
  const opened = await openCheckpointFile("/some/where/1001.binpb.zst", zst);
  expect(decodeCheckpoint(opened)).toEqual(decodeCheckpoint(bcs));
  const path = join(folder, "1001.chk");
  await writeFile(path, chk);
  expect(decodeCheckpoint(await readCheckpointFile(path))).toEqual(decodeCheckpoint(bcs));
});

test("a file without a number in its name takes it from its bytes", async () => {
  expect((await openCheckpointFile("copy.chk", chk)).sequence).toBe(1001n);
  expect((await openCheckpointFile("copy.binpb.zst", zst)).sequence).toBe(1001n);
  expect((await openCheckpointFile("copy.binpb", protobuf.bytes)).sequence).toBe(1001n);
});

test("names are read strictly", () => {
  expect(sequenceInName("a/b/17.chk")).toBe(17n);
  expect(sequenceInName("0.binpb.zst")).toBe(0n);
  expect(["x17.chk", "17.chk.tmp", "17", "-1.chk", "1.5.chk"].map(sequenceInName)).toEqual(
    Array.from({ length: 5 }, () => null),
  );
});

test.each([
  ["an unknown encoding", "1001.chk", Buffer.of(2, 0), "the first byte must be 1 (BCS), found 2"],
  ["an empty file", "1001.chk", Buffer.alloc(0), "the file is empty"],
  ["an unknown ending", "1001.json", chk, "ends in .chk, .binpb or .binpb.zst"],
  ["what is not compressed", "1001.binpb.zst", protobuf.bytes, "damaged or cut off"],
  ["what is cut off", "1001.binpb.zst", zst.subarray(0, -9), "damaged or cut off"],
])("%s is refused", async (_, name, bytes, what) => {
  const opening = openCheckpointFile(name, bytes);
  await expect(opening).rejects.toThrow(CheckpointFileError);
  await expect(opening).rejects.toThrow(what);
});

test("a file is refused when missing, too large, or too large after decompression", async () => {
  const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(100_000);
  await expect(openCheckpointFile("1.binpb.zst", bomb, 1024 * 1024)).rejects.toThrow(
    "decompresses to more than 1048576 bytes",
  );
  const path = join(folder, "5.chk");
  await writeFile(path, chk);
  await expect(readCheckpointFile(path, 100)).rejects.toThrow("at most 100");
  await expect(readCheckpointFile(join(folder, "6.chk"))).rejects.toThrow("cannot be read");
});
