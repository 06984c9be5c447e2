import { expect, test } from "vitest";
import { BLOCK_CHECKPOINTS } from "../../src/log/block.ts";
import { blocksFilledTo, checkpointBefore, checkpointMark } from "../../src/log/blocks.ts";
import { BLOCKS_BEGIN, checkBlocks } from "../../src/log/check-blocks.ts";
import type { CheckpointMark } from "../../src/log/fact.ts";
import { openLog } from "../../src/log/log.ts";
import { InvalidBatchError } from "../../src/log/log-errors.ts";
import { fillIn, OtherCheckpointError, pastStretch } from "../../src/log/past-blocks.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { randomFrom } from "../random.ts";
import { forgetBlocks } from "./damage.ts";
import { batch, blockOf, fact, filled, mark, marksOf, PACKAGE, piecesOf } from "./facts.ts";

const FIRST = 100n;
const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: FIRST };

const expectMarks = async ({ sql }: TestDatabase, marks: Iterable<CheckpointMark>) => {
  for (const one of marks) expect(await checkpointMark({ sql }, one.sequence)).toEqual(one);
};

test("every checkpoint has its time and digest, with facts or without, in small batches and large", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const long = BigInt(2 * BLOCK_CHECKPOINTS + 5);
  await log.append(batch(FIRST, FIRST), []);
  await log.append(filled(101n, 101n, 3), []);
  await log.append(batch(102n, 149n, [fact(120n)]), []);
  await log.append(filled(150n, 152n, 500), []);
  await log.append(batch(153n, 152n + long), []);

  await expectMarks(database, marksOf(FIRST, 160n));
  const at = 153n + BigInt(BLOCK_CHECKPOINTS);
  await expectMarks(database, marksOf(at - 2n, at + 2n));
  await expectMarks(database, marksOf(150n + long, 152n + long));
  for (const unknown of [0n, FIRST - 1n, 153n + long, 2n ** 70n]) {
    expect(await checkpointMark(database, unknown)).toBeNull();
  }
  const counts = await database.sql`select count from log_blocks order by first_checkpoint`;
  expect(counts.map(({ count }) => count)).toEqual([
    ...[1, 1, 48, 3],
    ...[BLOCK_CHECKPOINTS, BLOCK_CHECKPOINTS, 5],
  ]);
  expect(await blocksFilledTo(database)).toEqual({
    firstCheckpoint: FIRST,
    filledTo: 153n + long,
    knownFrom: FIRST,
    nextCheckpoint: 153n + long,
  });
});

test("a batch whose block does not match its checkpoints is refused whole", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const given = batch(100n, 109n);
  const { times, digests } = blockOf(marksOf(100n, 109n));
  for (const block of [
    blockOf(marksOf(100n, 108n)),
    { times, digests: digests.subarray(1) },
    { times: times.subarray(8), digests },
  ]) {
    await expect(log.append({ ...given, blocks: [{ first: 100n, ...block }] }, [])).rejects.toThrow(
      InvalidBatchError,
    );
  }
  expect(await checkpointMark(database, FIRST)).toBeNull();
  expect((await log.highWater()).nextCheckpoint).toBe(FIRST);
});

test("the database refuses to change or delete a block", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const log = await openLog(database, identity);
  await log.append(batch(FIRST, 109n), []);
  await expect(sql`update log_blocks set filled = true`).rejects.toThrow("append-only");
  await expect(sql`delete from log_blocks`).rejects.toThrow("append-only");
  await expect(sql`truncate log_blocks`).rejects.toThrow("append-only");
  await expectMarks(database, marksOf(FIRST, 109n));
});

/** Checkpoints from `FIRST` on whose times rise by a third of a second, stand still and step back. */
const unsteady = (seed: number, count: number): readonly CheckpointMark[] => {
  const next = randomFrom(seed);
  let timestampMs = 1_700_000_000_123n;
  return Array.from({ length: count }, (_, index) => {
    const step = next(10) === 0 ? -next(4_000) : next(700);
    timestampMs += BigInt(step);
    return { ...mark(FIRST + BigInt(index)), timestampMs };
  });
};

/** The batch of these checkpoints, without facts. */
const batchOf = (marks: readonly CheckpointMark[]) => {
  const [first, last] = [marks.at(0), marks.at(-1)];
  if (first === undefined || last === undefined) throw new Error("a batch has checkpoints");
  return { first: first.sequence, last, marks: [], facts: [], blocks: piecesOf(marks) };
};

const secondOf = ({ timestampMs }: CheckpointMark) => timestampMs / 1000n;

/** What the marks read so far say of a second. */
const expected = (marks: readonly CheckpointMark[], second: bigint) => {
  const beyond = marks.find((one) => secondOf(one) > second);
  if (beyond === undefined) return { kind: "not_yet", filling: false };
  return beyond.sequence === FIRST
    ? { kind: "before_log", firstCheckpoint: FIRST }
    : { kind: "found", checkpoint: beyond.sequence - 1n };
};

