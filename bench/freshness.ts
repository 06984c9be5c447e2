/**
 * Freshness: from the moment a checkpoint of the demo ledger becomes available to the moment a GraphQL
 * answer shows that every pipeline has it. The service runs as a process of its own; this one asks over
 * HTTP again and again, so the figure includes one answer's time and the wait for the next question.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { DEFAULT_NOISE, openJournal } from "../src/demo/journal.ts";
import { timeOf } from "../src/demo/timeline.ts";
import { type Figure, quantile } from "./figure.ts";

const CHECKPOINTS = 400;
const PER_SECOND = 10;
/** Between two questions, milliseconds; counts towards the figure. */
const PAUSE_MS = 2;
const LAUNCHER = fileURLToPath(new URL("../bin/holderbook.mjs", import.meta.url));

const SEED = "1";
const INVESTORS = 40;
const HISTORY = 500;
const LEDGER = { seed: SEED, investors: INVESTORS, noise: DEFAULT_NOISE };

const answer = z.object({
  data: z.object({ indexerStatus: z.array(z.object({ checkpoint: z.string().nullable() })) }),
});

export const freshnessBench = async (): Promise<Figure> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  const service = spawn(process.execPath, [LAUNCHER, "start"], {
    env: {
      PATH: process.env.PATH,
      PORT: "0",
      DATA_DIR: folder,
      LOG_LEVEL: "warn",
      DEMO_SEED: SEED,
      DEMO_INVESTORS: String(INVESTORS),
      DEMO_HISTORY: String(HISTORY),
      DEMO_CHECKPOINTS_PER_SECOND: String(PER_SECOND),
      RATE_LIMIT_PER_MINUTE: "10000000",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const { url, key } = await welcomed(service.stdout);
    const ages: number[] = [];
    const asks: number[] = [];
    let seen = await reached(url, key, asks);
    // Past the history and its catching up.
    while (seen < HISTORY + 5 * PER_SECOND) seen = await reached(url, key, asks);
    asks.length = 0;
    while (ages.length < CHECKPOINTS) {
      const now = await reached(url, key, asks);
      const at = Date.now();
      if (now === seen) {
        // Asking without a pause would keep a core busy, and the machine would be no idle one.
        await delay(PAUSE_MS);
        continue;
      }
      // The ledger's own journal says when each checkpoint was due.
      const timeline = openJournal(folder, LEDGER).readTimeline();
      if (timeline === undefined) throw new Error("the demo ledger keeps no journal");
      for (let sequence = seen + 1n; sequence <= now; sequence += 1n) {
        ages.push(at - Number(timeOf(timeline, sequence)));
      }
      seen = now;
    }
    return {
      name: "freshness: checkpoint available to visible in GraphQL, all five pipelines",
      reached: `p99 ${quantile(ages, 0.99)} ms`,
      aim: "p99 under 15 ms and p50 under 6 ms on an idle machine",
      detail:
        `${ages.length} checkpoints at ${PER_SECOND}/s: p50 ${quantile(ages, 0.5)} ms, p90 ${quantile(ages, 0.9)} ms, worst ${Math.max(...ages)} ms; ` +
        `one question takes ${quantile(asks, 0.5).toFixed(1)} ms`,
    };
  } finally {
    service.kill("SIGTERM");
    await once(service, "exit");
    await rm(folder, { recursive: true, force: true });
  }
};

/** URL and key, as the service prints them. */
const welcomed = async (stdout: NodeJS.ReadableStream) => {
  const found = { url: "", key: "" };
  for await (const line of createInterface({ input: stdout })) {
    found.url ||= /GraphQL\s+(http\S+)\/graphql/.exec(line)?.[1] ?? "";
    found.key ||= /^ {2}Key\s+(\S+)/.exec(line)?.[1] ?? "";
    if (found.url !== "" && found.key !== "") return found;
  }
  throw new Error("the service ended without saying where it listens");
};

/** Last checkpoint that every pipeline has committed; -1 before the first. */
const reached = async (url: string, key: string, asks: number[]): Promise<bigint> => {
  const started = performance.now();
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ query: "{ indexerStatus { checkpoint } }" }),
  });
  const { data } = answer.parse(await response.json());
  asks.push(performance.now() - started);
  return data.indexerStatus.reduce(
    (least, { checkpoint }) =>
      BigInt(checkpoint ?? -1) < least ? BigInt(checkpoint ?? -1) : least,
    2n ** 63n,
  );
};
