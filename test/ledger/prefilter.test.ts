import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../src/ledger/decode/cursor.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { createWanted, factsOf } from "../../src/ledger/reading/facts.ts";
import { createPrefilter } from "../../src/ledger/reading/prefilter.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { genuineCheckpoint, genuineFiles } from "../genuine.ts";
import { COIN_TYPE, encodedCorpus, FOREIGN, ISSUER, OURS, OURS_V2 } from "./corpus.ts";
import { encodeFixture, structTag } from "./fixture.ts";
import { id } from "./fixture-object.ts";

const genuine = genuineFiles.flatMap((file) => {
  const { bcs, protobuf } = genuineCheckpoint(file);
  return [bcs, protobuf];
});
const madeUp = encodedCorpus.flatMap(({ bcs, protobuf }) => [bcs, protobuf]);

/** Own addresses of the types of events and objects. */
const addressesIn = (raw: RawCheckpoint): string[] => {
  const types = decodeCheckpoint(raw).transactions.flatMap((transaction) =>
    [...transaction.events, ...transaction.outputObjects, ...transaction.removedObjects].map(
      ({ type }) => type.slice(0, 66),
    ),
  );
  return [...new Set(types)];
};

/** Whenever the decoder finds a fact, the prefilter must have let the checkpoint through. */
const neverHides = (inputs: readonly RawCheckpoint[], runs: number) => {
  const everywhere = [...new Set(inputs.flatMap(addressesIn))];
  const absent = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => `0x${Buffer.from(bytes).toString("hex")}`);
  // Addresses whose bytes are mostly zeros occur in bytes everywhere, as numbers and paddings.
  const short = fc.integer({ min: 0, max: 0xffff }).map((value) => `0x${value.toString(16)}`);
  const anywhere = fc.oneof(fc.constantFrom(...everywhere), absent, short);
  const cases = fc.constantFrom(...inputs).chain((raw) => {
    const own = addressesIn(raw);
    const address = own.length === 0 ? anywhere : fc.oneof(anywhere, fc.constantFrom(...own));
    return fc.tuple(fc.constant(raw), fc.uniqueArray(address, { minLength: 1, maxLength: 3 }));
  });
  const seen = { passed: 0, ruledOut: 0, found: 0 };
  fc.assert(
    fc.property(cases, ([raw, addresses]) => {
      const passed = createPrefilter(addresses)(raw);
      const facts = factsOf(decodeCheckpoint(raw, createWanted(addresses)));
      if (facts.length > 0) expect(passed).toBe(true);
      const read = createCheckpointReader(addresses)(raw);
      expect(read.facts).toEqual(facts);
      expect(read.skipped).toBe(!passed);
      seen[passed ? "passed" : "ruledOut"]++;
      if (facts.length > 0) seen.found++;
    }),
    // The same cases every time, so that their number in each class is the same, too.
    { numRuns: runs, seed: 20_251_120 },
  );
  return seen;
};

test("the prefilter never hides a fact of a made-up checkpoint, whatever the packages", () => {
  const seen = neverHides(madeUp, 600);
  expect(seen.found).toBeGreaterThan(50);
  expect(seen.ruledOut).toBeGreaterThan(50);
});

test("the prefilter never hides a fact of a genuine checkpoint, whatever the packages", () => {
  const seen = neverHides(genuine, 400);
  expect(seen.found).toBeGreaterThan(20);
  expect(seen.ruledOut).toBeGreaterThan(20);
});

describe.each(["bcs", "protobuf"] as const)("in %s", (encoding) => {
  const withObject = (type: ReturnType<typeof structTag>, removed = false) => {
    const object = { id: id(1), version: 5n, type: { Other: type }, owner: { Shared: 1 } };
    const change = removed
      ? { before: object, after: null, operation: "Deleted" as const }
      : { before: null, after: object, operation: "Created" as const };
    const transactions = [{ sender: ISSUER, changes: [change] }];
    return encodeFixture({ sequence: 8n, transactions })[encoding];
  };
  const passes = createPrefilter([OURS, OURS_V2]);

  test("our objects pass, written or removed; a foreign look-alike does not", () => {
    const tag = (address: string) => structTag(address, "shared_token", "SharedToken");
    expect(passes(withObject(tag(OURS)))).toBe(true);
    expect(passes(withObject(tag(OURS_V2), true))).toBe(true);
    expect(passes(withObject(tag(FOREIGN)))).toBe(false);
  });

  test("a coin's metadata passes without any of our addresses; other types of its modules do not", () => {
    const parameters = [{ struct: structTag(FOREIGN, "x", "X") }];
    const of = (module: string, name: string) =>
      passes(withObject(structTag(id(2), module, name, parameters)));
    expect(of("coin", "CoinMetadata")).toBe(true);
    expect(of("coin_registry", "Currency")).toBe(true);
    expect(of("coin", "TreasuryCap")).toBe(false);
    expect(of("coin_registry", "CoinRegistry")).toBe(false);
  });

  test("packages whose types the network shortens let everything pass", () => {
    const raw = withObject(structTag(FOREIGN, "a", "B"));
    expect(createPrefilter(["0x2"])(raw)).toBe(true);
    expect(createPrefilter([OURS, "0x03"])(raw)).toBe(true);
    expect(createPrefilter(["0x4"])(raw)).toBe(false);
  });
});

