import { describe, expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import type { Encoding, RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../src/ledger/decode/cursor.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { createWanted, factsOf } from "../../src/ledger/reading/facts.ts";
import { checkDigests } from "../../src/ledger/reading/inspect.ts";
import { createPrefilter } from "../../src/ledger/reading/prefilter.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { randomFrom } from "../random.ts";
import { damages } from "./damage.ts";

const ENCODINGS: readonly Encoding[] = ["bcs", "protobuf"];

describe.each(["kestrel", "osprey"])("the demo ledger of seed %s", (seed) => {
  const ledger = createDemoLedger({ seed, noise: 0.5 });
  const checkpoints = Array.from({ length: 350 }, () => {
    const next = ledger.next();
    const raw = (encoding: Encoding): RawCheckpoint => ({
      sequence: next.sequence,
      encoding,
      bytes: next.raw(encoding),
    });
    return { bcs: raw("bcs"), protobuf: raw("protobuf"), next };
  });
  const { packages, foreignPackages } = ledger;

  test("reads the same from both encodings, with every digest matching its bytes", () => {
    for (const { bcs, protobuf, next } of checkpoints) {
      const checkpoint = decodeCheckpoint(bcs);
      expect(decodeCheckpoint(protobuf)).toEqual(checkpoint);
      expect(checkpoint.digest).toBe(next.digest);
      expect(checkpoint.timestampMs).toBe(next.timestampMs);
      for (const raw of [bcs, protobuf]) expect(checkDigests(raw).wrong).toEqual([]);
    }
  });

  test("has each input object as the previous transaction left it, and null where it is new", () => {
    const read = createCheckpointReader(packages);
    const left = new Map<string, bigint>();
    const counts = { taken: 0, made: 0, removed: 0 };
    for (const fact of checkpoints.flatMap(({ bcs }) => read(bcs).facts)) {
      if (fact.kind === "event") continue;
      const { objectId } = fact;
      const before = fact.kind === "removal" ? fact.version : fact.versionBefore;
      expect(before).toBe(left.get(objectId) ?? null);
      if (fact.kind === "object") left.set(objectId, fact.version);
      else left.delete(objectId);
      counts[fact.kind === "removal" ? "removed" : before === null ? "made" : "taken"] += 1;
    }
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
  });

  test("loses no fact to the prefilter, whichever package is requested", () => {
    for (const addresses of [
      packages,
      packages.slice(0, 1),
      ...foreignPackages.map((one) => [one]),
    ]) {
      const passes = createPrefilter(addresses);
      const read = createCheckpointReader(addresses);
      const counts = { facts: 0, ruledOut: 0 };
      for (const { bcs, protobuf } of checkpoints) {
        const facts = factsOf(decodeCheckpoint(bcs, createWanted(addresses)));
        for (const raw of [bcs, protobuf]) {
          if (facts.length > 0) expect(passes(raw)).toBe(true);
          expect(read(raw).facts).toEqual(facts);
        }
        counts.facts += facts.length;
        if (!passes(bcs)) counts.ruledOut++;
      }
      expect(counts.facts).toBeGreaterThan(0);
      expect(counts.ruledOut).toBeGreaterThan(0);
    }
  });

  test("each checkpoint names its predecessor's digest, read or skimmed", () => {
    for (const addresses of [packages, ["0xab5e47"], ["0x2"]]) {
      const read = createCheckpointReader(addresses);
      for (const encoding of ENCODINGS) {
        let before: string | null = null;
        for (const one of checkpoints) {
          const { mark, previousDigest } = read(one[encoding]);
          expect(previousDigest).toBe(before);
          before = mark.digest;
        }
      }
    }
  });

  test("damaged, is refused or read without harm", () => {
    const random = randomFrom(99);
    let refused = 0;
    for (let i = 0; i < 2_000; i++) {
      const encoding = ENCODINGS[i % 2] ?? "bcs";
      const original = checkpoints[random(checkpoints.length)]?.[encoding];
      const damage = damages[i % damages.length];
      if (original === undefined || damage === undefined) throw new Error("nothing to damage");
      const raw = { ...original, bytes: damage.apply(original.bytes, random) };
      try {
        const { transactions } = decodeCheckpoint(raw);
        expect(transactions).toEqual(decodeCheckpoint(original).transactions);
      } catch (error) {
        if (!(error instanceof CheckpointDecodeError)) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(1_000);
  });
});
