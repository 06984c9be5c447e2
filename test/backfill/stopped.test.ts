// @module-tag thorough
/** A real worker that is stopped, as a machine that is frozen or swaps would be, and goes on later. */
import { expect, test } from "vitest";
import { rangeAt, rangesAhead } from "../../src/log/ranges.ts";
import { until } from "../lanes/until.ts";
import { rowsOfLog } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { backfillCommands } from "./commands.ts";
import { divideLedger } from "./divided-ledger.ts";

const CHECKPOINTS = 100;
const WITHIN_MS = 90_000;
/** In the first range, which all others wait for. */
const WAITED_FOR = 5n;
/** In the range that the worker is stopped at. */
const STOPPED_AT = 45n;
const RANGE = 40n;

test("a worker that lies still loses its range to another, and its late result changes nothing", async () => {
  await using ledger = await divideLedger(CHECKPOINTS);
  await using alone = await freshDatabase();
  await ledger.readLog(alone);
  await using divided = await freshDatabase();
  await using commands = await backfillCommands(ledger, divided);
  const { state, seen } = ledger.store;
  const [awake, due] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let held = 0;
  state.misbehave = async (sequence) => {
    if (sequence === WAITED_FOR) await due.promise;
    if (sequence === STOPPED_AT) {
      held += 1;
      if (held === 1) await awake.promise;
    }
    return false;
  };
  seen.gets.length = 0;
  const joining = commands.join(10);
  const still = commands.work({ LOG_LEVEL: "info" });
  // It reads two ranges at a time: the first is held, and now one more.
  await until(
    "the held request",
    () => seen.gets,
    (sequences) => sequences.includes(STOPPED_AT),
    WITHIN_MS,
  );
  still.child.kill("SIGSTOP");

  const other = commands.work();
  const stopped = await until(
    "the stopped worker's range from another",
    () => rangeAt(divided.sql, RANGE),
    (row) => row?.content != null,
    WITHIN_MS,
  );
  awake.resolve();
  still.child.kill("SIGCONT");
  await until("the late result", commands.said, (said) => LATE.test(said), WITHIN_MS);
  expect(await rangeAt(divided.sql, RANGE)).toEqual(stopped);

  due.resolve();
  expect(await joining.ended, commands.said()).toBe(0);
  expect(await rangesAhead(divided.sql)).toBeNull();
  for (const { child, ended } of [still, other]) {
    child.kill("SIGTERM");
    expect(await ended, commands.said()).toBe(0);
  }
  // Blocks are cut as batches were: the rest is equal to the byte.
  const cut = ["log_blocks", "log_block_chain"];
  const rows = Object.entries(await rowsOfLog(divided)).filter(([table]) => !cut.includes(table));
  const others = Object.entries(await rowsOfLog(alone)).filter(([table]) => !cut.includes(table));
  expect(rows).toEqual(others);
}, 240_000);

const LATE = new RegExp(`"first":"${RANGE}".*read a range`);
