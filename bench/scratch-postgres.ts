/** An embedded, migrated Postgres, removed after the measurement. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Database } from "../src/database/connect.ts";
import { startEmbeddedPostgres } from "../src/database/embedded/embedded.ts";
import { migrate } from "../src/database/migrate.ts";

export type Scratch = AsyncDisposable & {
  readonly database: Database;
  readonly folder: string;
  readonly url: string;
  /** The server's; its backends are its children. */
  readonly pid: number;
};

const open = new Set<() => Promise<void>>();

let watching = false;

/** An interrupted measurement leaves no server and no gigabytes behind. */
const removeWhenInterrupted = () => {
  if (watching) return;
  watching = true;
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      void Promise.allSettled([...open].map((remove) => remove())).then(() => process.exit(1));
    });
  }
};

export const scratchPostgres = async (): Promise<Scratch> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  const server = await startEmbeddedPostgres({ dataDir: folder });
  const remove = async () => {
    open.delete(remove);
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  removeWhenInterrupted();
  open.add(remove);
  const database = connect({ url: server.url, max: 8, applicationName: "bench" });
  await migrate(database);
  return {
    database,
    folder,
    url: server.url,
    pid: await postmasterIn(folder),
    [Symbol.asyncDispose]: async () => {
      await database.close();
      await remove();
    },
  };
};

/** Pid of a data folder's embedded server, from the first line of its lock file. */
export const postmasterIn = async (folder: string): Promise<number> =>
  Number.parseInt(await readFile(join(folder, "postgres", "postmaster.pid"), "utf8"), 10);
