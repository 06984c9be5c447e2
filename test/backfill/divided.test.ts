import { expect, test } from "vitest";
import type { RangeReader } from "../../src/backfill/work-ranges.ts";
import { readHighWater } from "../../src/log/high-water.ts";
import { packagesInLog } from "../../src/log/packages.ts";
import { proofOf } from "../../src/log/proofs.ts";
import { planRanges, rangesAhead } from "../../src/log/ranges.ts";
import { until } from "../lanes/until.ts";
import { contentsOf, rowsOfLog } from "../log/contents.ts";
import { divideFacts } from "../log/facts-partitions.ts";
import { freshDatabase } from "../postgres.ts";
import { divideLedger } from "./divided-ledger.ts";

const CHECKPOINTS = 400;

test("ranges read by two workers join to the log that one reader makes, signatures and an upgrade included", async () => {
  await using ledger = await divideLedger(CHECKPOINTS);
  await using alone = await freshDatabase();
  await ledger.readLog(alone);
  await using divided = await freshDatabase({ max: 8 });
  // Within a range: its append goes on in the next partition.
  await divideFacts(divided, 200n);
  await using one = ledger.work(divided);
  await using other = ledger.work(divided);
  await ledger.join(divided);
  expect(await contentsOf(divided)).toBe(await contentsOf(alone));
  expect((await rowsOfLog(divided)).log_packages).toBe((await rowsOfLog(alone)).log_packages);
  expect((await rowsOfLog(alone)).log_packages).not.toBe("");
  expect((await proofOf(divided, ledger.last))?.lastCheckpoint).toBe(ledger.last);
  expect(one.ranges.length + other.ranges.length).toBeGreaterThanOrEqual(CHECKPOINTS / 16);
  expect([one.ranges.length > 0, other.ranges.length > 0]).toEqual([true, true]);
  expect(await rangesAhead(divided.sql)).toBeNull();
});

test("a worker counts while it reads, and a range that it holds without end is read by another", async () => {
  await using ledger = await divideLedger(64);
  await using divided = await freshDatabase({ max: 8 });
  const held: bigint[] = [];
  // As one whose store lacks the newest checkpoints and waits for them.
  await using _waiting = ledger.work(divided, {
    read: ({ first }, _, signal) => {
      held.push(first);
      return new Promise((_done, reject) => signal.addEventListener("abort", reject));
    },
  });
  const joining = ledger.join(divided);
  await until(
    "two ranges in its hands",
    () => rangesAhead(divided.sql),
    (ranges) => held.length === 2 && ranges?.workers === 1,
  );
  await using other = ledger.work(divided);
  await joining;
  expect(other.ranges).toEqual(expect.arrayContaining(held));
}, 60_000);

test("a range that is under way when a package joins is read again by its worker, and not refused", async () => {
  await using ledger = await divideLedger(64);
  await using alone = await freshDatabase();
  await ledger.readLog(alone);
  const joinedAt = (await packagesInLog(alone.sql)).at(-1)?.checkpoint ?? 0n;
  await using divided = await freshDatabase({ max: 8 });
  const honest = ledger.work(divided);
  await honest[Symbol.asyncDispose]();
  const joined = () => packagesInLog(divided.sql);
  let before = 0;
  await using _worker = ledger.work(divided, {
    read: async (range, packages, signal) => {
      if (range.first > joinedAt && packages.length === 1) {
        before += 1;
        await until("the package", joined, ({ length }) => length > 1);
      }
      return honest.whole(range, packages, signal);
    },
  });
  const notices: string[] = [];
  await ledger.join(divided, { onNotice: (message) => notices.push(message) });
  expect(before).toBeGreaterThan(0);
  expect(notices).toEqual([]);
  expect(await contentsOf(divided)).toBe(await contentsOf(alone));
}, 90_000);

test("ranges of an abandoned backfill are not shown once another reader has passed them", async () => {
  await using ledger = await divideLedger(32);
  await using database = await freshDatabase();
  const { sql } = database;
  await planRanges(sql, [{ first: 16n, last: 31n }]);
  await ledger.readLog(database, { last: 20n });
  expect(await rangesAhead(sql)).toMatchObject({ waitingRanges: 1 });
  await ledger.readLog(database);
  expect(await rangesAhead(sql)).toBeNull();
});

test("a worker that checks less than the process that appends is refused, and the message names the setting", async () => {
  await using ledger = await divideLedger(48);
  await using divided = await freshDatabase({ max: 8 });
  await using _worker = ledger.work(divided, { level: "off" });

  const joining = ledger.join(divided, {
    retryForMs: 0,
  });
  await expect(joining).rejects.toThrow(
    "it was read with VERIFY=off, not signatures: give workers the settings of this process",
  );
  expect((await readHighWater(divided.sql))?.last).toBeNull();
}, 60_000);

test("a result that does not follow the log is refused with its reason, and the range is read again", async () => {
  await using ledger = await divideLedger(96);
  await using alone = await freshDatabase();
  await ledger.readLog(alone);
  await using divided = await freshDatabase({ max: 8 });
  let strange = 0;
  const honest = ledger.work(divided);
  const read: RangeReader = async (range, packages, signal) => {
    if (range.first !== 32n || strange > 0) return honest.whole(range, packages, signal);
    strange += 1;
    return honest.whole({ first: 48n, last: 63n }, packages, signal);
  };
  await honest[Symbol.asyncDispose]();
  await using _worker = ledger.work(divided, { read });
  await ledger.join(divided);
  expect(strange).toBe(1);
  expect(await contentsOf(divided)).toBe(await contentsOf(alone));
});
