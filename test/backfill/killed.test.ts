// @module-tag thorough
/** The real commands over an object store: workers and the joining process are killed again and again. */
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { rowsOfLog } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { randomFor } from "../random.ts";
import { backfillCommands } from "./commands.ts";
import { divideLedger } from "./divided-ledger.ts";

const KILLS = 50;
const JOINING_KILLS = 5;
const CHECKPOINTS = 1_500;
const WITHIN_MS = 420_000;

test("workers killed fifty times, and the joining process five times, leave the log of one reader", async () => {
  const draw = randomFor("killed workers");
  await using ledger = await divideLedger(CHECKPOINTS);
  await using alone = await freshDatabase();
  await ledger.readLog(alone);
  // As slow as it takes for many workers to start; the last checkpoint is withheld until all were killed.
  ledger.store.state.answerMs = 20;
  const killed = Promise.withResolvers<void>();
  ledger.store.state.misbehave = async (sequence, _, method) => {
    if (method === "GET" && sequence === ledger.last) await killed.promise;
    return false;
  };
  await using divided = await freshDatabase();
  await using commands = await backfillCommands(ledger, divided);
  const { work } = commands;
  const backfill = () => commands.join(10);
  let joining = backfill();
  const workers = [work(), work(), work()];
  let [kills, joiningKills] = [0, 0];
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const next = await Promise.race([joining.ended, wait(500 + draw(2_500), "kill" as const)]);
    if (next !== "kill") {
      expect(next, commands.said()).toBe(0);
      break;
    }
    if (performance.now() > deadline) {
      throw new Error(`not joined after ${kills} kills: ${commands.said()}`);
    }
    if (kills < KILLS) {
      const at = draw(workers.length);
      workers[at]?.child.kill("SIGKILL");
      workers[at] = work();
      kills += 1;
    }
    if (kills === KILLS && joiningKills === JOINING_KILLS) killed.resolve();
    if (kills % 10 === 9 && joiningKills < JOINING_KILLS) {
      joining.child.kill("SIGKILL");
      await joining.ended;
      joining = backfill();
      joiningKills += 1;
    }
  }
  expect([kills, joiningKills]).toEqual([KILLS, JOINING_KILLS]);
  // Blocks are cut as batches were: the rest is equal to the byte.
  const cut = ["log_blocks", "log_block_chain"];
  const rows = Object.entries(await rowsOfLog(divided)).filter(([table]) => !cut.includes(table));
  const others = Object.entries(await rowsOfLog(alone)).filter(([table]) => !cut.includes(table));
  expect(rows).toEqual(others);
}, 480_000);
