// @module-tag thorough
/** A source that does not answer, as `/health` tells it: in the process that reads, and in one that serves. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { watchHealth } from "../../../src/http/health/health.ts";
import type { HealthReport } from "../../../src/http/health/report.ts";
import { createMetrics } from "../../../src/http/metrics.ts";
import type { CheckpointReader } from "../../../src/ledger/reading/read.ts";
import { openSource } from "../../../src/ledger/sources/open-source.ts";
import { createContact } from "../../../src/ledger/sources/source-contact.ts";
import { databaseProgress } from "../../../src/service/health/database-progress.ts";
import { until } from "../../lanes/until.ts";
import { withoutAppends } from "../../log/damage.ts";
import { mark } from "../../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { startObjectStore } from "../sources/object-store-server.ts";
import { nextOf, reached, reported, start } from "./running.ts";
import { createScriptedLedger } from "./scripted-ledger.ts";

/** In place of a minute; a busy machine itself is silent for a second. */
const STALL_MS = 3_000;

/** Notes come as much more often than that as they do in life. */
const QUICK = { noteEveryMs: 50, tipEveryMs: 20 } as const;

/** Stands for the decoder: sample checkpoints have no meaning. */
const read: CheckpointReader = ({ sequence }) => ({
  mark: mark(sequence),
  previousDigest: sequence === 0n ? null : mark(sequence - 1n).digest,
  facts: [],
  coins: [],
  joined: [],
  skipped: true,
});

/** Reads a network source as the service does. */
const startReading = (database: TestDatabase, setting: string) => {
  const contact = createContact();
  const source = openSource(setting, { observer: contact });
  const running = start(database, createScriptedLedger({ newest: -1n }), {
    source,
    read: () => read,
    contact,
    waits: QUICK,
  });
  return {
    ...running,
    [Symbol.asyncDispose]: async () => {
      await running.stop().catch(() => undefined);
      await source.close();
    },
  };
};

type Reading = Pick<ReturnType<typeof startReading>, "seen">;

/** What the process that reads says of itself, and what one beside it says that only serves. */
const watchBoth = (database: TestDatabase, { seen }: Reading, stallAfterMs = STALL_MS) => {
  const settings = {
    version: "1.2.3",
    onError: () => undefined,
    observeEveryMs: 0,
    withinMs: 30_000,
  };
  const local = () => {
    const { tip = null, state, error } = seen.latest ?? {};
    const reader = error ? { gaveUp: state === "stopped", reason: error.message } : undefined;
    return { tip, reader, pipelines: new Map() };
  };
  const watch = (progress: ReturnType<typeof databaseProgress>) =>
    watchHealth({ ...settings, progress, stallAfterMs });
  const reads = watch(databaseProgress(database.db, [], local));
  const serves = watch(databaseProgress(database.db, []));
  return { reads, serves };
};

type Both = ReturnType<typeof watchBoth>;

/** Waits until both say the same of the reader. */
const bothSay = async ({ reads, serves }: Both, holds: (report: HealthReport) => boolean) => {
  const reports = () => Promise.all([reads.report(), serves.report()]);
  return await until("both reports", reports, (all) => all.every(holds), 15_000);
};

const isStalled = ({ status, reader }: HealthReport) =>
  status === "stalled" && reader.state === "stalled";

/** Looks for longer than would be a stall. */
const neverStalls = async ({ reads, serves }: Both) => {
  const end = performance.now() + 1.5 * STALL_MS;
  while (performance.now() < end) {
    for (const report of await Promise.all([reads.report(), serves.report()])) {
      expect(report.reader).not.toMatchObject({ state: "stalled" });
    }
    await wait(100);
  }
};

test("an object store that dies after everything was read stalls both processes, with the reason", async () => {
  await using database = await freshDatabase();
  await using store = await startObjectStore({ newest: 20n });
  const key = "d0n0tt3ll";
  await using reading = startReading(database, `${store.base.href}?key=${key}`);
  const both = watchBoth(database, reading);
  await reached(database, 21n);
  await reported(reading, ({ tip }) => tip === 20n);
  const [before] = await bothSay(both, ({ reader }) => reader.source?.silentSeconds === 0);
  expect(before).toMatchObject({ status: "ok", reader: { state: "ok", tip: "20" } });

  await store[Symbol.asyncDispose]();
  for (const { reader } of await bothSay(both, isStalled)) {
    expect(reader.reason).toMatch(
      new RegExp(
        `^the source ${store.base.origin} has not answered for \\d+ s: .*ECONNREFUSED [\\d.:]+$`,
      ),
    );
    expect(JSON.stringify(reader)).not.toMatch(/archive|key|d0n0tt3ll/);
  }
});

test("a recovered source is no longer stalled", async () => {
  await using database = await freshDatabase();
  await using store = await startObjectStore({ newest: 20n });
  await using reading = startReading(database, store.base.href);
  const both = watchBoth(database, reading);
  await reached(database, 21n);
  store.state.misbehave = (_sequence, response) => {
    response.writeHead(503).end();
    return true;
  };
  for (const { reader } of await bothSay(both, isStalled)) {
    expect(reader.reason).toMatch(/ s: HTTP 503$/);
  }
  store.state.misbehave = () => false;
  await bothSay(both, ({ reader }) => reader.state !== "stalled");
});

