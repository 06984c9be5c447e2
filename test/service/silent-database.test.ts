/** An indexing process whose database falls silent without closing a connection, as it comes through that. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect, type Database } from "../../src/database/connect.ts";
import { postgresPrograms } from "../../src/database/embedded/postgres-process.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { breakableWay } from "../database/outage.ts";
import { freshDatabase } from "../postgres.ts";
import { startShippedPostgres } from "../shipped-postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "./process.ts";
import { signalAll } from "./processes.ts";

/** Once a connection is silent for fifteen seconds it is asked after, and after as many more it is lost. */
const LOST_WITHIN_MS = 150_000;

const indexing = (databaseUrl: string, folder: string): Program =>
  startProgram(["index"], {
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, "data"),
    DEMO_HISTORY: "50",
    LOG_LEVEL: "info",
  });

/** The next checkpoint that every pipeline expects, once all of them have one. */
const reached = async ({ db }: Database): Promise<bigint | null> => {
  const { pipelines } = await readWatermarks(db, ledgerPipelines);
  const [least] = pipelines.map(({ next }) => next ?? -1n).sort((a, b) => Number(a - b));
  return least === undefined || least < 0n ? null : least;
};

/** Waits until every pipeline is some checkpoints beyond `from`. */
const goesOn = (what: string, database: Database, program: Program, from: bigint) =>
  eventually(
    what,
    async () => {
      const next = await reached(database).catch(() => null);
      return next !== null && next > from + 10n
        ? { done: next }
        : { seen: `${next}; ${program.printed.stderr.slice(-2_000)}` };
    },
    LOST_WITHIN_MS,
  );

test("behind a black hole that is later replaced by a working route, indexing resumes by itself", async () => {
  await using folder = await temporaryFolder();
  await using direct = await freshDatabase();
  await using way = await breakableWay(direct.url);
  await using program = indexing(way.url, folder.path);
  const before = await goesOn("indexing", direct, program, 0n);
  way.fallSilent();
  const hidden = (await reached(direct)) ?? before;
  way.speakAgain();
  await goesOn("indexing after the silence", direct, program, hidden);
}, 400_000);

test.skipIf(process.platform !== "linux")(
  "with a Postgres that was frozen and thawed, indexing resumes by itself",
  async () => {
    await using folder = await temporaryFolder();
    const server = await startShippedPostgres(postgresPrograms(), join(folder.path, "server"));
    const send = (signal: NodeJS.Signals) => signalAll(server.pid, signal);
    try {
      await using database = connect({ url: server.url, max: 2, applicationName: "test" });
      await using program = indexing(server.url, folder.path);
      const before = await goesOn("indexing", database, program, 0n);
      await send("SIGSTOP");
      await eventually(
        "the silence is noticed",
        async () =>
          /the database has not answered an open statement/.test(program.printed.stderr)
            ? { done: true }
            : { seen: program.printed.stderr.slice(-2_000) },
        LOST_WITHIN_MS,
      );
      await send("SIGCONT");
      await goesOn("indexing after the thaw", database, program, before);
      expect(program.printed.stderr).not.toMatch(/pipeline stopped/);
    } finally {
      await send("SIGCONT");
      await server.stop();
    }
  },
  600_000,
);
