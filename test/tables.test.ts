/** Tests name no table of another room: they ask that room's code, or a helper beside its tests. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Folders whose tests may name tables of other rooms. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  audit: "tampers with the tables of every room, as one who can write them would",
  evidence: "tampers with those that packs and statements are made from, in the same way",
  lanes: "has no table of its own: its columns stand in the tables of the rooms with lanes",
  released: "looks at a database of the first version, which this code cannot read",
};

const root = join(import.meta.dirname, "..");

const filesOf = (folder: string) =>
  globSync(`${folder}/**/*.ts`, { cwd: root })
    .toSorted()
    .map((file) => ({
      file,
      room: file.split("/")[1] ?? "",
      text: readFileSync(join(root, file), "utf8"),
    }));

/** Room by table, under the name in the database and the one in the code. */
const owners = new Map(
  filesOf("src").flatMap(({ room, text }) => [
    ...[...text.matchAll(/const (\w+) = pgTable\(\s*"(\w+)"/g)].flatMap(
      ([, constant = "", table = ""]) => [[constant, room] as const, [table, room] as const],
    ),
    ...[...text.matchAll(/= progressTables\("(\w+)"/g)].map(
      ([, pipeline]) => [`${pipeline}_watermark`, room] as const,
    ),
  ]),
);

/** Names that follow a word of SQL, and names in the code that a table could have. */
const NAMES =
  /\b(?:from|join|into|update|table|truncate|only|on|using)\s+"?([a-z_]+)|\b([a-z]+[A-Z]\w*)/g;

/** Each file of a room's tests with the tables of other rooms that it names. */
const foreign = filesOf("test").flatMap(({ file, room, text }) =>
  [...text.matchAll(NAMES)].flatMap(([, table, constant]) => {
    const name = table ?? constant ?? "";
    const owner = owners.get(name) ?? room;
    return owner === room ? [] : [{ room, said: `${file} names ${name}, a table of ${owner}` }];
  }),
);

test("no test names a table of another room", () => {
  const wrong = foreign.filter(({ room }) => EXCEPTIONS[room] === undefined);
  expect(owners.size).toBeGreaterThan(40);
  expect(wrong.map(({ said }) => said)).toEqual([]);
});

test("every exception is still needed", () => {
  const needed = new Set(foreign.map(({ room }) => room));
  expect(Object.keys(EXCEPTIONS).filter((room) => !needed.has(room))).toEqual([]);
});
