import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEmbeddedPostgres } from "../../src/database/embedded/embedded.ts";
import { eventually, temporaryFolder } from "../service/process.ts";

/** All of them work on one cluster, which the first start makes. */
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let dataDir: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder.path, "data");
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Writes what is to be there afterwards. */
const KEPT = "drop table if exists kept; create table kept (n int); insert into kept values (7)";

const lockOf = (dataDir: string) => join(dataDir, "postgres", "postmaster.pid");
const pidOf = async (dataDir: string) =>
  Number((await readFile(lockOf(dataDir), "utf8")).split("\n")[0]);

/** One statement on a connection of its own. */
const ask = async (url: string, statement: string) => {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
  try {
    return [...(await sql.unsafe(statement))];
  } finally {
    await sql.end({ timeout: 5 });
  }
};

test("data survives a restart, and a second process shares a running server", async () => {
  const first = await startEmbeddedPostgres({ dataDir });
  expect(first.role).toBe("owner");
  await ask(first.url, KEPT);
  const guest = await startEmbeddedPostgres({ dataDir });
  expect(guest).toMatchObject({ role: "guest", url: first.url });
  await guest.stop();
  expect(await ask(first.url, "select n from kept")).toEqual([{ n: 7 }]);
  await first.stop();

  const again = await startEmbeddedPostgres({ dataDir });
  expect(await ask(again.url, "select n from kept")).toEqual([{ n: 7 }]);
  await again.stop();
});

test("a killed server is started again on the same port, with everything committed", async () => {
  const notices: string[] = [];
  const server = await startEmbeddedPostgres({
    dataDir,
    onNotice: (notice) => notices.push(notice),
  });
  try {
    await ask(server.url, KEPT);
    const killed = await pidOf(dataDir);
    process.kill(killed, "SIGKILL");
    const rows = await eventually("the server answers again", async () =>
      (await pidOf(dataDir).catch(() => killed)) === killed
        ? { seen: notices }
        : ask(server.url, "select n from kept").then(
            (done) => ({ done }),
            (error: Error) => ({ seen: error.message }),
          ),
    );
    expect(rows).toEqual([{ n: 7 }]);
    const again = `Postgres runs again (pid ${await pidOf(dataDir)})`;
    await expect.poll(() => notices).toContain(again);
    expect(notices).toEqual([
      `Postgres (pid ${killed}) exited unexpectedly; starting it again`,
      again,
    ]);
  } finally {
    await server.stop();
  }
});

/**
 * Kills the server as often as told, each time once the next one is known to run: one that is killed before counts as
 * one that could not be started.
 */
const killed = async (dataDir: string, notices: readonly string[], times: number) => {
  const isKnown = (pid: number) => notices.includes(`Postgres runs again (pid ${pid})`);
  for (let n = 0; n < times; n += 1) {
    const killed = await pidOf(dataDir);
    process.kill(killed, "SIGKILL");
    // The last one is not started again when it is given up.
    if (n === times - 1) return;
    await eventually("the next server runs", async () => {
      const pid = await pidOf(dataDir).catch(() => killed);
      return pid !== killed && isKnown(pid) ? { done: true } : { seen: notices };
    });
  }
};

test("a server that cannot start is retried after growing pauses, and serves once it can", async () => {
  const notices: string[] = [];
  const server = await startEmbeddedPostgres({
    dataDir,
    onNotice: (notice) => notices.push(notice),
    restarts: { backoff: { firstMs: 50, maxMs: 60_000 }, most: 1_000 },
  });
  try {
    await ask(server.url, KEPT);
    const settings = join(dataDir, "postgres", "postgresql.conf");
    const good = await readFile(settings, "utf8");
    await writeFile(settings, "no_such_setting = on\n");
    await killed(dataDir, notices, 1);
    await eventually("some tries", async () =>
      notices.length >= 5 ? { done: true } : { seen: notices },
    );
    await writeFile(settings, good);
    const rows = await eventually("the server answers again", () =>
      ask(server.url, "select n from kept").then(
        (done) => ({ done }),
        (error: Error) => ({ seen: [error.message, ...notices] }),
      ),
    );
    expect(rows).toEqual([{ n: 7 }]);
    expect(notices[0]).toMatch(/^Postgres \(pid \d+\) exited unexpectedly; starting it again$/);
    const pauses = notices.slice(1, 5).map((notice) => /again in ([\d.]+) s$/.exec(notice)?.[1]);
    expect(pauses).toEqual(["0.05", "0.1", "0.2", "0.4"]);
  } finally {
    await server.stop();
  }
});

test("a server that keeps exiting is given up with the reason; one that ran well in between is not", async () => {
  const lost: Error[] = [];
  const notices: string[] = [];
  const start = (healthyMs: number) =>
    startEmbeddedPostgres({
      dataDir,
      onNotice: (notice) => notices.push(notice),
      onLost: (error) => lost.push(error),
      restarts: { backoff: { firstMs: 10, maxMs: 60_000 }, most: 2, healthyMs },
    });
  const well = await start(0);
  await killed(dataDir, notices, 4);
  await eventually("the server answers", () =>
    ask(well.url, "select 1").then(
      (done) => ({ done }),
      (error: Error) => ({ seen: error.message }),
    ),
  );
  expect(lost).toEqual([]);
  await well.stop();

  const unwell = await start(600_000);
  await killed(dataDir, notices, 3);
  const [error] = await eventually("it is given up", async () =>
    lost.length > 0 ? { done: lost } : { seen: notices },
  );
  expect(error?.message).toMatch(
    /^Postgres \(pid \d+\) exited unexpectedly; gave up after 2 consecutive starts: .*postgres\.log/,
  );
  await unwell.stop();
});

test("a lock left by a crash prevents no start", async () => {
  const before = await startEmbeddedPostgres({ dataDir });
  const lock = await readFile(lockOf(dataDir), "utf8");
  await before.stop();
  // A pid of no program, and one that is another program now: this one.
  for (const pid of [4_194_000, process.pid]) {
    await writeFile(lockOf(dataDir), lock.replace(/^\d+/, String(pid)));
    const server = await startEmbeddedPostgres({ dataDir });
    expect(server.role).toBe("owner");
    expect(await ask(server.url, "select 1 as n")).toEqual([{ n: 1 }]);
    await server.stop();
  }
});
