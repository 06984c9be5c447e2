// @module-tag thorough
/** The real commands over an object store: workers and the joining process are killed again and again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { writeCommittee } from "../ledger/committee-file.ts";
import { rowsOfLog } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { randomFor } from "../random.ts";
import { endWithRun } from "../run-folder.ts";
import { temporaryFolder } from "../service/process.ts";
import { divideLedger } from "./divided-ledger.ts";

const MAIN = join(import.meta.dirname, "../../src/commands/main.ts");
const KILLS = 50;
const CHECKPOINTS = 1_500;
const WITHIN_MS = 420_000;

test("workers killed fifty times, and the joining process five times, leave the log of one reader", async () => {
  const draw = randomFor("killed workers");
  await using ledger = await divideLedger(CHECKPOINTS);
  await using alone = await freshDatabase();
  await ledger.readLog(alone);
  // As slow as it takes for fifty workers to start.
  ledger.store.state.answerMs = 20;
  await using divided = await freshDatabase();
  await using folder = await temporaryFolder();
  const settings = {
    ...{ DATABASE_URL: divided.url, LEDGER_SOURCE: ledger.store.base.href, VERIFY: "signatures" },
    ...{ SECURITY_TOKEN_PACKAGES: ledger.packages.join(","), FETCH_CONCURRENCY: "4" },
    COMMITTEE_FILE: await writeCommittee(folder.path, ledger.committee),
    LOG_LEVEL: "warn",
  };
  const said: string[] = [];
  const run = (...args: readonly string[]): ChildProcess => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings },
      stdio: ["ignore", "ignore", "pipe"],
    });
    endWithRun(child);
    child.stderr?.on("data", (text: Buffer) => said.push(text.toString()));
    return child;
  };
  const work = () => run("work", "backfill", "--threads", "1");
  const backfill = () => run("backfill", "--from", "0", "--to", `${ledger.last}`, "--range", "10");
  let joining = backfill();
  let ended = once(joining, "close");
  const workers = [work(), work(), work()];
  let [kills, joiningKills] = [0, 0];
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const next = await Promise.race([ended, wait(500 + draw(2_500))]);
    if (next !== undefined) {
      const [code] = next;
      expect(code, said.join("").slice(-2_000)).toBe(0);
      break;
    }
    if (performance.now() > deadline) {
      throw new Error(`not joined after ${kills} kills: ${said.join("").slice(-2_000)}`);
    }
    if (kills < KILLS) {
      const at = draw(workers.length);
      workers[at]?.kill("SIGKILL");
      workers[at] = work();
      kills += 1;
    }
    if (kills % 10 === 9 && joiningKills < 5) {
      const gone = ended;
      joining.kill("SIGKILL");
      await gone;
      joining = backfill();
      ended = once(joining, "close");
      joiningKills += 1;
    }
  }
  for (const worker of workers) worker.kill("SIGTERM");
  expect(kills).toBeGreaterThanOrEqual(KILLS);
  expect(joiningKills).toBe(5);
  // Blocks are cut as batches were: the rest is equal to the byte.
  const cut = ["log_blocks", "log_block_chain"];
  const rows = Object.entries(await rowsOfLog(divided)).filter(([table]) => !cut.includes(table));
  const others = Object.entries(await rowsOfLog(alone)).filter(([table]) => !cut.includes(table));
  expect(rows).toEqual(others);
}, 480_000);
