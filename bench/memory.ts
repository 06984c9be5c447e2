/**
 * Peak memory of `holderbook index` over a million facts, read from a folder the way any operator
 * would. The figure is the largest resident set the kernel saw, Postgres not included.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { writeDemoLedger } from "../demo/write.ts";
import { connect } from "../src/database/connect.ts";
import { startEmbeddedPostgres } from "../src/database/embedded/embedded.ts";
import type { Figure } from "./figure.ts";

/** Dense checkpoints: some 200 facts each. */
const CHECKPOINTS = 9_000;
const ACTIONS = 50;
const LAUNCHER = fileURLToPath(new URL("../bin/holderbook.mjs", import.meta.url));

const counted = z.tuple([z.object({ facts: z.bigint(), next: z.bigint() })]);

export const memoryBench = async (): Promise<Figure> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  try {
    const ledger = join(folder, "ledger");
    await writeDemoLedger({
      dir: ledger,
      checkpoints: CHECKPOINTS,
      seed: "memory",
      format: "binpb",
      investors: 5_000,
      noise: 0,
      actionsPerCheckpoint: ACTIONS,
    });
    await using server = await scratchServer(join(folder, "postgres"));
    const started = performance.now();
    const indexer = spawn(
      process.execPath,
      [LAUNCHER, "index", "--last", String(CHECKPOINTS - 1)],
      {
        env: {
          PATH: process.env.PATH,
          DATABASE_URL: server.url,
          LEDGER_SOURCE: `dir:${ledger}`,
          LOG_LEVEL: "warn",
        },
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    let peakKib = 0;
    const watching = setInterval(async () => {
      peakKib = Math.max(peakKib, await residentPeak(await workerOf(indexer.pid ?? 0)));
    }, 50);
    const [code] = await once(indexer, "exit");
    clearInterval(watching);
    if (code !== 0) throw new Error(`index ended with code ${code}`);
    const seconds = (performance.now() - started) / 1000;

    const database = connect({ url: server.url, max: 1, applicationName: "bench" });
    const [{ facts }] = counted.parse([
      ...(await database.sql`
        select (select count(*) from log_facts) as facts, next_checkpoint as next from log_high_water`),
    ]);
    await database.close();
    return {
      name: "peak memory of indexing a million facts",
      reached: `${Math.round(peakKib / 1024)} MB`,
      aim: "under 350 MB",
      detail: `${facts.toLocaleString("en")} facts of ${CHECKPOINTS.toLocaleString("en")} checkpoints in ${seconds.toFixed(0)} s, ${Math.round(Number(facts) / seconds).toLocaleString("en")} facts/s with all five pipelines`,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** The process that the launcher started: the one that works. */
const workerOf = async (launcher: number): Promise<number> =>
  Number(
    await readFile(`/proc/${launcher}/task/${launcher}/children`, "utf8").then(
      (pids) => pids.split(" ")[0],
      () => 0,
    ),
  );

/** Largest resident set so far, KiB; 0 once the process is gone or where the kernel does not tell. */
const residentPeak = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
};

const scratchServer = async (dataDir: string) => {
  const server = await startEmbeddedPostgres({ dataDir });
  return { url: server.url, [Symbol.asyncDispose]: () => server.stop() };
};
