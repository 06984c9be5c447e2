/**
 * A backfill divided among 1, 2, 4 and 8 workers of a thread each, from an object store with 20 ms of latency. Store,
 * Postgres, the process that appends and the workers share the machine's processors.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readHighWater } from "../src/log/high-water.ts";
import { plannedUpTo } from "../src/log/ranges.ts";
import { type Figure, ratioOf, single } from "./figure.ts";
import { measuredRun, processorMs } from "./processes.ts";
import { LAUNCHER, scratchPostgres, startProgram } from "./start.ts";

const STORE = fileURLToPath(new URL("./backfill-store.ts", import.meta.url));
/** As many bytes in a varint as the genuine ones. */
const FIRST = 200_000_000n;
const LATENCY_MS = 20;
const RANGE = 100;
const WORKERS = [1, 2, 4, 8];

type Round = {
  readonly workers: number;
  readonly rate: number;
  /** Processor ms of all workers, per checkpoint. */
  readonly workerMs: number;
};

const startStore = async (checkpoints: number) => {
  const args = [STORE, `${checkpoints}`, `${FIRST}`, `${LATENCY_MS}`];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = await lines.next();
  if (line.done) throw new Error("the store ended");
  const { url, bytes }: { url: string; bytes: number } = JSON.parse(line.value);
  return { url, bytes, [Symbol.dispose]: () => child.kill() };
};

/** From the first planned range to the last appended checkpoint. */
const measure = async (url: string, checkpoints: number, workers: number): Promise<Round> => {
  await using scratch = await scratchPostgres();
  const { database, folder } = scratch;
  const last = FIRST + BigInt(checkpoints) - 1n;
  const env = {
    ...{ DATABASE_URL: scratch.url, DATA_DIR: `${folder}/data`, LEDGER_SOURCE: url },
    ...{ SECURITY_TOKEN_PACKAGES: `0x${"5e".repeat(32)}`, VERIFY: "links" },
  };
  await using running = new AsyncDisposableStack();
  const pids: number[] = [];
  for (let nth = 0; nth < workers; nth += 1) {
    const args = [LAUNCHER, "work", "backfill", "--threads", "1"];
    const shows = /reading ranges of a backfill/;
    const worker = running.use(await startProgram(args, { cwd: `${folder}/${nth}`, env, shows }));
    pids.push(worker.pid);
  }
  const before = pids.map(processorMs);
  const ended = measuredRun(
    LAUNCHER,
    ["backfill", "--from", `${FIRST}`, "--to", `${last}`, "--range", `${RANGE}`],
    env,
  );
  let beganMs: number | undefined;
  let endedMs: number | undefined;
  while (endedMs === undefined) {
    await delay(20);
    if (beganMs === undefined && (await plannedUpTo(database.sql)).count > 0) {
      beganMs = performance.now();
    }
    const log = await readHighWater(database.sql);
    if (log !== undefined && log.nextCheckpoint > last) endedMs = performance.now();
  }
  const spent = pids.reduce((sum, pid, nth) => sum + processorMs(pid) - (before[nth] ?? 0), 0);
  await ended;
  const seconds = (endedMs - (beganMs ?? endedMs)) / 1_000;
  return { workers, rate: checkpoints / seconds, workerMs: spent / checkpoints };
};

export const bench = async (setting?: string): Promise<readonly Figure[]> => {
  const checkpoints = Number(setting ?? 4_000);
  using store = await startStore(checkpoints);
  const rounds: Round[] = [];
  for (const workers of WORKERS) rounds.push(await measure(store.url, checkpoints, workers));
  const [one, two] = rounds;
  const kib = Math.round(store.bytes / checkpoints / 1024);
  return [
    {
      name: "of a core",
      what: `Divided backfill of genuine checkpoints, ${LATENCY_MS} ms away: checkpoints a second of a core that workers spend`,
      ...single("/s", 1_000 / Math.min(...rounds.map(({ workerMs }) => workerMs))),
      ...{ better: "more", aim: 1_000 },
      detail: `${checkpoints.toLocaleString("en")} checkpoints, ${kib} KiB each as compressed; digests and links checked`,
    },
    ...rounds.map(
      ({ workers, rate, workerMs }): Figure => ({
        name: `workers: ${workers}`,
        what: `Divided backfill: checkpoints a second with ${WORKERS.join(", ")} workers, beside store and Postgres`,
        ...single("/s", rate),
        ...{ better: "more", aim: null },
        detail: `${workerMs.toFixed(2)} ms of the workers' processor time per checkpoint`,
      }),
    ),
    {
      name: "two workers",
      what: "Divided backfill: rate of two workers / twice that of one, until the processors are used up",
      ...ratioOf("/s", [two?.rate ?? 0], [2 * (one?.rate ?? 1)]),
      ...{ better: "more", aim: 0.9 },
    },
  ];
};
