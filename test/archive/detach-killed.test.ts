// @module-tag thorough
/** Facts are here or archived, never in between, wherever the process that moves them is killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { exportLog } from "../../src/archive/export-log.ts";
import { archivedPartitions } from "../../src/log/archived.ts";
import { checkStretch } from "../../src/log/check-chain.ts";
import { partitionsOf } from "../../src/log/partitions.ts";
import { demoRegister } from "../audit/demo-register.ts";
import { rowsOfLog } from "../log/contents.ts";
import { divideFacts } from "../log/facts-partitions.ts";
import type { TestDatabase } from "../postgres.ts";
import { endWithRun } from "../run-folder.ts";
import { temporaryFolder } from "../service/process.ts";

const PROGRAM = join(import.meta.dirname, "archiving.ts");

/** Runs it, and kills it so many milliseconds after so many files. Returns whether it was killed. */
const killedAfter = async (
  args: readonly string[],
  files: number,
  delayMs: number,
): Promise<boolean> => {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithRun(child);
  const ended = once(child, "close");
  let read = 0;
  createInterface(child.stdout).on("line", () => {
    read += 1;
    if (read === files) setTimeout(() => child.kill("SIGKILL"), delayMs);
  });
  const [code, by] = await ended;
  if (by === "SIGKILL") return true;
  expect(code).toBe(0);
  return false;
};

/** Each partition is whole or archived, and then empty; the log holds. */
const assertWhole = async ({ sql }: TestDatabase) => {
  const partitions = await partitionsOf(sql);
  const borders = partitions.map(({ before }) => before);
  expect(borders).toEqual([40n, 80n, 10_000_000n, 20_000_000n]);
  const gone = new Set((await archivedPartitions(sql)).map(({ before }) => before));
  for (const { name, before } of partitions.slice(0, 2)) {
    const [fact] = await sql.unsafe(`select from ${name} limit 1`);
    expect(fact === undefined, name).toBe(gone.has(before));
  }
  expect(await checkStretch(sql, -1n)).toMatchObject({ fault: null, ended: true });
  const left = await sql`
    select relname from pg_class where relnamespace = 'public'::regnamespace
      and starts_with(relname, 'log_facts_from_') and relkind = 'r' and not relispartition`;
  expect(left).toEqual([]);
};

test("a process that archives or attaches facts and is killed anywhere leaves each partition here or archived", async () => {
  await using register = await demoRegister();
  await using folder = await temporaryFolder();
  const { database } = register;
  await divideFacts(database, 40n, 80n);
  await register.advance(120);
  const before = await rowsOfLog(database);
  const dir = join(folder.path, "archive");
  const limits = { maxFacts: 1_000, maxBytes: 10_000_000, maxCheckpoints: 25 };
  await exportLog(database, { folder: dir, limits, signal: new AbortController().signal });
  let killed = 0;
  for (let round = 0; round < 6; round += 1) {
    for (const what of ["detach", "attach"]) {
      const args = [what, database.url, dir, "80"];
      // The last file of each way is followed by its statements, a few milliseconds each.
      if (await killedAfter(args, what === "detach" ? 4 : 2 + (round % 4), 5 * round)) killed += 1;
      await assertWhole(database);
      const gone = (await archivedPartitions(database.sql)).length;
      if (what === "detach" ? gone === 0 : gone > 0) await killedAfter(args, 1_000, 0);
      await assertWhole(database);
    }
  }
  expect(killed).toBeGreaterThan(3);
  expect(await rowsOfLog(database)).toEqual(before);
}, 300_000);
