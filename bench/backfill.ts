/**
 * A backfill divided among 1, 2, 4 and 8 workers of a thread each, from an object store with 20 ms of latency. Store,
 * Postgres, the process that appends and the workers share the machine's processors: each one's time is counted.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readHighWater } from "../src/log/high-water.ts";
import { type Figure, ratioOf, single } from "./figure.ts";
import { measuredRun, processorMs } from "./processes.ts";
import { LAUNCHER, scratchPostgres, startProgram } from "./start.ts";

const STORE = fileURLToPath(new URL("./backfill-store.ts", import.meta.url));
/** As many bytes in a varint as the genuine ones. */
const FIRST = 200_000_000n;
const LATENCY_MS = 20;
const RANGE = 100;
const WORKERS = [1, 2, 4, 8];

/** Share of the checkpoints that is not counted: workers compile, and find how many requests to make at a time. */
const WARM_UP = 0.25;

type Round = {
  readonly workers: number;
  readonly rate: number;
  /** Processor ms per checkpoint: of all workers, and of the others. Many workers have read much before the clock starts. */
  readonly workerMs: number;
  readonly appendMs: number;
  readonly postgresMs: number;
  readonly storeMs: number;
};

/** Checkpoints a second at which all processors are used up. */
const most = ({ workerMs, appendMs, postgresMs, storeMs }: Round): number =>
  (availableParallelism() * 1_000) / (workerMs + appendMs + postgresMs + storeMs);

const startStore = async (checkpoints: number) => {
  const args = [STORE, `${checkpoints}`, `${FIRST}`, `${LATENCY_MS}`];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = await lines.next();
  if (line.done) throw new Error("the store ended");
  const { url, bytes }: { url: string; bytes: number } = JSON.parse(line.value);
  return { url, bytes, pid: child.pid ?? 0, [Symbol.dispose]: () => child.kill() };
};

/** From the end of the warm-up to the last appended checkpoint. */
const measure = async (
  { url, pid: store }: Awaited<ReturnType<typeof startStore>>,
  checkpoints: number,
  workers: number,
): Promise<Round> => {
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
  let appending = 0;
  let append = 0;
  const ended = measuredRun(
    LAUNCHER,
    ["backfill", "--from", `${FIRST}`, "--to", `${last}`, "--range", `${RANGE}`],
    env,
    (pid) => {
      appending = pid;
    },
  );
  /** Once checkpoints are in the log: how many, when, and the processor time until then. */
  const reached = async (count: number) => {
    for (;;) {
      await delay(20);
      // It ends soon after its last checkpoint.
      const appendedFor = processorMs(appending);
      if (Number.isFinite(appendedFor)) append = appendedFor;
      const log = await readHighWater(database.sql);
      const appended = log === undefined ? 0 : Number(log.nextCheckpoint - FIRST);
      if (appended < count) continue;
      return {
        appended,
        ms: performance.now(),
        workers: pids.reduce((sum, pid) => sum + processorMs(pid), 0),
        append,
        postgres: processorMs(scratch.pid),
        store: processorMs(store),
      };
    }
  };
  const began = await reached(checkpoints * WARM_UP);
  const end = await reached(checkpoints);
  await ended;
  const counted = end.appended - began.appended;
  return {
    workers,
    rate: (counted * 1_000) / (end.ms - began.ms),
    workerMs: (end.workers - began.workers) / counted,
    appendMs: (end.append - began.append) / counted,
    postgresMs: (end.postgres - began.postgres) / counted,
    storeMs: (end.store - began.store) / counted,
  };
};

export const bench = async (setting?: string): Promise<readonly Figure[]> => {
  const checkpoints = Number(setting ?? 4_000);
  using store = await startStore(checkpoints);
  const rounds: Round[] = [];
  for (const workers of WORKERS) rounds.push(await measure(store, checkpoints, workers));
  const [one, two] = rounds;
  if (one === undefined || two === undefined) throw new Error("two rounds were not measured");
  const kib = Math.round(store.bytes / checkpoints / 1024);
  return [
    {
      name: "of a core",
      what: `Divided backfill of genuine checkpoints, ${LATENCY_MS} ms away: checkpoints a second of a core that one worker spends`,
      ...single("/s", 1_000 / one.workerMs),
      ...{ better: "more", aim: 1_000 },
      detail: `${checkpoints.toLocaleString("en")} checkpoints, ${kib} KiB each as compressed; digests and links checked; the first quarter warms up`,
    },
    ...rounds.map(
      ({ workers, rate, workerMs, appendMs, postgresMs, storeMs }): Figure => ({
        name: `workers: ${workers}`,
        what: `Divided backfill: checkpoints a second with ${WORKERS.join(", ")} workers, beside store and Postgres`,
        ...single("/s", rate),
        ...{ better: "more", aim: null },
        detail: `processor ms per checkpoint: workers ${workerMs.toFixed(2)}, appending ${appendMs.toFixed(2)}, Postgres ${postgresMs.toFixed(2)}, store ${storeMs.toFixed(2)}`,
      }),
    ),
    {
      name: "two workers",
      what: "Divided backfill: rate of two workers / twice that of one, or that at which all processors are used up",
      ...ratioOf("/s", [two.rate], [Math.min(2 * one.rate, most(two))]),
      ...{ better: "more", aim: 0.9 },
    },
  ];
};
