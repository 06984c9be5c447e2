import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { expect, test } from "vitest";
import { startEmbeddedPostgres } from "../../src/database/embedded.ts";
import { eventually, temporaryFolder } from "../service/process.ts";

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

test("what was written is there after a restart, and a second process shares a running server", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  const first = await startEmbeddedPostgres({ dataDir });
  expect(first.role).toBe("owner");
  await ask(first.url, "create table kept (n int); insert into kept values (7)");
  const guest = await startEmbeddedPostgres({ dataDir });
  expect(guest).toMatchObject({ role: "guest", url: first.url });
  await guest.stop();
  expect(await ask(first.url, "select n from kept")).toEqual([{ n: 7 }]);
  await first.stop();

  const again = await startEmbeddedPostgres({ dataDir });
  expect(await ask(again.url, "select n from kept")).toEqual([{ n: 7 }]);
  await again.stop();
});

test("a server that was killed is started again on the same port, with everything committed", async () => {
  await using folder = await temporaryFolder();
  const notices: string[] = [];
  const server = await startEmbeddedPostgres({
    dataDir: folder.path,
    onNotice: (notice) => notices.push(notice),
  });
  try {
    await ask(server.url, "create table kept (n int); insert into kept values (7)");
    const killed = await pidOf(folder.path);
    process.kill(killed, "SIGKILL");
    const rows = await eventually("the server answers again", async () =>
      (await pidOf(folder.path).catch(() => killed)) === killed
        ? { seen: notices }
        : ask(server.url, "select n from kept").then(
            (done) => ({ done }),
            (error: Error) => ({ seen: error.message }),
          ),
    );
    expect(rows).toEqual([{ n: 7 }]);
    expect(notices).toEqual([`Postgres (pid ${killed}) ended by itself; starting it again`]);
  } finally {
    await server.stop();
  }
});

test("a lock that a crash left behind keeps nobody out", async () => {
  await using folder = await temporaryFolder();
  const before = await startEmbeddedPostgres({ dataDir: folder.path });
  const lock = await readFile(lockOf(folder.path), "utf8");
  await before.stop();
  // The pid of nobody, and one that now is another program: this one.
  for (const pid of [4_194_000, process.pid]) {
    await writeFile(lockOf(folder.path), lock.replace(/^\d+/, String(pid)));
    const server = await startEmbeddedPostgres({ dataDir: folder.path });
    expect(server.role).toBe("owner");
    expect(await ask(server.url, "select 1 as n")).toEqual([{ n: 1 }]);
    await server.stop();
  }
});