/** Every second around these checkpoints. */
const secondsAround = (marks: readonly CheckpointMark[]): readonly bigint[] => {
  const seconds = marks.map(secondOf).toSorted((a, b) => Number(a - b));
  const [least = 0n, most = 0n] = [seconds.at(0), seconds.at(-1)];
  return Array.from({ length: Number(most - least) + 5 }, (_, n) => least - 2n + BigInt(n));
};

test("the last checkpoint of a second follows the chain's times, even when they step back", async () => {
  for (const seed of [1, 2, 3]) {
    await using database = await freshDatabase();
    const log = await openLog(database, identity);
    expect(await checkpointBefore(database, 0n)).toEqual({ kind: "not_yet", filling: false });
    const marks = unsteady(seed, 240);
    const next = randomFrom(seed);
    for (let at = 0; at < marks.length; ) {
      const end = at + 1 + next(40);
      await log.append(batchOf(marks.slice(at, end)), []);
      at = end;
      const known = marks.slice(0, end);
      for (const second of secondsAround(known).filter(() => next(3) === 0)) {
        expect(await checkpointBefore(database, second)).toEqual(expected(known, second));
      }
    }
    for (const second of [...secondsAround(marks), 0n, 2n ** 64n]) {
      expect(await checkpointBefore(database, second)).toEqual(expected(marks, second));
    }
  }
});

test("an older log is correct from its first filled block on, and reports what is missing", async () => {
  for (const seed of [4, 5, 6, 7]) {
    await using database = await freshDatabase();
    const log = await openLog(database, identity);
    const marks = unsteady(seed, 200);
    const past = marks.slice(0, 120);
    await log.append(batchOf(past), []);
    await forgetBlocks(database);
    for (let at = 120; at < 200; at += 16) await log.append(batchOf(marks.slice(at, at + 16)), []);
    await expectMarks(database, marks.slice(120));

    const asked = secondsAround(marks);
    let stretch = await pastStretch(database.sql);
    expect(stretch).toMatchObject({ next: FIRST, last: 219n, known: { sequence: 220n } });
    for (let done = 0; stretch !== null; done += 30) {
      const answers = await Promise.all(asked.map((one) => checkpointBefore(database, one)));
      for (const [index, answer] of answers.entries()) {
        const right = expected(marks, asked[index] ?? 0n);
        const inPast = expected(past.slice(0, done), asked[index] ?? 0n);
        expect(answer).toEqual(
          inPast.kind === "not_yet" ? { kind: "not_yet", filling: true } : right,
        );
      }
      expect(await blocksFilledTo(database)).toMatchObject({
        filledTo: FIRST + BigInt(done),
        knownFrom: 220n,
      });
      expect(await checkpointMark(database, FIRST + BigInt(done))).toBeNull();
      await fillIn(database, stretch, blockOf(past.slice(done, done + 30)));
      stretch = await pastStretch(database.sql);
      if (stretch !== null) expect(stretch.previousDigest).toBe(marks[done + 29]?.digest);
    }
    await expectMarks(database, marks);
    for (const second of asked) {
      expect(await checkpointBefore(database, second)).toEqual(expected(marks, second));
    }
    expect(await blocksFilledTo(database)).toMatchObject({ filledTo: 300n, knownFrom: FIRST });
  }
});

test("an older log without new appends is filled up to its end", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  await log.append(batch(FIRST, 149n), []);
  await forgetBlocks(database);
  const stretch = await pastStretch(database.sql);
  if (stretch === null) throw new Error("nothing to fill in");
  expect(stretch).toMatchObject({ next: FIRST, last: 149n, known: { sequence: 149n } });

  await fillIn(database, stretch, blockOf(marksOf(FIRST, 149n)));
  expect(await pastStretch(database.sql)).toBeNull();
  await log.append(batch(150n, 159n), []);
  await expectMarks(database, marksOf(FIRST, 159n));
  expect(await pastStretch(database.sql)).toBeNull();
});

test("the first append starts its own chain, however far the past is filled in", async () => {
  for (const filledIn of [0n, 20n, 50n]) {
    await using database = await freshDatabase();
    await (await openLog(database, identity)).append(batch(FIRST, 149n), []);
    await forgetBlocks(database);
    const log = await openLog(database, identity);
    const stretch = await pastStretch(database.sql);
    if (stretch === null) throw new Error("nothing to fill in");
    const through = FIRST + filledIn - 1n;
    if (filledIn > 0n) await fillIn(database, stretch, blockOf(marksOf(FIRST, through)));
    await log.append(batch(150n, 159n), []);
    expect((await checkBlocks(database.sql, BLOCKS_BEGIN)).faults).toEqual([]);
  }
});

test("a block that contradicts a checkpoint with facts, by digest or time, is not filled in", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  await log.append(batch(FIRST, 149n, [fact(120n)]), []);
  await forgetBlocks(database);
  const stretch = await pastStretch(database.sql);
  if (stretch === null) throw new Error("nothing to fill in");
  for (const other of [
    { ...mark(120n), digest: mark(121n).digest },
    { ...mark(120n), timestampMs: 1n },
  ]) {
    const block = blockOf([...marksOf(FIRST, 119n), other]);
    await expect(fillIn(database, stretch, block)).rejects.toThrow(OtherCheckpointError);
  }
  expect(await pastStretch(database.sql)).toEqual(stretch);
});
