/** The client's reader of excerpts against the service's own decoder, on the network's checkpoints and the demo's. */
import { beforeAll, expect, test } from "vitest";
import { ExcerptError } from "../../client/bcs.ts";
import { excerptIn, summaryIn, wantedOf } from "../../client/excerpt.ts";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { readExcerpt, readToExtract } from "../../src/ledger/proof/excerpt.ts";
import { createWanted, factsOf } from "../../src/ledger/reading/facts.ts";
import type { ReadFact } from "../../src/log/fact.ts";
import { genuineCheckpoint, genuineFiles } from "../genuine.ts";

type Sample = {
  readonly sequence: bigint;
  readonly bytes: Uint8Array;
  /** All in it but the framework's, whose coins the ledger writes short. */
  readonly packages: readonly string[];
  readonly facts: readonly ReadFact[];
};

const sampleOf = async (raw: RawCheckpoint): Promise<Sample> => {
  const { transactions } = decodeCheckpoint(raw);
  const all = new Set(transactions.keys());
  const bytes = await readToExtract(raw, () => false).excerptOf(all);
  const types = transactions.flatMap(({ events, outputObjects, removedObjects }) =>
    [...events, ...outputObjects, ...removedObjects].map(({ type }) => type.slice(0, 66)),
  );
  const packages = [...new Set(types)].filter((address) => !/^0x0{60}/.test(address));
  const { checkpoint } = await readExcerpt(raw.sequence, bytes, createWanted(packages));
  return { sequence: raw.sequence, bytes, packages, facts: factsOf(checkpoint) };
};

let samples: readonly Sample[];
beforeAll(async () => {
  samples = await Promise.all(genuineFiles.map((file) => sampleOf(genuineCheckpoint(file).bcs)));
}, 120_000);

const comparable = (fact: ReadFact) => ({
  kind: fact.kind,
  name: fact.name,
  transaction: fact.transaction,
  txDigest: fact.txDigest,
  ...(fact.kind !== "event" && { objectId: fact.objectId, version: fact.version }),
  ...(fact.kind === "object" && {
    versionBefore: fact.versionBefore,
    contents: Buffer.from(fact.contents).toString("hex"),
  }),
});

test("every fact of the network's checkpoints is read as the service reads it, coin by coin", () => {
  let compared = 0;
  for (const { sequence, bytes, packages, facts } of samples) {
    const byCoin = Map.groupBy(facts, ({ coinType }) => coinType);
    for (const [coinType, own] of byCoin) {
      if (coinType === null) continue;
      const { facts: found } = excerptIn(sequence, bytes, coinType, wantedOf(packages));
      const texts = found.map((fact) =>
        fact.kind === "object"
          ? { ...fact, contents: Buffer.from(fact.contents).toString("hex") }
          : fact,
      );
      expect(texts).toEqual(own.map(comparable));
      compared += own.length;
    }
  }
  expect(compared).toBeGreaterThan(200);
});

test("summaries are those that the service reads, with the next committee at the end of an epoch", async () => {
  for (const { sequence, bytes } of samples) {
    const { certified } = await readExcerpt(sequence, bytes, () => false);
    const found = summaryIn(sequence, bytes);
    expect(found).toMatchObject({
      epoch: certified.header.epoch,
      digest: certified.header.digest,
      timestampMs: certified.header.timestampMs,
    });
    expect(Buffer.from(found.summary)).toEqual(Buffer.from(certified.summary));
    expect(Buffer.from(found.bitmap)).toEqual(Buffer.from(certified.certificate?.signers ?? []));
    expect(found.next?.length).toBe(certified.nextCommittee?.length);
  }
});

test("no changed bit of an excerpt leaves other facts than before", () => {
  const [sample] = samples.toSorted((a, b) => a.bytes.length - b.bytes.length);
  const { sequence, bytes, packages, facts } = sample ?? expect.fail("no sample");
  const coinType = facts.find((fact) => fact.coinType !== null)?.coinType ?? "";
  const wanted = wantedOf(packages);
  const honest = JSON.stringify(excerptIn(sequence, bytes, coinType, wanted), shown);
  let refused = 0;
  for (let at = 0; at < 2_000; at++) {
    const place = Math.floor((at * bytes.length) / 2_000);
    const changed = Uint8Array.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ (1 << (at % 8));
    try {
      const found = excerptIn(sequence, changed, coinType, wanted);
      // Signature and summary are for the validators to sign: their digest differs.
      const { digest, signature, bitmap, signedEpoch } = found;
      const same = JSON.stringify({ ...found, signature, bitmap, signedEpoch, digest }, shown);
      if (same === honest) continue;
      expect([digest, hex(signature), hex(bitmap), signedEpoch]).not.toEqual(honestSigned());
    } catch (error) {
      expect(error).toBeInstanceOf(ExcerptError);
      refused += 1;
    }
  }
  // Data of transactions are not read: they have no facts.
  expect(refused).toBeGreaterThan(1_200);
  function honestSigned() {
    const { digest, signature, bitmap, signedEpoch } = summaryIn(sequence, bytes);
    return [digest, hex(signature), hex(bitmap), signedEpoch];
  }
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const shown = (_: string, value: unknown) =>
  typeof value === "bigint" ? `${value}` : value instanceof Uint8Array ? hex(value) : value;