test("a gRPC server that accepts and stays silent counts as a source that never answered", async () => {
  await using database = await freshDatabase();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const place = `grpc+http://127.0.0.1:${address.port}`;
  await using reading = startReading(database, place);
  for (const { reader } of await bothSay(watchBoth(database, reading), isStalled)) {
    expect(reader.reason).toContain(`the source ${place} has not answered once in `);
    expect(reader.source).toMatchObject({ source: place, answerAgeSeconds: null });
  }
  expect(sockets.size).toBeGreaterThan(0);
});

test("a source without a listener never answered, and the reason says so", async () => {
  await using database = await freshDatabase();
  const gone = await startObjectStore();
  await gone[Symbol.asyncDispose]();
  await using reading = startReading(database, gone.base.href);
  for (const { reader } of await bothSay(watchBoth(database, reading), isStalled)) {
    expect(reader.reason).toMatch(/has not answered once in \d+ s: .*ECONNREFUSED/);
  }
});

test("a refusing source shows as stalled immediately with the reason, in both processes, and recovers", async () => {
  await using database = await freshDatabase();
  await using store = await startObjectStore({ newest: 20n });
  await using reading = startReading(database, store.base.href);
  const both = watchBoth(database, reading, 600_000);
  await reached(database, 21n);
  await reported(reading, ({ tip }) => tip === 20n);
  // Looks at the newest one are answered all the while.
  store.state.misbehave = (_sequence, response, method) => {
    if (method === "GET") response.writeHead(403).end();
    return method === "GET";
  };
  store.state.newest = 21n;
  for (const { reader } of await bothSay(both, isStalled)) {
    expect(reader.reason).toMatch(new RegExp(`^the source ${store.base.origin}: .*HTTP 403`));
    expect(reader.reason).not.toContain("archive");
  }
  store.state.misbehave = () => false;
  await bothSay(both, ({ status }) => status !== "stalled");
  await reached(database, 22n);
});

test("/metrics has the age of the source's last answer, and how long it has been silent", async () => {
  await using database = await freshDatabase();
  await using store = await startObjectStore({ newest: 20n });
  await using reading = startReading(database, store.base.href);
  await reached(database, 21n);
  const { serves } = watchBoth(database, reading);
  const metrics = createMetrics(serves);
  const gauge = (text: string, name: string) =>
    new RegExp(`^holderbook_source_${name}{source="${store.base.origin}"} (\\S+)$`, "m").exec(
      text,
    )?.[1];
  const shown = async () => {
    const { body } = await metrics.text();
    return [gauge(body, "answer_age_seconds"), gauge(body, "silent_seconds")].map(Number);
  };
  await until("an answer", shown, ([age, silent]) => age === 0 && silent === 0);
  await store[Symbol.asyncDispose]();
  await until("silence", shown, ([age = 0, silent = 0]) => age >= 1 && silent >= 1);
});

// Each waits for longer than a stall on a database of its own: all at the same time.
describe.concurrent("what is no stall", () => {
  test("a store that only answers 'not there' is not stalled", async () => {
    await using database = await freshDatabase();
    // HEAD is not allowed by some: the look at the newest checkpoint fails, and every poll is answered.
    await using store = await startObjectStore({
      newest: 3n,
      misbehave: (_sequence, response, method) => {
        if (method === "HEAD") response.writeHead(503).end();
        return method === "HEAD";
      },
    });
    await using reading = startReading(database, store.base.href);
    await reached(database, 4n);
    await neverStalls(watchBoth(database, reading));
  });

  test("a chain without new checkpoints is quiet, and its source is not stalled", async () => {
    await using database = await freshDatabase();
    const running = start(database, createScriptedLedger({ newest: 20n }), { waits: QUICK });
    await reached(database, 21n);
    await reported(running, ({ tip }) => tip === 20n);
    await neverStalls(watchBoth(database, running));
    await running.stop();
  });

  test("a folder without new files is not stalled", async ({ onTestFinished }) => {
    await using database = await freshDatabase();
    const path = await mkdtemp(join(tmpdir(), "quiet-"));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    await using reading = startReading(database, `dir:${path}`);
    await reported(reading, ({ state }) => state === "reading");
    await neverStalls(watchBoth(database, reading));
  });

  test("a slow commit does not count as the source's silence", async () => {
    await using database = await freshDatabase();
    const ledger = createScriptedLedger({ newest: 500n });
    const holding = await withoutAppends(database);
    const running = start(database, ledger, { waits: QUICK });
    const { serves } = watchBoth(database, running);
    await neverStalls({ reads: serves, serves });
    expect(await nextOf(database)).toBe(0n);
    await holding[Symbol.asyncDispose]();
    await reached(database, 501n);
    await running.stop();
  });

  test("a standby does not overwrite the active reader's note on its source", async () => {
    await using database = await freshDatabase();
    const ledger = createScriptedLedger({ newest: 20n });
    const running = start(database, ledger, { waits: QUICK });
    await reached(database, 21n);
    const gone = await startObjectStore();
    await gone[Symbol.asyncDispose]();
    await using standby = startReading(database, gone.base.href);
    await reported(standby, ({ state }) => state === "standby");
    await neverStalls(watchBoth(database, running));
    // When the other one is gone it takes over, and says what its own source is like.
    await running.stop();
    await bothSay(watchBoth(database, standby), isStalled);
  });
});
