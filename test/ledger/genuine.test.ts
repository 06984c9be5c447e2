import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { canonicalJson, checkDigests } from "../../src/ledger/reading/inspect.ts";
import { readCheckpointFile } from "../../src/ledger/sources/chk-file.ts";
import { expectedOf, GENUINE_FOLDER, genuineExpected, genuineFiles } from "../genuine.ts";
import { asProtobuf } from "./as-protobuf.ts";

const open = (file: string): Promise<RawCheckpoint> =>
  readCheckpointFile(join(GENUINE_FOLDER, file));

const protobufOf = (raw: RawCheckpoint): RawCheckpoint => ({
  sequence: raw.sequence,
  encoding: "protobuf",
  bytes: asProtobuf(raw.bytes),
});

describe("genuine checkpoints of the network", () => {
  test("all of them are present", () => {
    expect(genuineFiles).toHaveLength(17);
    expect(genuineExpected).toHaveLength(15);
  });

  test.each(genuineExpected)(
    "%s prints byte for byte as an independent decoder printed it",
    async (name) => {
      const json = expectedOf(name);
      const raw = await open(name);
      expect(canonicalJson(decodeCheckpoint(raw))).toBe(json);
      expect(canonicalJson(decodeCheckpoint(protobufOf(raw)))).toBe(json);
    },
  );

  test.each(genuineFiles)("%s reads the same from both encodings", async (name) => {
    const raw = await open(name);
    const checkpoint = decodeCheckpoint(raw);
    expect(decodeCheckpoint(protobufOf(raw))).toEqual(checkpoint);
    expect(checkpoint.transactions.length).toBeGreaterThan(0);
  });

  test.each(genuineFiles)("every digest in %s matches its bytes", async (name) => {
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
