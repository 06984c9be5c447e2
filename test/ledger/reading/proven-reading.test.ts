import { expect, test } from "vitest";
import { createDemoLedger } from "../../../demo/demo-ledger.ts";
import type { Database } from "../../../src/database/connect.ts";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { loadBls } from "../../../src/ledger/proof/bls.ts";
import { readCertified } from "../../../src/ledger/proof/certificate.ts";
import { committeeOf, unpackCommittee } from "../../../src/ledger/proof/committee.ts";
import { createVerifier } from "../../../src/ledger/proof/prover.ts";
import { createPrefilter } from "../../../src/ledger/reading/prefilter.ts";
import { readerAt } from "../../../src/ledger/reading/read.ts";
import { type ReaderOptions, runReader } from "../../../src/ledger/reading/reader.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";
import { CheckpointPrunedError } from "../../../src/ledger/sources/source-errors.ts";
import { committeeInLog, proofOf } from "../../../src/log/proofs.ts";
import type { VerifyLevel } from "../../../src/settings/values.ts";
import { contentsOf } from "../../log/contents.ts";
import { freshDatabase } from "../../postgres.ts";
import { nextOf } from "./running.ts";

const NEWEST = 119n;
const EPOCH = 40;
const ledger = createDemoLedger({ seed: 11, noise: 0.5, epochLength: EPOCH });
const { chainId, packages, committee } = ledger;
const genuine = Array.from({ length: Number(NEWEST) + 1 }, (_, i): RawCheckpoint => {
  return { sequence: BigInt(i), encoding: "protobuf", bytes: ledger.next().raw("protobuf") };
});

/** The genuine ledger, but for what `changed` makes of a checkpoint; counts how often each was asked for. */
const sourceOf = (changed: (raw: RawCheckpoint, asked: number) => RawCheckpoint = (raw) => raw) => {
  const asked = new Map<bigint, number>();
  const source: CheckpointSource = {
    description: "test",
    chainId: async () => chainId,
    latest: async () => NEWEST,
    checkpoints: async function* ({ first, last = NEWEST }) {
      for (const raw of genuine.slice(Number(first), Number(last) + 1)) {
        const times = (asked.get(raw.sequence) ?? 0) + 1;
        asked.set(raw.sequence, times);
        yield changed(raw, times);
      }
    },
    close: async () => {},
  };
  return source;
};

const read = (
  database: Database,
  level: VerifyLevel,
  options: Partial<ReaderOptions> = {},
): Promise<void> =>
  runReader(
    {
      database,
      source: sourceOf(),
      read: readerAt(level),
      verification: { level, trust: async () => ({ committee }) },
      packages,
      firstCheckpoint: 0n,
      last: NEWEST,
      // What stays wrong is waited for: here for a moment.
      retryForMs: 300,
      bounds: { checkpoints: 25 },
      ...options,
      waits: { refetches: 1, backoff: { firstMs: 5, maxMs: 20 }, past: { firstMs: 5, maxMs: 30 } },
    },
    AbortSignal.timeout(20_000),
  );

test("every level leads to the same log; with signatures all of it is proven, epoch by epoch", async () => {
  const contents: string[] = [];
  for (const level of ["off", "links", "signatures"] as const) {
    await using database = await freshDatabase();
    await read(database, level);
    contents.push(await contentsOf(database));
    const { sql } = database;
    if (level !== "signatures") {
      expect(await proofOf({ sql }, 50n)).toBeNull();
      expect(await committeeInLog({ sql })).toBeNull();
      continue;
    }
    const bls = await loadBls();
    const ends: bigint[] = [];
    for (let next = 0n; next <= NEWEST; ) {
      const proof = await proofOf({ sql }, next);
      expect(proof?.firstCheckpoint).toBe(next);
      if (proof === null) throw new Error(`checkpoint ${next} is not proven`);
      const raw = genuine[Number(proof.lastCheckpoint)];
      const certified = raw && readCertified(raw);
      expect(certified?.summary).toEqual(Uint8Array.from(proof.summary));
      // What the log keeps is enough to verify it once more.
      const kept = await committeeInLog({ sql }, proof.epoch);
      if (kept === null || certified === undefined) throw new Error("the committee is missing");
      const { signature, signers, epoch, summary } = proof;
      const certificate = { epoch, signature, signers };
      const verifier = createVerifier(bls, unpackCommittee(kept.epoch, kept.members));
      expect(() => verifier.verify({ ...certified, summary, certificate })).not.toThrow();
      ends.push(proof.lastCheckpoint);
      next = proof.lastCheckpoint + 1n;
    }
    expect(ends).toEqual(expect.arrayContaining([39n, 79n, NEWEST]));
    expect((await committeeInLog({ sql }, 1n))?.namedBy).toBe(39n);
  }
  expect(new Set(contents).size).toBe(1);
});

test("after a restart proving resumes with the log's committees, without asking for trust", async () => {
  await using database = await freshDatabase();
  await read(database, "signatures", { last: 39n });
  await read(database, "signatures", { last: 61n, verification: { level: "signatures" } });
  await read(database, "signatures", { verification: { level: "signatures" } });
  expect(await nextOf(database)).toBe(NEWEST + 1n);
  // One signature for all that was read of the epoch, in however many batches.
  expect(await proofOf(database, 62n)).toMatchObject({
    firstCheckpoint: 40n,
    lastCheckpoint: 79n,
    epoch: 1n,
  });
});

