// @module-tag thorough
import { describe, expect, test } from "vitest";
import type { Checkpoint, RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../src/ledger/decode/cursor.ts";
import { decodeCheckpoint, readSequenceOf } from "../../src/ledger/decode/decode.ts";
import { createWanted, factsOf } from "../../src/ledger/reading/facts.ts";
import { checkDigests } from "../../src/ledger/reading/inspect.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { genuineCheckpoint } from "../genuine.ts";
import { randomFor, randomFrom, rounds, tally } from "../random.ts";
import { encodedCorpus, OURS, OURS_V2 } from "./corpus.ts";
import { type Damage, damages } from "./damage.ts";

/** What one damaged input may take, even on a busy machine; usual are 0.1 ms. */
const PATIENCE_MS = 10_000;

const madeUp = encodedCorpus.flatMap(({ bcs, protobuf }) => [bcs, protobuf]);

const genuine = ["273302447.chk", "273992699.chk", "243618560.chk"].flatMap((file) => {
  const { bcs, protobuf } = genuineCheckpoint(file);
  return [bcs, protobuf];
});
/** Types of 273302447: an event and objects of this package are in it. */
const GENUINE_PACKAGE = "0xb8620c24c9ea1a4a41e79613d2b3d1d93648d1bb6f6b789a7c8f261c94110e4b";

/** Runs everything that reads raw bytes; what they throw must be a `CheckpointDecodeError`. */
const outcomes = (raw: RawCheckpoint, packages: readonly string[]) => ({
  whole: attempt(() => decodeCheckpoint(raw)),
  facts: attempt(() => factsOf(decodeCheckpoint(raw, createWanted(packages)))),
  read: attempt(() => createCheckpointReader(packages)(raw)),
  sequence: attempt(() => readSequenceOf(raw.encoding, raw.bytes)),
  digests: attempt(() => checkDigests(raw)),
});

const attempt = <T>(run: () => T): T | null => {
  try {
    return run();
  } catch (error) {
    if (error instanceof CheckpointDecodeError) return null;
    throw error;
  }
};

/**
 * What the digests answer for. Effects V1 name no digest of what they removed, so the type of a
 * removed object is left to the bytes there.
 */
const covered = ({ transactions }: Checkpoint, sequence: bigint) =>
  sequence === 1002n
    ? transactions.map((transaction) => ({
        ...transaction,
        removedObjects: transaction.removedObjects.map(({ id, version }) => ({ id, version })),
      }))
    : transactions;

const withoutTime = (facts: ReturnType<typeof factsOf>) =>
  facts.map(({ timestampMs: _, ...fact }) => fact);

const damageThem = (inputs: readonly RawCheckpoint[], count: number, packages: string[]) => {
  const random = randomFor(`${count} damaged checkpoints`);
  const seen = { refused: 0, unharmed: 0 };
  for (const i of rounds(count)) {
    const original = inputs[i % inputs.length];
    const damage: Damage | undefined = damages[Math.floor(i / inputs.length) % damages.length];
    if (original === undefined || damage === undefined) throw new Error("nothing to damage");
    const raw = { ...original, bytes: damage.apply(original.bytes, random) };
    const started = performance.now();
    const { whole } = outcomes(raw, packages);
    const took = performance.now() - started;
    expect(took, `${damage.name} of ${original.sequence} took ${took} ms`).toBeLessThan(
      PATIENCE_MS,
    );
    if (whole === null) seen.refused++;
    else {
      seen.unharmed++;
      const before = covered(decodeCheckpoint(original), original.sequence);
      expect(covered(whole, original.sequence), damage.name).toEqual(before);
    }
  }
  tally(seen);
  return seen;
};

test("4,000 damaged synthetic checkpoints are refused or read without harm", () => {
  const seen = damageThem(madeUp, 4_000, [OURS, OURS_V2]);
  expect(seen.refused).toBeGreaterThan(3_000);
});

test("1,000 damaged genuine checkpoints are refused or read without harm", () => {
  const seen = damageThem(genuine, 1_000, [GENUINE_PACKAGE]);
  expect(seen.refused).toBeGreaterThan(650);
});

describe("one changed bit, at every byte", () => {
  const first = encodedCorpus[0];
  const inputs: readonly (readonly [string, RawCheckpoint, string[]])[] = [
    ...(first === undefined ? [] : [first.bcs, first.protobuf]).map(
      (raw) => [`made-up, ${raw.encoding}`, raw, [OURS, OURS_V2]] as const,
    ),
    ...genuine
      .slice(0, 2)
      .map((raw) => [`genuine, ${raw.encoding}`, raw, [GENUINE_PACKAGE]] as const),
  ].map(([name, raw, packages]) => [name, raw, [...packages]]);

  test.each(inputs)("yields no wrong fact and loses none (%s)", (_, original, packages) => {
    const random = randomFrom(7);
    const wanted = createWanted(packages);
    const facts = withoutTime(factsOf(decodeCheckpoint(original, wanted)));
    expect(facts.length).toBeGreaterThan(1);
    let refused = 0;
    for (let at = 0; at < original.bytes.length; at++) {
      const bytes = Uint8Array.from(original.bytes);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
      const found = attempt(() => factsOf(decodeCheckpoint({ ...original, bytes }, wanted)));
      if (found === null) refused++;
      else if (!sameFacts(withoutTime(found), facts)) {
        expect(withoutTime(found), `byte ${at}`).toEqual(facts);
      }
    }
    expect(refused).toBeGreaterThan(original.bytes.length * 0.5);
  });
});

/** `toEqual` is slow for the thousands of times that everything is fine. */
const sameFacts = (left: readonly object[], right: readonly object[]): boolean =>
  asText(left) === asText(right);

const asText = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    typeof inner === "bigint"
      ? `${inner}n`
      : inner instanceof Uint8Array
        ? Buffer.from(inner).toString("hex")
        : inner,
  );
