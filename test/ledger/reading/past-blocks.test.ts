// @module-tag thorough
/** What was read before the log kept the times of all checkpoints is filled in beside reading. */
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Database } from "../../../src/database/connect.ts";
import {
  CheckpointPrunedError,
  SourceUnavailableError,
} from "../../../src/ledger/sources/source-errors.ts";
import { blocksFilledTo, checkpointMark } from "../../../src/log/blocks.ts";
import { forgetBlocks } from "../../log/damage.ts";
import { mark, marksOf } from "../../log/facts.ts";
import { freshDatabase } from "../../postgres.ts";
import { reached, start } from "./running.ts";
import { createScriptedLedger } from "./scripted-ledger.ts";

/** A log of the checkpoints 0 to 300, read by a version that kept no blocks; and the ledger it is of. */
const logOfBefore = async () => {
  const database = await freshDatabase();
  await start(database, createScriptedLedger({ newest: 300n }), { last: 300n }).ended;
  await forgetBlocks(database);
  return { database, ledger: createScriptedLedger({ newest: 400n }) };
};

const filledTo = async (database: Database) => (await blocksFilledTo(database))?.filledTo;

/** Waits until something holds; the deadline tells how far filling was. */
const until = async (database: Database, holds: () => boolean | Promise<boolean>) => {
  const deadline = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`filled to ${await filledTo(database)}`);
    await wait(5);
  }
};

const isWhole = (database: Database) => async () =>
  (await blocksFilledTo(database))?.knownFrom === 0n;

const expectAll = async (database: Database, last: bigint) => {
  for (const one of marksOf(0n, last)) {
    expect(await checkpointMark(database, one.sequence)).toEqual(one);
  }
};

test("times and digests of an older log are filled in during reading", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  const running = start(database, ledger);
  await reached(database, 401n);
  await until(database, isWhole(database));
  ledger.grow();
  await reached(database, 402n);
  await running.stop();

  await expectAll(database, 401n);
  expect(running.notices.join("\n")).toMatch(/checkpoints 0 to 300 [\s\S]* up to 300 are known/);
});

test("an older log with nothing left to read is filled in too", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  ledger.newest = 300n;
  const running = start(database, ledger);
  await until(database, isWhole(database));
  await running.stop();
  await expectAll(database, 300n);
});

test("filling resumes after an interruption without repeating work", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  const paused = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  ledger.before = async (sequence) => {
    if (sequence !== 120n) return;
    paused.resolve();
    await held.promise;
  };
  const first = start(database, ledger);
  await paused.promise;
  const stopped = first.stop();
  held.resolve();
  await stopped;
  const before = await filledTo(database);
  expect(before).toBeGreaterThanOrEqual(120n);
  expect(before).toBeLessThan(301n);

  ledger.openedAt = [];
  const second = start(database, ledger);
  await until(database, isWhole(database));
  await second.stop();
  expect(ledger.openedAt).toContain(before);
  expect(ledger.openedAt.every((opened) => before !== undefined && opened >= before)).toBe(true);
  await expectAll(database, 300n);
});

test("a source without old checkpoints is reported and stops nothing; once it has them, all is filled in", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  let pruned = true;
  ledger.before = async (sequence) => {
    if (pruned && sequence < 250n) throw new CheckpointPrunedError("scripted", sequence, 250n);
  };
  const running = start(database, ledger);
  await reached(database, 401n);
  await until(database, () => running.notices.some((notice) => notice.includes("was pruned")));
  expect(running.seen.latest).toMatchObject({ state: "reading", error: null });
  expect(await blocksFilledTo(database)).toMatchObject({ filledTo: 0n, knownFrom: 301n });

  pruned = false;
  await until(database, isWhole(database));
  await running.stop();
  await expectAll(database, 400n);
});

test("checkpoints before a source's failure are kept", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  let failures = 3;
  ledger.before = async (sequence) => {
    if (sequence === 200n && failures-- > 0) {
      throw new SourceUnavailableError("scripted", "checkpoint 200", 3, new Error("down"));
    }
  };
  const running = start(database, ledger);
  await until(database, isWhole(database));
  await running.stop();
  expect(ledger.openedAt.filter((opened) => opened === 199n)).toHaveLength(3);
  await expectAll(database, 300n);
});

test("nothing of another chain is filled in", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  // All of it is of another chain where it is read again; new checkpoints are those of the log's.
  const other = (sequence: bigint) => mark(sequence + 1_000n).digest;
  const running = start(database, ledger, {
    readPlace: ({ sequence }) => ({
      mark: { ...mark(sequence), digest: other(sequence) },
      previousDigest: other(sequence - 1n),
    }),
  });
  await reached(database, 401n);
  await until(database, () => running.notices.some((notice) => notice.includes("another chain")));
  await running.stop();
  expect(await blocksFilledTo(database)).toMatchObject({ filledTo: 0n, knownFrom: 301n });
});

// The last one of all is named by nothing that is filled in; the log knows it.
test.each([0n, 151n, 299n, 300n])(
  "checkpoint %s, damaged in transit, is filled in only once it arrives intact",
  async (damaged) => {
    const { database, ledger } = await logOfBefore();
    await using _database = database;
    let isDamaged = true;
    const running = start(database, ledger, {
      readPlace: (raw) => {
        const read = ledger.read(raw);
        const { mark: right } = read;
        if (!isDamaged || right.sequence !== damaged) return read;
        return { ...read, mark: { ...right, digest: mark(1_000n).digest, timestampMs: 1n } };
      },
    });
    await reached(database, 401n);
    const told = running.notices.length;
    await until(
      database,
      async () => (await filledTo(database)) === damaged && running.notices.length > told,
    );
    expect(await checkpointMark(database, damaged)).toBeNull();

    isDamaged = false;
    await until(database, isWhole(database));
    await running.stop();
    await expectAll(database, 400n);
  },
);