describe("the reader", () => {
  const [first, , empty] = encodedCorpus;
  if (first === undefined || empty === undefined) throw new Error("the corpus is empty");
  const { bcs } = first;

  test("takes only the chain position from a checkpoint without our facts", () => {
    expect(createCheckpointReader([OURS])(empty.bcs)).toEqual({
      mark: {
        sequence: 0n,
        digest: decodeCheckpoint(empty.bcs).digest,
        timestampMs: 1_700_000_000_000n,
      },
      previousDigest: null,
      facts: [],
      coins: [],
      joined: [],
      skipped: true,
    });
  });

  test("refuses a truncated checkpoint even when the rest holds no facts", () => {
    const absent = createCheckpointReader([id(0xab5e47)]);
    for (const { bytes, ...raw } of encodedCorpus.flatMap((one) => [one.bcs, one.protobuf])) {
      for (let length = 0; length < bytes.length; length += 1 + (length >> 4)) {
        const cut = { ...raw, bytes: bytes.subarray(0, length) };
        expect(() => absent(cut), `${raw.encoding}, ${length} bytes`).toThrow(
          CheckpointDecodeError,
        );
      }
    }
  });

  test("yields facts in chain order: events with their index, then written, then removed objects", () => {
    const { facts, mark, skipped } = createCheckpointReader([OURS])(bcs);
    expect(skipped).toBe(false);
    expect(
      facts.map(({ transaction, kind, index, name }) => [transaction, kind, index, name]),
    ).toEqual([
      [1, "event", 1, "shared_token::Transfer"],
      [1, "object", 0, "shared_token::SharedToken"],
      [1, "object", 1, "shared_token::SharedToken"],
      [1, "object", 2, "coin::CoinMetadata"],
      [1, "object", 3, "coin_registry::Currency"],
      [1, "object", 4, "shared_token::SharedToken"],
      [1, "removal", 5, "shared_token::SharedToken"],
      [1, "removal", 6, "shared_token::SharedToken"],
      [2, "object", 0, "shared_token::SharedToken"],
    ]);
    expect(facts[0]).toMatchObject({
      checkpoint: 1001n,
      type: `${OURS}::shared_token::Transfer<${COIN_TYPE}>`,
      coinType: COIN_TYPE,
      sender: ISSUER,
      timestampMs: mark.timestampMs,
      txDigest: decodeCheckpoint(bcs).transactions[1]?.digest,
      contents: new Uint8Array(40).fill(2),
    });
    expect(facts[6]).toMatchObject({ objectId: id(0x1003), version: 9n });
  });

  test("reports the decimals of coins whose metadata it met", () => {
    const { coins } = createCheckpointReader([OURS])(bcs);
    expect(coins).toEqual([
      { coinType: COIN_TYPE, decimals: 6 },
      { coinType: COIN_TYPE, decimals: 7 },
    ]);
  });

  test("keeps none of the checkpoint's bytes alive in its facts", () => {
    for (const fact of createCheckpointReader([OURS])(bcs).facts) {
      if (fact.kind !== "removal") {
        expect(fact.contents.buffer.byteLength).toBe(fact.contents.byteLength);
      }
    }
  });

  test("refuses positions beyond the format", () => {
    const checkpoint = decodeCheckpoint(bcs);
    const [event] = checkpoint.transactions[1]?.events ?? [];
    const [, transaction] = checkpoint.transactions;
    if (event === undefined || transaction === undefined) throw new Error("the corpus has changed");
    const events = [{ ...event, index: 10_000 }];
    expect(() => factsOf({ ...checkpoint, transactions: [{ ...transaction, events }] })).toThrow(
      "event 10000 of transaction 0 exceeds what a position can number",
    );
    const transactions = Array.from({ length: 100_001 }, () => transaction);
    expect(() => factsOf({ ...checkpoint, transactions })).toThrow("transaction 100000");
  });
});
