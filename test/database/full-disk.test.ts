import { open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { expect, test } from "vitest";
import { databaseRemedy } from "../../src/database/database-error.ts";
import { startEmbeddedPostgres } from "../../src/database/embedded/embedded.ts";
import { eventually, temporaryFolder } from "../service/process.ts";
import { smallDisk } from "./small-disk.ts";

/** Writes until nothing more fits. */
const fill = async (path: string) => {
  await using file = await open(path, "w");
  const full = (async () => {
    for (const zeros = Buffer.alloc(1 << 20); ; ) await file.write(zeros);
  })();
  await expect(full).rejects.toThrow("ENOSPC");
};

/** Postgres' caches of a new connection, which the next one writes again. */
const loseCaches = async (dataDir: string) => {
  const files = await readdir(dataDir, { recursive: true });
  const caches = files.filter((file) => file.endsWith("pg_internal.init"));
  await Promise.all(caches.map((file) => rm(join(dataDir, file))));
  return caches.length;
};

test("new connections to a full disk are tried again, and a server that stopped on it is restarted once there is room", async (context) => {
  await using folder = await temporaryFolder();
  using disk = await smallDisk(join(folder.path, "disk"), 160);
  if (disk === undefined) return context.skip("no small disk can be mounted here");
  const notices: string[] = [];
  const server = await startEmbeddedPostgres({
    dataDir: join(disk.path, "data"),
    onNotice: (notice) => notices.push(notice),
    restarts: { backoff: { firstMs: 100, maxMs: 500 }, most: 1_000 },
  });
  const sql = postgres(server.url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
  try {
    await sql`create table kept as select 7 as n`;
    expect(await loseCaches(join(disk.path, "data", "postgres"))).toBeGreaterThan(0);
    await fill(join(disk.path, "filling"));
    const another = postgres(server.url, { max: 1, connect_timeout: 5 });
    const refused = await another`select 1`.catch((error: unknown) => error);
    await another.end();
    expect(String(refused)).toMatch(/could not write init file|No space left/);
    expect(databaseRemedy(refused)).toBe("retry");
    const lock = join(disk.path, "data", "postgres", "postmaster.pid");
    process.kill(Number((await readFile(lock, "utf8")).split("\n")[0]), "SIGKILL");
    // What follows depends on what still fits: each start fails, or the server tries to recover by itself
    // again and again.
    await eventually("the end of the server to be told", async () =>
      notices.length > 0 ? { done: true } : { seen: notices },
    );
    await rm(join(disk.path, "filling"));
    const rows = await eventually("the server answers again", () =>
      sql<{ n: number }[]>`select n from kept`.then(
        (done) => ({ done: [...done] }),
        (error: Error) => ({ seen: [error.message, ...notices.slice(-3)] }),
      ),
    );
    expect(rows).toEqual([{ n: 7 }]);
  } finally {
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}, 240_000);
