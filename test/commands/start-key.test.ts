import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { demoTaKey, startKey } from "../../src/commands/start-key.ts";
import { listKeys } from "../../src/http/keys.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";

test("keys that a start makes are those of the next start too, while the database knows them", async () => {
  await using folder = await temporaryFolder();
  await using write = await freshDatabase();
  const config = { dataDir: join(folder.path, "data") };
  const first = await startKey(config, { write });
  expect(await startKey(config, { write })).toBe(first);
  const file = await demoTaKey(config, { write });
  const pair = await readFile(file, "utf8");
  expect(await demoTaKey(config, { write })).toBe(file);
  expect(await readFile(file, "utf8")).toBe(pair);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const keys = await listKeys(write);
  expect(keys.map(({ kind, subject }) => [kind, subject]).sort()).toEqual([
    ["graphql", null],
    ["ta", "demo-a"],
  ]);

  // A database that does not know the pair gets one that it knows.
  await using other = await freshDatabase();
  expect(await demoTaKey(config, { write: other })).toBe(file);
  expect(await readFile(file, "utf8")).not.toBe(pair);
  expect(await listKeys(other)).toHaveLength(1);
});
