/** Guided ranges of the log: what was read of them, and the summaries between. */
import { expect, test } from "vitest";
import { blockRows } from "../../src/log/block.ts";
import { blockHashesAt, blockLinks } from "../../src/log/block-chain.ts";
import {
  blocksBetween,
  blocksFilledTo,
  checkpointBefore,
  checkpointMark,
  readUpTo,
} from "../../src/log/blocks.ts";
import { START } from "../../src/log/chain-hash.ts";
import type { AppendBatch } from "../../src/log/fact.ts";
import {
  dropFoundAfter,
  emptyFound,
  foundAfter,
  guidedFrom,
  guidedRanges,
  keepSummaries,
  type LogSummary,
  middleOf,
  neighboursOf,
  stageFound,
  summariesAfter,
  summaryAt,
} from "../../src/log/guided.ts";
import { openLog } from "../../src/log/log.ts";
import { InvalidBatchError } from "../../src/log/log-errors.ts";
import { readBatches } from "../../src/log/read-batches.ts";
import { freshDatabase } from "../postgres.ts";
import { alterLog } from "./damage.ts";
import { batch, fact, guidedBatch, mark, PACKAGE, piecesOf } from "./facts.ts";

const FIRST = 100n;
const identity = { chainId: "c4a1", packages: [PACKAGE], firstCheckpoint: FIRST };

const RANGE = { begin: FIRST, from: FIRST, maxFacts: 100, maxBytes: 1 << 20, maxCheckpoints: 100 };

const summary = (checkpoint: bigint): LogSummary => ({
  ...mark(checkpoint),
  epoch: 3n,
  summary: Buffer.from("summary"),
  signature: Buffer.from("signature"),
  signers: Buffer.from("signers"),
});

/** Guided through 900 with two batches, then whole through 910. */
const BATCHES: readonly AppendBatch[] = [
  guidedBatch(FIRST, [105n, 106n, 300n], [fact(105n), fact(300n, 0, { kind: "object" })]),
  guidedBatch(301n, [700n, 900n], [fact(700n)]),
  batch(901n, 910n, [fact(904n)]),
];

const guidedLog = async () => {
  const database = await freshDatabase();
  const log = await openLog(database, identity);
  for (const each of BATCHES) await log.append(each, []);
  return { database, log, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
};

test("a guided batch leaves gaps, and what was read is found again", async () => {
  await using given = await guidedLog();
  const { database, log } = given;
  expect((await log.highWater()).nextCheckpoint).toBe(911n);
  for (const read of [105n, 106n, 300n, 700n, 900n, 901n, 910n]) {
    expect(await checkpointMark(database, read)).toEqual(mark(read));
    expect(await neighboursOf(database, read)).toBeNull();
  }
  for (const unread of [100n, 104n, 107n, 299n, 301n, 899n]) {
    expect(await checkpointMark(database, unread)).toBeNull();
  }
  expect(await guidedRanges(database)).toEqual([{ first: FIRST, last: 900n }]);
  expect(await guidedFrom(database, 200n)).toEqual({ first: FIRST, last: 300n });
  expect(await guidedFrom(database, 901n)).toBeNull();
  // Nothing is left to fill in.
  expect(await blocksFilledTo(database)).toMatchObject({ filledTo: 911n, knownFrom: FIRST });
  expect(await blocksBetween(database.sql, 106n, 902n)).toEqual(
    piecesOf([106n, 300n, 700n, 900n, 901n, 902n].map(mark)),
  );
  expect(await readUpTo(database.sql, FIRST, 299n, 100)).toBe(106n);
  expect(await readUpTo(database.sql, FIRST, 900n, 3)).toBe(300n);
  expect(await readUpTo(database.sql, 301n, 500n, 3)).toBeNull();
  const batches: AppendBatch[] = [];
  for await (const each of readBatches(database.sql, { ...RANGE, last: 910n })) batches.push(each);
  const guided = batches.filter((each) => each.guided);
  expect(guided.at(-1)?.last).toEqual(mark(900n));
  expect(guided.flatMap(({ blocks }) => blocks)).toEqual(
    piecesOf([105n, 106n, 300n, 700n, 900n].map(mark)),
  );
  expect(batches.flatMap(({ facts }) => facts)).toEqual(BATCHES.flatMap(({ facts }) => facts));
});

test("hashes of times and digests go on over what was not read, and over nothing else", async () => {
  await using given = await guidedLog();
  const { database } = given;
  const { signal } = new AbortController();
  const hashesAt = (...through: readonly bigint[]) =>
    blockHashesAt(database.sql, FIRST, through, signal);
  const read = [105n, 106n, 300n, 700n, 900n];
  const links = blockLinks(
    START,
    blockRows(piecesOf(read.map(mark)), { reachedMs: 0n, filled: false }),
  );
  const expected = links.map(({ hash }) => Buffer.from(hash).toString("hex"));
  const hashes = await hashesAt(106n, 200n, 300n, 700n, 900n, 910n);
  expect([106n, 300n, 700n, 900n].map((at) => hashes.get(at))).toEqual(expected);
  expect(hashes.has(200n)).toBe(false);
  expect(hashes.get(910n)).toMatch(/^[0-9a-f]{64}$/);
  await alterLog(database, "delete from log_blocks where first_checkpoint > 901");
  await alterLog(database, "delete from log_guided where first_checkpoint = 301");
  expect([...(await hashesAt(300n, 900n)).keys()]).toEqual([300n]);
});

test("only a guided batch may leave gaps, and it ends with a checkpoint that was read", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const given = guidedBatch(FIRST, [105n, 300n], [fact(105n)]);
  const { blocks } = given;
  for (const wrong of [
    { ...given, guided: false },
    { ...given, last: mark(301n) },
    { ...given, blocks: [] },
    { ...given, blocks: blocks.toReversed() },
    { ...given, blocks: blocks.slice(1) },
    { ...given, first: 106n },
  ]) {
    await expect(log.append(wrong, [])).rejects.toThrow(InvalidBatchError);
  }
  expect(await guidedRanges(database)).toEqual([]);
  expect((await log.highWater()).nextCheckpoint).toBe(FIRST);
});

