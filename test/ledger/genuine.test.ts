import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RawCheckpoint } from "../../src/ledger/checkpoint.ts";
import { readCheckpointFile } from "../../src/ledger/chk-file.ts";
import { decodeCheckpoint, readHeader } from "../../src/ledger/decode/decode.ts";
import { canonicalJson, checkDigests } from "../../src/ledger/inspect.ts";
import { GENUINE_ABSENT, genuineCheckpoints } from "../genuine.ts";
import { asProtobuf } from "./as-protobuf.ts";

const folder = genuineCheckpoints();
const files = folder === undefined ? [] : readdirSync(folder).filter((n) => n.endsWith(".chk"));
const expected = folder === undefined ? [] : readdirSync(join(folder, "expected"));

const open = (file: string): Promise<RawCheckpoint> => readCheckpointFile(join(folder ?? "", file));

const protobufOf = (raw: RawCheckpoint): RawCheckpoint => ({
  sequence: raw.sequence,
  encoding: "protobuf",
  bytes: asProtobuf(raw.bytes),
});

test.skipIf(folder !== undefined)(GENUINE_ABSENT, () => {
  console.warn(`skipped: ${GENUINE_ABSENT}`);
});

describe.skipIf(folder === undefined)("genuine checkpoints of the network", () => {
  test("all of them are there", () => {
    expect(files).toHaveLength(17);
    expect(expected).toHaveLength(15);
  });

  test.each(expected)(
    "%s is printed byte for byte as an independent decoder printed it",
    async (name) => {
      const json = readFileSync(join(folder ?? "", "expected", name), "utf8").trimEnd();
      const raw = await open(name.replace(".json", ".chk"));
      expect(canonicalJson(decodeCheckpoint(raw))).toBe(json);
      expect(canonicalJson(decodeCheckpoint(protobufOf(raw)))).toBe(json);
    },
  );

  test.each(files)("%s reads the same from both encodings", async (name) => {
    const raw = await open(name);
    const checkpoint = decodeCheckpoint(raw);
    expect(decodeCheckpoint(protobufOf(raw))).toEqual(checkpoint);
    const { transactions, ...header } = checkpoint;
    expect(readHeader(raw)).toEqual(header);
    expect(readHeader(protobufOf(raw))).toEqual(header);
    expect(transactions.length).toBeGreaterThan(0);
  });

  test.each(files)("every digest in %s is what its bytes give", async (name) => {
    const raw = await open(name);
    const report = checkDigests(raw);
    expect(report.wrong).toEqual([]);
    expect(report.contents.checked).toBe(1);
    expect(report.transactions.checked).toBe(decodeCheckpoint(raw).transactions.length);
    expect(report.effects.checked).toBe(report.transactions.checked);
    expect(report.objects.checked).toBeGreaterThan(report.transactions.checked);
    expect(checkDigests(protobufOf(raw))).toEqual(report);
  });
});
