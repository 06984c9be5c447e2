import { expect, test } from "vitest";
import type { Database } from "../../../src/database/connect.ts";
import { Cursor } from "../../../src/ledger/decode/cursor.ts";
import { readSummary } from "../../../src/ledger/decode/summary.ts";
import { guideWith } from "../../../src/ledger/guided/guided-reading.ts";
import { loadBls } from "../../../src/ledger/proof/bls.ts";
import { readCertified } from "../../../src/ledger/proof/certificate.ts";
import { unpackCommittee } from "../../../src/ledger/proof/committee.ts";
import { type CertificateVerifier, createVerifier } from "../../../src/ledger/proof/prover.ts";
import { createCheckpointReader, readerAt } from "../../../src/ledger/reading/read.ts";
import { type ReaderOptions, runReader } from "../../../src/ledger/reading/reader.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import { foundAfter, guidedRanges, stageFound } from "../../../src/log/guided.ts";
import { allCommittees, proofsAfter } from "../../../src/log/proofs.ts";
import { readBatches } from "../../../src/log/read-batches.ts";
import { freshDatabase } from "../../postgres.ts";
import { HONEST } from "../history/lies.ts";
import { listedDemo } from "../history/listed-demo.ts";
import { listedIndex } from "../history/listed-index.ts";
import { nextOf } from "../reading/running.ts";
import { listedSource } from "./listed-source.ts";

const ledger = listedDemo({ seed: 5, epochLength: 40, noise: 0.6, actionsPerCheckpoint: 0.7 }, 400);
const { demo } = ledger;
const NEWEST = ledger.newest();
const coinTypes = new Set(demo.coinTypes.map(({ coinType }) => coinType));
const never = new AbortController().signal;

const read = (
  database: Database,
  options: Partial<ReaderOptions> = {},
  signal: AbortSignal = never,
): Promise<void> =>
  runReader(
    {
      database,
      source: listedSource(ledger).source,
      read: readerAt("signatures"),
      verification: { level: "signatures", trust: async () => ({ committee: demo.committee }) },
      guide: guideWith({ index: listedIndex(ledger, HONEST), above: 200n }),
      packages: demo.packages.slice(0, 1),
      firstCheckpoint: 0n,
      waits: { backoff: { firstMs: 5, maxMs: 20 } },
      bounds: { facts: 50 },
      retryForMs: 0,
      ...options,
    },
    signal,
  );

const ofTheContract = ({ coinType }: ReadFact): boolean =>
  coinType === null || coinTypes.has(coinType);

/** A fact as text: its place and everything that it says. */
const shown = (fact: ReadFact): string => {
  const { checkpoint, transaction, kind, index, type, txDigest, sender, timestampMs } = fact;
  const common = [checkpoint, transaction, kind, index, type, txDigest, sender, timestampMs];
  const object =
    fact.kind === "event"
      ? []
      : [fact.objectId, fact.version, fact.kind === "object" ? fact.versionBefore : "removed"];
  const contents = fact.kind === "removal" ? "" : Buffer.from(fact.contents).toString("hex");
  return [...common, ...object, contents].join(" ");
};

const everyFact = ((): readonly ReadFact[] => {
  const facts: ReadFact[] = [];
  const readOne = createCheckpointReader(demo.packages);
  for (let sequence = 0n; sequence <= NEWEST; sequence += 1n) {
    const bytes = ledger.checkpoint(sequence);
    facts.push(...readOne({ sequence, encoding: "protobuf", bytes }).facts.filter(ofTheContract));
  }
  return facts;
})();

const factsUpTo = (last: bigint): readonly string[] =>
  everyFact.filter(({ checkpoint }) => checkpoint <= last).map(shown);

/** Facts of the contract's coins in a log, with the versions taken in. */
const factsOfLog = async ({ sql }: Database, last: bigint): Promise<readonly string[]> => {
  const facts: string[] = [];
  const request = { begin: 0n, from: 0n, last, maxCheckpoints: 100, maxFacts: 100, maxBytes: 10e6 };
  for await (const batch of readBatches(sql, request)) {
    facts.push(...batch.facts.filter(ofTheContract).map(shown));
  }
  return facts;
};

