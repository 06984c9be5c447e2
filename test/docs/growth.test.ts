/** The page of what grows knows every table. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPLAY_SCHEMAS, WORK_SCHEMAS } from "../../src/database/work-schemas.ts";
import { freshDatabase } from "../postgres.ts";

const page = await readFile(join(import.meta.dirname, "../../docs/reference/growth.md"), "utf8");
const [tables = "", beside = ""] = page.split("## Beside these");

/** Cells of all tables' rows. */
const rows = [...tables.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, name = "", rest = ""]) => ({
  name,
  cells: rest.split(" | "),
}));

test("every table of the database is listed once: what adds a row, its size and its bound", async () => {
  await using database = await freshDatabase();
  const found = await database.sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
  expect(rows.map(({ name }) => name).toSorted()).toEqual(found.map(({ name }) => name).toSorted());
  expect(rows.filter(({ cells }) => cells.length !== 3 || cells.includes(""))).toEqual([]);
});

test("every schema that the service fills beside them is listed", () => {
  const missing = [...WORK_SCHEMAS, ...REPLAY_SCHEMAS].filter((name) => !beside.includes(name));
  expect(missing).toEqual([]);
});
