/** Callers without a key who ask for large pages and do not wait for them. */
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "./process.ts";
import { processesOf } from "./processes.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let database: TestDatabase;
let program: Program;
let url: string;
beforeAll(async () => {
  folder = await temporaryFolder();
  database = await freshDatabase();
  program = startProgram(["start"], {
    PORT: "0",
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "50",
    LOG_LEVEL: "warn",
  });
  const [, found = ""] = await program.sees(/Health\s+(http\S+)\/health/);
  url = found;
  await program.sees(/Ctrl-C stops/);
  await eventually("a service that is at the ledger's end", async () => {
    const seen = await healthOf();
    return seen.status === "ok" ? { done: seen } : { seen };
  });
  // The page was opened before.
  expect((await fetch(`${url}${LARGE}`)).status).toBe(200);
}, 240_000);
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

/** The largest of what a browser loads. */
const LARGE = "/docs/js/scalar.js";

const health = z.object({
  status: z.string(),
  reader: z.object({ checkpoint: z.coerce.number(), lagCheckpoints: z.coerce.number() }),
});

/** On a connection of its own, as a caller who has just come. */
const healthOf = async () => {
  const response = await fetch(`${url}/health`, {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(60_000),
  });
  return health.parse(await response.json());
};

/** Asks for health four times a second until the attack is over, and for five seconds after. */
const during = async (attack: () => Promise<void>) => {
  const attacked = attack();
  let over = false;
  void attacked
    .then(() => delay(5_000))
    .then(() => {
      over = true;
    });
  const answeredMs: number[] = [];
  const behind: number[] = [];
  const megabytes: number[] = [];
  while (!over) {
    const from = performance.now();
    const { reader } = await healthOf();
    answeredMs.push(performance.now() - from);
    behind.push(reader.lagCheckpoints);
    const ours = await processesOf(program.pid);
    const node = ours.filter(({ command }) => /bin\/node |holderbook\.mjs/.test(command));
    megabytes.push(node.reduce((sum, { residentBytes }) => sum + residentBytes, 0) / 1e6);
    await delay(250);
  }
  await attacked;
  return {
    slowestMs: Math.round(Math.max(...answeredMs)),
    usualMs: Math.round(answeredMs.toSorted((a, b) => a - b)[answeredMs.length >> 1] ?? 0),
    behind: Math.max(...behind),
    megabytes: Math.round(Math.max(...megabytes)),
  };
};

/** So many requests for the page on one connection, all at once, in the encoding that is largest. */
const pipelined = async (
  count: number,
  { reads }: { readonly reads: boolean },
): Promise<Socket> => {
  const { port, hostname } = new URL(url);
  const socket = connectSocket(Number(port), hostname).on("error", () => undefined);
  await once(socket, "connect").catch(() => undefined);
  if (reads) socket.resume();
  socket.write(`GET ${LARGE} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(count));
  return socket;
};

/** With room for a machine that does other work too: alone, no answer takes a second. */
const expectUnimpressed = (seen: Awaited<ReturnType<typeof during>>) => {
  expect(seen.slowestMs, "slowest answer, ms").toBeLessThan(15_000);
  expect(seen.usualMs, "usual answer, ms").toBeLessThan(2_000);
  expect(seen.megabytes, "MB of our Node processes").toBeLessThan(600);
  expect(seen.behind, "checkpoints behind").toBeLessThanOrEqual(20);
};

test("1,500 pages requested on one connection that hangs up delay no other caller", async () => {
  const seen = await during(async () => {
    const socket = await pipelined(1_500, { reads: true });
    await delay(1_000);
    socket.destroy();
  });
  expectUnimpressed(seen);
}, 120_000);

test.each([
  ["at once", 40, true],
  // As many as may wait on a connection, and nothing of the answers is taken.
  ["as many at once as may be, and not read", 17, false],
] as const)(
  "400 connections that each request pages %s delay no other caller",
  async (_how, count, reads) => {
    const seen = await during(async () => {
      const sockets = await Promise.all(
        Array.from({ length: 400 }, () => pipelined(count, { reads })),
      );
      await delay(5_000);
      for (const socket of sockets) socket.destroy();
    });
    expectUnimpressed(seen);
    // And the page is there again for readers.
    const page = await fetch(`${url}${LARGE}`);
    expect([page.status, (await page.text()).length > 1_000_000]).toEqual([200, true]);
  },
  240_000,
);