test("a checkpoint and a second between two that were read are known by summaries", async () => {
  await using given = await guidedLog();
  const { database } = given;
  expect(await neighboursOf(database, 200n)).toEqual({ after: 106n, before: 300n });
  expect(await neighboursOf(database, 102n)).toEqual({ after: 99n, before: 105n });
  expect(await neighboursOf(database, 2_000n)).toBeNull();
  // Four checkpoints a second: 200 to 203 share one.
  const second = mark(200n).timestampMs / 1_000n;
  expect(mark(204n).timestampMs / 1_000n).toBe(second + 1n);
  const between = (after: bigint, before: bigint) => ({ kind: "between", after, before });
  expect(await checkpointBefore(database, second)).toEqual(between(106n, 300n));
  // Others than those on the path of the bisection do not count: an answer never changes.
  await keepSummaries(database.sql, [150n, 250n].map(summary));
  expect(await checkpointBefore(database, second)).toEqual(between(106n, 300n));
  expect(await neighboursOf(database, 200n)).toEqual({ after: 150n, before: 250n });
  for (;;) {
    const before = await checkpointBefore(database, second);
    if (before.kind !== "between") break;
    await keepSummaries(database.sql, [middleOf(before)].map(summary));
  }
  expect(await checkpointBefore(database, second)).toEqual({ kind: "found", checkpoint: 203n });
  expect(await checkpointMark(database, 203n)).toEqual(mark(203n));
  expect(await neighboursOf(database, 203n)).toBeNull();
  expect(await summaryAt(database, 203n)).toEqual(summary(203n));
  expect(await summariesAfter(database.sql, 202n, 2)).toEqual([203n, 204n].map(summary));
  // Before the first checkpoint that was read, the log's own beginning bounds.
  const earlier = mark(102n).timestampMs / 1_000n;
  expect(await checkpointBefore(database, earlier)).toEqual(between(99n, 105n));
  await keepSummaries(database.sql, [102n, 100n].map(summary));
  const before = mark(FIRST).timestampMs / 1_000n - 1n;
  expect(await checkpointBefore(database, before)).toEqual({
    kind: "before_log",
    firstCheckpoint: FIRST,
  });
  expect(await checkpointBefore(database, mark(904n).timestampMs / 1_000n)).toEqual({
    kind: "found",
    checkpoint: 907n,
  });
});

test("found checkpoints are staged, replaced, read in order and removed", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const found = (checkpoint: bigint, text = `${checkpoint}`) => ({
    checkpoint,
    excerpt: Buffer.from(text),
  });
  await stageFound(sql, [found(9n), found(3n)]);
  await stageFound(sql, [found(3n, "other"), found(7n)]);
  expect(await foundAfter(sql, -1n, 2)).toEqual([found(3n, "other"), found(7n)]);
  expect(await foundAfter(sql, 7n, 2)).toEqual([found(9n)]);
  await dropFoundAfter(sql, 7n);
  expect(await foundAfter(sql, 3n, 2)).toEqual([found(7n)]);
  await emptyFound(sql);
  expect(await foundAfter(sql, -1n, 2)).toEqual([]);
});

test("the database refuses to change or delete guided ranges and summaries", async () => {
  await using given = await guidedLog();
  const { sql } = given.database;
  await keepSummaries(sql, [summary(200n)]);
  await expect(sql`update log_guided set last_checkpoint = 1`).rejects.toThrow("append-only");
  await expect(sql`delete from log_guided`).rejects.toThrow("append-only");
  await expect(sql`delete from log_summaries`).rejects.toThrow("append-only");
  await expect(sql`truncate log_summaries`).rejects.toThrow("append-only");
});
