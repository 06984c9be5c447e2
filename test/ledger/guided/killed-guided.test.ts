// @module-tag thorough
/** `backfill --guided` as a process of its own, killed at any moment and started again. */
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LOG_CHANNEL } from "../../../src/log/append.ts";
import { foundAfter, stagedSoFar } from "../../../src/log/guided.ts";
import { readHighWater } from "../../../src/log/high-water.ts";
import { logRows } from "../../archive/log-rows.ts";
import { runCommand } from "../../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { randomFor, rounds, SEED } from "../../random.ts";
import { startProgram, temporaryFolder } from "../../service/process.ts";
import { writeCommittee } from "../committee-file.ts";
import { startListServer } from "../history/list-server.ts";
import { listedDemo } from "../history/listed-demo.ts";

const CHECKPOINTS = 600;
const ledger = listedDemo(
  { seed: "killed", foreign: 0.4, noise: 0.3, actionsPerCheckpoint: 0.8, epochLength: 60 },
  CHECKPOINTS,
);
const { committee, packages } = ledger.demo;
const LAST = ledger.newest();

/** A dozen processes, on a busy machine. */
const PATIENCE_MS = 900_000;

const opened = new AsyncDisposableStack();
let node: Awaited<ReturnType<typeof startListServer>>;
let settings: Readonly<Record<string, string>> = {};
/** Called for each checkpoint that the node is asked for. */
let onFetch = (): void => undefined;

beforeAll(async () => {
  const { path } = opened.use(await temporaryFolder());
  node = opened.use(await startListServer(ledger, {}, { onCheckpoint: () => void onFetch() }));
  settings = {
    LEDGER_SOURCE: `grpc+http://${node.host}`,
    SECURITY_TOKEN_PACKAGES: packages[0] ?? "",
    COMMITTEE_FILE: await writeCommittee(path, committee),
    DATA_DIR: join(path, "data"),
    LOG_LEVEL: "warn",
  };
});
afterAll(() => opened.disposeAsync());

const backfill = ({ url }: TestDatabase) =>
  startProgram(["backfill", "--guided", "--to", `${LAST}`], { ...settings, DATABASE_URL: url });

const stagedOf = async ({ sql }: TestDatabase): Promise<ReadonlySet<bigint>> => {
  const found = await foundAfter(sql, -1n, CHECKPOINTS);
  return new Set(found.map(({ checkpoint }) => checkpoint));
};

const inLog = async ({ sql }: TestDatabase): Promise<boolean> =>
  (await readHighWater(sql))?.last != null;

/** Runs once; kills it when `kill` is called. What it fetched, and whether it was killed. */
const runUntil = async (
  database: TestDatabase,
  arm: (kill: () => void) => void,
): Promise<{ readonly fetched: readonly bigint[]; readonly killed: boolean }> => {
  const from = node.seen.checkpointCalls.length;
  const program = backfill(database);
  let killed = false;
  let running = true;
  arm(() => {
    killed ||= running;
    program.signal("SIGKILL");
  });
  const code = await program.ended;
  running = false;
  onFetch = () => undefined;
  if (code !== null) {
    expect(code, program.printed.stderr).toBe(0);
    killed = false;
  }
  return { fetched: node.seen.checkpointCalls.slice(from), killed };
};

/** Kills after so many fetches and a moment. */
const afterFetches = (count: number, momentMs: number) => (kill: () => void) => {
  let left = count;
  onFetch = () => {
    left -= 1;
    if (left === 0) void wait(momentMs).then(kill);
  };
};

const shown = async ({ url }: TestDatabase, ...args: readonly string[]) => {
  const ran = await runCommand([...args, "--json"], { ...settings, DATABASE_URL: url });
  expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  return JSON.parse(ran.stdout);
};

/** Without the times at which the node was asked. */
const proofOf = async (database: TestDatabase) => {
  const proof = JSON.stringify(await shown(database, "prove", "complete"));
  return JSON.parse(proof.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "then"));
};

test(
  "a guided backfill that is killed again and again ends with the log of one that is not, and fetches nothing twice that it staged",
  async () => {
    await using calm = await freshDatabase();
    const { fetched: all } = await runUntil(calm, () => undefined);

    const random = randomFor("guided backfills that are killed");
    await using database = await freshDatabase();
    let kills = 0;
    let staged: ReadonlySet<bigint> = new Set();
    const run = async (arm: (kill: () => void) => void) => {
      const { fetched, killed } = await runUntil(database, arm);
      const again = fetched.filter((checkpoint) => staged.has(checkpoint));
      expect(again, `seed ${SEED}, after ${kills} kills`).toEqual([]);
      staged = await stagedOf(database);
      kills += killed ? 1 : 0;
      return killed;
    };
    for (const _ of rounds(8)) {
      if (await inLog(database)) break;
      await run(afterFetches(1 + random(all.length - staged.size), random(30)));
    }
    expect(kills).toBeGreaterThan(4);
    // Once more, right after everything was committed.
    const listening = new AbortController();
    const whole = `${LAST + 1n}`;
    const killed = await run((kill) =>
      database.listen(
        LOG_CHANNEL,
        (next) => (next === whole ? kill() : undefined),
        listening.signal,
      ),
    );
    expect(killed).toBe(true);
    listening.abort();
    while (await run(() => undefined));

    expect(await shown(database, "digest")).toEqual(await shown(calm, "digest"));
    expect(await logRows(database)).toEqual(await logRows(calm));
    // Rows that the last kill kept from being removed are in the log.
    expect(await stagedSoFar(database)).toBeNull();
    expect(await proofOf(database)).toEqual(await proofOf(calm));
  },
  PATIENCE_MS,
);