test("a log without proofs can resume with proofs, from a checkpoint trusted by digest", async () => {
  const trusted = genuine[39];
  if (trusted === undefined) throw new Error("no checkpoint 39");
  const { digest } = readCertified(trusted).header;
  for (const [sequence, last] of [
    [null, 50n],
    [39n, 90n],
    [39n, 79n],
  ] as const) {
    await using database = await freshDatabase();
    await read(database, "links", { last });
    const trust = async () => ({ checkpoint: { digest, sequence } });
    await read(database, "signatures", { verification: { level: "signatures", trust } });
    expect(await proofOf(database, last)).toBeNull();
    expect(await proofOf(database, last + 1n)).toMatchObject({ firstCheckpoint: last + 1n });
    expect(await nextOf(database)).toBe(NEWEST + 1n);
  }
});

test("a reader without trust, or with wrong trust, stops and names the setting", async () => {
  await using database = await freshDatabase();
  const nobody = { verification: { level: "signatures" } } as const;
  await expect(read(database, "signatures", nobody)).rejects.toThrow("set TRUSTED_CHECKPOINT or");
  await read(database, "links", { last: 50n });
  const digest = "1".repeat(32);
  const trust = async () => ({ checkpoint: { digest, sequence: null } });
  const wrong = { verification: { level: "signatures", trust } } as const;
  await expect(read(database, "signatures", wrong)).rejects.toThrow(`not the trusted ${digest}`);
  expect(await nextOf(database)).toBe(51n);
});

test("a source without old checkpoints suffices, down to the end of the previous epoch", async () => {
  const trusted = genuine[79];
  if (trusted === undefined) throw new Error("no checkpoint 79");
  const { digest } = readCertified(trusted).header;
  const members = readCertified(trusted).nextCommittee ?? [];
  const pruned = (from: bigint) =>
    sourceOf((raw) => {
      if (raw.sequence < from) throw new CheckpointPrunedError("test", raw.sequence, from);
      return raw;
    });
  for (const [sequence, first, trust] of [
    [79n, 95n, { checkpoint: { digest, sequence: null } }],
    [80n, 80n, { committee: committeeOf(2n, members) }],
  ] as const) {
    await using database = await freshDatabase();
    const verification = { level: "signatures", trust: async () => trust } as const;
    const source = pruned(sequence);
    await read(database, "signatures", { source, verification, firstCheckpoint: first });
    expect(await proofOf(database, first)).toMatchObject({ firstCheckpoint: first, epoch: 2n });
    expect(await nextOf(database)).toBe(NEWEST + 1n);
  }
});

test("after a pause without signatures proofs resume, from the committee that the log knows", async () => {
  await using database = await freshDatabase();
  await read(database, "signatures", { last: 30n });
  await read(database, "off", { last: 95n });
  await read(database, "signatures", { verification: { level: "signatures" } });
  const proven = async (checkpoint: bigint) => (await proofOf(database, checkpoint)) !== null;
  expect([await proven(30n), await proven(31n), await proven(95n), await proven(96n)]).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect((await committeeInLog(database, 2n))?.namedBy).toBe(79n);
});

test("a checkpoint without certificate does not enter a proven log", async () => {
  await using database = await freshDatabase();
  const reading = read(database, "signatures", { read: readerAt("links") });
  await expect(reading).rejects.toMatchObject({ name: "CertificateError" });
  expect(await nextOf(database)).toBe(0n);
});

/** The same with one bit of its signature changed. */
const badlySigned = (raw: RawCheckpoint): RawCheckpoint => {
  const { certificate } = readCertified(raw);
  const at = Buffer.from(raw.bytes).indexOf(certificate?.signature ?? Buffer.alloc(1)) + 20;
  return { ...raw, bytes: Uint8Array.from(raw.bytes, (byte, i) => (i === at ? byte ^ 1 : byte)) };
};

test("a damaged certificate is fetched again; nothing after a permanently wrong one is read", async () => {
  await using database = await freshDatabase();
  const once = sourceOf((raw, asked) => (asked === 1 ? badlySigned(raw) : raw));
  await read(database, "signatures", { source: once, last: 45n });
  expect(await nextOf(database)).toBe(46n);

  const always = sourceOf((raw) => (raw.sequence === 79n ? badlySigned(raw) : raw));
  const reading = read(database, "signatures", { source: always });
  await expect(reading).rejects.toMatchObject({ name: "CertificateError", sequence: 79n });
  // Nothing of the batch that it should prove is in the log.
  expect(await nextOf(database)).toBeLessThanOrEqual(79n);
  await read(database, "signatures");
  expect(await proofOf(database, NEWEST)).not.toBeNull();
});

test("with signatures, an address changed to hide facts from the prefilter is detected in any checkpoint", async () => {
  const [original = ""] = packages;
  const mayHold = createPrefilter([original]);
  const address = Buffer.from(original.slice(2), "hex");
  const held = genuine.find((raw) => raw.sequence > 5n && mayHold(raw));
  if (held === undefined) throw new Error("no checkpoint holds facts");
  const hidden = Uint8Array.from(held.bytes);
  const bytes = Buffer.from(hidden.buffer);
  for (let at = bytes.indexOf(address); at >= 0; at = bytes.indexOf(address)) {
    bytes[at] = (bytes[at] ?? 0) ^ 1;
  }
  const source = sourceOf((raw) => (raw === held ? { ...raw, bytes: hidden } : raw));
  const { sequence } = held;

  await using trusting = await freshDatabase();
  await read(trusting, "links", { source });
  expect(await nextOf(trusting)).toBe(NEWEST + 1n);

  await using database = await freshDatabase();
  const reading = read(database, "signatures", { source });
  await expect(reading).rejects.toMatchObject({ name: "CheckpointDecodeError", sequence });
  expect(await nextOf(database)).toBeLessThanOrEqual(sequence);
});