/** Checkpoints that were read and have no valid proof of the log's committees, in guided ranges. */
const unprovenIn = async ({ sql }: Database): Promise<readonly bigint[]> => {
  const bls = await loadBls();
  const verifiers = new Map<bigint, CertificateVerifier>();
  for (const { epoch, members } of await allCommittees(sql)) {
    verifiers.set(epoch, createVerifier(bls, unpackCommittee(epoch, members)));
  }
  const unproven: bigint[] = [];
  for (const { lastCheckpoint, epoch, summary, signature, signers } of await proofsAfter(
    sql,
    -1n,
    10_000,
  )) {
    const certificate = { epoch, signature, signers };
    const { header } = readSummary(new Cursor(summary, lastCheckpoint));
    const verifier = verifiers.get(epoch);
    if (verifier === undefined) unproven.push(lastCheckpoint);
    else verifier.verify({ header, summary, nextCommittee: null, objectSet: null, certificate });
  }
  return unproven;
};

test("a range is read guided, and later checkpoints one by one", async () => {
  await using database = await freshDatabase();
  await read(database, { last: 299n });
  expect(await nextOf(database)).toBe(300n);
  expect(await guidedRanges({ sql: database.sql })).toEqual([{ first: 0n, last: 299n }]);
  expect(await factsOfLog(database, 299n)).toEqual(factsUpTo(299n));
  expect(await foundAfter(database.sql, -1n, 1)).toEqual([]);

  await read(database, { last: NEWEST });
  expect(await guidedRanges({ sql: database.sql })).toEqual([{ first: 0n, last: 299n }]);
  expect(await factsOfLog(database, NEWEST)).toEqual(factsUpTo(NEWEST));
});

test("after a long pause the log is read guided again, from what it knows", async () => {
  await using database = await freshDatabase();
  await read(database, { last: 120n });
  const { source, given } = listedSource(ledger);
  await read(database, { last: NEWEST, source });
  expect(await guidedRanges({ sql: database.sql })).toEqual([{ first: 0n, last: NEWEST }]);
  expect(await factsOfLog(database, NEWEST)).toEqual(factsUpTo(NEWEST));
  // The package's publication and upgrade, and nothing else that is in the log.
  expect(given.filter((sequence) => sequence <= 120n)).toEqual([1n, 29n]);
});

test("a reader that is stopped at any moment goes on where it was", async () => {
  await using database = await freshDatabase();
  let runs = 0;
  for (let reports = 2; (await nextOf(database)) <= NEWEST; reports += 5) {
    const stopping = new AbortController();
    let left = reports;
    const onProgress = () => {
      left -= 1;
      if (left === 0) stopping.abort();
    };
    await read(database, { last: NEWEST, onProgress }, stopping.signal);
    runs += 1;
    if (runs > 40) throw new Error(`the log expects ${await nextOf(database)}`);
  }
  expect(runs).toBeGreaterThan(5);
  // Every checkpoint that was read is proven by a committee that the log has.
  expect(await unprovenIn(database)).toEqual([]);
  expect(await factsOfLog(database, NEWEST)).toEqual(factsUpTo(NEWEST));
  expect(await foundAfter(database.sql, -1n, 1)).toEqual([]);
});

test("a log that was begun by reading every checkpoint is refused", async () => {
  await using database = await freshDatabase();
  await read(database, { last: 20n, guide: undefined });
  await expect(read(database, { last: NEWEST })).rejects.toThrow(/LogNotGuided|every checkpoint/);
  expect(await nextOf(database)).toBe(21n);
});

