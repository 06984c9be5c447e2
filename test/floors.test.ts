/**
 * The rooms of `src/` and `demo/` by their imports, held to the floors that docs/explanation/architecture.md states:
 * its tables are what is read here, so that the document and this test cannot differ.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

/** `from` imports `to`, by any kind of import: static, dynamic or of types alone. */
type Arrow = { readonly from: string; readonly to: string; readonly isLazy: boolean };

const root = join(import.meta.dirname, "..");
const files = globSync(["src/**/*.{ts,mts,mjs}", "client/*.{ts,mts,mjs}", "demo/**/*.ts"], {
  cwd: root,
}).toSorted();

/** What follows `from` or `import`, with a bracket where the import is dynamic. */
const IMPORTS =
  /\b(?:(import type|export type)[^;"]*? from|from|import) ?(\()?\s*"(\.{1,2}\/[^"]+)"/g;

const arrows: readonly Arrow[] = files.flatMap((from) =>
  [...readFileSync(join(root, from), "utf8").matchAll(IMPORTS)].map(
    ([, ofTypes, bracket, path = ""]) => ({
      from,
      to: normalize(join(dirname(from), path)).replace(/\.d\.mts$/, ".mjs"),
      isLazy: ofTypes !== undefined || bracket !== undefined,
    }),
  ),
);

/** Rows of the document's tables whose first cell fits, as their first two cells. */
const rows = (first: RegExp): readonly (readonly [string, string])[] =>
  readFileSync(join(root, "docs/explanation/architecture.md"), "utf8")
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .flatMap(([, one = "", two = ""]) => (first.test(one) ? [[one, two] as const] : []));

const named = (cell: string): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

/** Floor by room: a folder with its slash, or a file on the top level of `src/`. */
const floors = new Map(
  rows(/^\d+$/).flatMap(([floor, rooms]) => named(rooms).map((room) => [room, Number(floor)])),
);

/** Folders of a room, the lowest first. */
const orders = new Map(
  rows(/^`src\/\w+\/`$/).map(([room, folders]) => [named(room)[0] ?? "", named(folders)]),
);

const roomOf = (file: string): string =>
  /^(?:demo|client)\//.exec(file)?.[0] ?? /^src\/[^/]+\/?/.exec(file)?.[0] ?? "";

const shown = ({ from, to }: Arrow): string => `${from} imports ${to}`;

test("every file is in a room of the table, and every room of the table has files", () => {
  expect(new Set(floors.keys())).toEqual(new Set(files.map(roomOf)));
});

test("a room imports only from floors below its own", () => {
  const floor = (file: string) => floors.get(roomOf(file)) ?? Number.NaN;
  const wrong = arrows.filter(
    ({ from, to }) => roomOf(from) !== roomOf(to) && !(floor(to) < floor(from)),
  );
  expect(wrong.map(shown)).toEqual([]);
});

test("a folder of a room with an order imports only from folders below its own", () => {
  const wrong = [...orders].flatMap(([room, order]) => {
    const place = (file: string) => order.indexOf(dirname(file).slice(room.length));
    return arrows.filter(
      ({ from, to }) =>
        from.startsWith(room) &&
        to.startsWith(room) &&
        dirname(from) !== dirname(to) &&
        !(place(from) > place(to) && place(to) >= 0),
    );
  });
  expect(orders.size).toBeGreaterThan(0);
  expect(wrong.map(shown)).toEqual([]);
});

test("the readings of /health come from the rooms that own the tables", () => {
  const health = files.filter((file) => file.startsWith("src/service/health/"));
  expect(health.length).toBeGreaterThan(0);
  const withSql = health.filter((file) => /\bsql\b/.test(readFileSync(join(root, file), "utf8")));
  expect(withSql).toEqual([]);
});

test("no file imports itself through others", () => {
  const imports = Map.groupBy(arrows, ({ from }) => from);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file);
    if (start >= 0) circles.push([...way.slice(start), file].join(" imports "));
    if (start >= 0 || done.has(file)) return;
    for (const { to } of imports.get(file) ?? []) visit(to, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test("the demo is loaded only when named: where sources are opened and for its own commands", () => {
  const intoDemo = arrows.filter(({ from, to }) => from.startsWith("src/") && /^demo\//.test(to));
  expect(intoDemo.map(shown)).toEqual([
    "src/commands/demo.ts imports demo/write.ts",
    "src/service/demo.ts imports demo/demo.ts",
  ]);
  expect(intoDemo.every(({ isLazy }) => isLazy)).toBe(true);
});
