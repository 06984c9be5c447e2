// @module-tag thorough
/** Input versions of what was read before the log kept them are filled in beside reading. */
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { verifyLog } from "../../../src/audit/verify/verify-log.ts";
import { CheckpointPrunedError } from "../../../src/ledger/sources/source-errors.ts";
import { completeChains } from "../../../src/log/chain.ts";
import { checkStretch } from "../../../src/log/check-chain.ts";
import { pastInputs } from "../../../src/log/past-inputs.ts";
import { contentsOf } from "../../log/contents.ts";
import { mark } from "../../log/facts.ts";
import {
  alterObject,
  chainInputsAnew,
  forgetInputs,
  inputCounts,
  inputHashes,
  killingWriters,
} from "../../log/inputs.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { reached, start } from "./running.ts";
import { createScriptedLedger } from "./scripted-ledger.ts";

/** A log of the checkpoints 0 to 300, read by a version that kept no input versions; and the ledger it is of. */
const logOfBefore = async () => {
  const database = await freshDatabase();
  await start(database, createScriptedLedger({ newest: 300n }), { last: 300n }).ended;
  const contents = await contentsOf(database);
  await forgetInputs(database);
  return { database, contents, ledger: createScriptedLedger({ newest: 300n }) };
};

/** The next checkpoint that is to be filled in; null when none is. */
const nextOf = async ({ sql }: TestDatabase) =>
  (await pastInputs(sql, 1))?.marks[0]?.sequence ?? null;

/** Waits until something holds; the deadline tells how far filling was. */
const until = async (database: TestDatabase, holds: () => boolean | Promise<boolean>) => {
  const deadline = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`next is ${await nextOf(database)}`);
    await wait(5);
  }
};

const isWhole = (database: TestDatabase) => async () => (await nextOf(database)) === null;

/** Whether each link is what the inputs and the links before it make. */
const expectWhole = async (database: TestDatabase) => {
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null, ended: true });
};

test("an older log ends up with the same inputs as a new one", async () => {
  const { database, contents, ledger } = await logOfBefore();
  await using _database = database;
  const read = new Set<bigint>();
  ledger.before = async (sequence) => {
    read.add(sequence);
  };
  const running = start(database, ledger);
  await until(database, isWhole(database));
  // The notice follows the commit.
  await until(database, () => running.notices.some((notice) => notice.includes("are known")));
  await running.stop();
  expect(await contentsOf(database)).toBe(contents);
  expect(running.notices.join("\n")).toMatch(
    /reading input versions of checkpoints 0 to 300 [\s\S]* up to 300 are known/,
  );
  // Of the checkpoints without changes of objects none was read again.
  expect(read).toEqual(new Set((await inputCounts(database)).keys()));
});

test("inputs are filled in during reading, each stretch with its own chain", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  ledger.newest = 400n;
  const running = start(database, ledger);
  await reached(database, 401n);
  await until(database, isWhole(database));
  ledger.grow();
  await reached(database, 402n);
  await running.stop();
  // Both write over one connection, each in its turn: otherwise it breaks.
  expect(running.notices.filter((notice) => notice.includes("again"))).toEqual([]);
  await expectWhole(database);
  const chain = await inputHashes(database);
  await chainInputsAnew(database);
  expect(await inputHashes(database)).toEqual(chain);
});

test("filling resumes after an interruption, and earlier work stays valid", async () => {
  const { database, contents, ledger } = await logOfBefore();
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
  const next = await nextOf(database);
  expect(next).toBeGreaterThan(0n);
  await expectWhole(database);

  ledger.openedAt = [];
  const second = start(database, ledger);
  await until(database, isWhole(database));
  await second.stop();
  expect(ledger.openedAt.every((opened) => next !== null && opened >= next)).toBe(true);
  expect(await contentsOf(database)).toBe(contents);
});

test("a database that cuts the filling's connection midway has all of a stretch or nothing", async () => {
  const { database, contents, ledger } = await logOfBefore();
  await using _database = database;
  const spare = await killingWriters(database);
  const running = start(database, ledger);
  await until(database, () => running.notices.length > 4);
  expect(await nextOf(database)).toBe(0n);
  await expectWhole(database);
  await spare();
  await until(database, isWhole(database));
  await running.stop();
  expect(await contentsOf(database)).toBe(contents);
});

test("a source that lacks checkpoints stops nothing, and earlier ones are kept", async () => {
  const { database, contents, ledger } = await logOfBefore();
  await using _database = database;
  let pruned = true;
  ledger.before = async (sequence) => {
    if (pruned && sequence > 50n && sequence < 250n) {
      throw new CheckpointPrunedError("scripted", sequence, 250n);
    }
  };
  const running = start(database, ledger);
  await until(database, () => running.notices.some((notice) => notice.includes("was pruned")));
  expect(running.seen.latest).toMatchObject({ state: "reading", error: null });
  await until(database, async () => ((await nextOf(database)) ?? 0n) > 50n);
  await expectWhole(database);
  const asked = { asked: false, trusted: null };
  const { notShown, faults } = await verifyLog(database, asked, new AbortController().signal);
  expect(faults).toEqual([]);
  expect(notShown).toEqual([
    expect.stringMatching(/^input versions of checkpoints \d+ to 300: they are not filled in$/),
  ]);

  pruned = false;
  await until(database, isWhole(database));
  await running.stop();
  expect(await contentsOf(database)).toBe(contents);
});

test("nothing is filled in from a checkpoint that the log knows by another digest", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  const running = start(database, ledger, {
    read: () => (raw) => {
      const seen = ledger.read(raw);
      return seen.mark.sequence > 300n
        ? seen
        : { ...seen, mark: { ...seen.mark, digest: mark(seen.mark.sequence + 1_000n).digest } };
    },
  });
  await until(database, () => running.notices.some((notice) => notice.includes("another chain")));
  await running.stop();
  expect(await nextOf(database)).toBe(0n);
});

test("an object change missing from the ledger is reported, and not filled in", async () => {
  const { database, ledger } = await logOfBefore();
  await using _database = database;
  await alterObject(database, 111n, 1);
  const running = start(database, ledger);
  await until(database, () =>
    running.notices.some((notice) =>
      /checkpoint 111: .* object 0xbad by transaction 1/.test(notice),
    ),
  );
  await running.stop();
  expect((await inputCounts(database)).get(111n)).toBe(0);
});

test("a log never opened by a version with input versions is reported as such", async () => {
  const { database } = await logOfBefore();
  await using _database = database;
  const asked = { asked: false, trusted: null };
  const signal = new AbortController().signal;
  const all = ["input versions of checkpoints 0 to 300: they are not filled in"];
  expect(await verifyLog(database, asked, signal)).toMatchObject({ faults: [], notShown: all });
  await completeChains(database);
  expect(await verifyLog(database, asked, signal)).toMatchObject({ faults: [], notShown: all });
});