test("lists of another chain are refused before anything is read by them", async () => {
  await using database = await freshDatabase();
  const index = { ...listedIndex(ledger, HONEST), chainId: async () => "another" };
  const reading = read(database, { last: NEWEST, guide: guideWith({ index }) });

  await expect(reading).rejects.toThrow(/is of chain another, and the log of chain/);
  expect(await nextOf(database)).toBe(0n);
});

/** Guides until everything is found and staged; is killed before the first batch is appended. */
const killedBeforeAppending: ReaderOptions["guide"] = (from, signal) =>
  guideWith({ index: listedIndex(ledger, HONEST), above: 200n })(
    {
      ...from,
      log: {
        ...from.log,
        append: async () => {
          throw Object.assign(new Error("killed"), { remedy: "stop" });
        },
      },
    },
    signal,
  );

/** Stages the checkpoints up to 299, and puts a flipped bit into the signature of one. */
const stagedWithFalseSignature = async (database: Database, nth: number) => {
  const reading = read(database, { last: 299n, guide: killedBeforeAppending });
  await expect(reading).rejects.toThrow("killed");
  const one = (await foundAfter(database.sql, -1n, 1000))[nth];
  if (one === undefined) throw new Error("too few were staged");
  const { checkpoint: sequence, excerpt } = one;
  const { certificate } = readCertified({ sequence, encoding: "protobuf", bytes: excerpt });
  const signature = Buffer.from(certificate?.signature ?? []);
  const damaged = Buffer.from(excerpt);
  const at = damaged.indexOf(signature) + 20;
  damaged[at] = (damaged[at] ?? 0) ^ 1;
  await stageFound(database.sql, [{ checkpoint: sequence, excerpt: damaged }]);
  return { sequence, signature };
};

test("what was staged under a trust that proved wrong is not appended", async () => {
  await using database = await freshDatabase();
  const reading = read(database, { last: 299n, guide: killedBeforeAppending });
  await expect(reading).rejects.toThrow("killed");
  const { committee } = listedDemo({ seed: 6, epochLength: 40 }, 2).demo;
  const verification = { level: "signatures", trust: async () => ({ committee }) } as const;
  await expect(read(database, { last: 299n, verification })).rejects.toThrow(/checkpoint \d+:/);
  expect(await nextOf(database)).toBe(0n);
  expect(await foundAfter(database.sql, -1n, 1)).toEqual([]);

  await read(database, { last: 299n });
  expect(await factsOfLog(database, 299n)).toEqual(factsUpTo(299n));
});

test.each([1, 20])(
  "a staged checkpoint whose signature is false is found again at the next start, and said so (%i)",
  async (nth) => {
    await using database = await freshDatabase();
    const { sequence, signature } = await stagedWithFalseSignature(database, nth);
    const notices: string[] = [];
    const onNotice = (notice: string) => notices.push(notice);
    await read(database, { last: 299n, onNotice });
    expect(notices).toContainEqual(
      expect.stringContaining(
        `staged checkpoints (log_found) from ${sequence} on are dropped and found again:`,
      ),
    );
    expect(await nextOf(database)).toBe(300n);
    const [proof] = await proofsAfter(database.sql, sequence - 1n, 1);
    expect(proof?.lastCheckpoint).toBe(sequence);
    expect(Buffer.from(proof?.signature ?? [])).toEqual(signature);
    expect(await unprovenIn(database)).toEqual([]);
    expect(await factsOfLog(database, 299n)).toEqual(factsUpTo(299n));
  },
);

test("a staged excerpt that does not decode is found again at the next start", async () => {
  await using database = await freshDatabase();
  const reading = read(database, { last: 299n, guide: killedBeforeAppending });
  await expect(reading).rejects.toThrow("killed");
  const [, one] = await foundAfter(database.sql, -1n, 2);
  if (one === undefined) throw new Error("too few were staged");
  const excerpt = one.excerpt.subarray(0, one.excerpt.byteLength / 2);
  await stageFound(database.sql, [{ ...one, excerpt }]);
  await read(database, { last: 299n });
  expect(await factsOfLog(database, 299n)).toEqual(factsUpTo(299n));
});
