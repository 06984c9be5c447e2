/** An embedded Postgres for one measurement, migrated and gone afterwards. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Database } from "../src/database/connect.ts";
import { startEmbeddedPostgres } from "../src/database/embedded.ts";
import { migrate } from "../src/database/migrate.ts";

export type Scratch = AsyncDisposable & { readonly database: Database; readonly folder: string };

/** Ends each one that is open. */
const open = new Set<() => Promise<void>>();

let watching = false;

/** A measurement that is broken off leaves no server running and no gigabytes behind. */
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
    [Symbol.asyncDispose]: async () => {
      await database.close();
      await remove();
    },
  };
};
