/** What was published is lost by the database: the process that has seen it signs nothing more, and ends. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { entriesOf, loseEntries } from "../audit/sequence-entries.ts";
import { freshDatabase } from "../postgres.ts";
import { eventually, startProgram, temporaryFolder } from "./process.ts";

test("an indexing process ends with an error, and signs nothing, when the database lost an entry that it has published", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await using program = startProgram(["index"], {
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "50",
  });
  await eventually("a signed head", async () => {
    const { stderr } = program.printed;
    return stderr.includes("signed the log's head")
      ? { done: true }
      : { seen: stderr.slice(-2_000) };
  });
  const kept = 1;
  await loseEntries(database, kept);
  let code: number | null = null;
  void program.ended.then((ended) => {
    code = ended;
  });
  await eventually("the end", async () =>
    code === null ? { seen: program.printed.stderr.slice(-2_000) } : { done: true },
  );
  const { stderr } = program.printed;
  expect(code, stderr).toBe(1);
  expect(stderr).toMatch(/SequenceLostError.*entry \d+ of the sequence was published.*giving up/);
  expect(await entriesOf(database.sql)).toHaveLength(kept);
}, 300_000);
