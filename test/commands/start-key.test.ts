import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { demoOperatorKey, demoTaKey, startKey } from "../../src/commands/start-key.ts";
import { findKey, listKeys, revokeKey } from "../../src/http/keys.ts";
import { demoTaKeyFile, keptDemoOperatorKey, keptDemoTaKey } from "../../src/service/kept-keys.ts";
import { registerKey } from "../../src/ta/requests/caller-keys.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";

test("keys made by a start are reused by the next start while the database knows them", async () => {
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
  expect(
    keys.map(({ kind, subject, requireBound }) => [kind, subject, requireBound]).sort(),
  ).toEqual([
    ["graphql", null, false],
    ["ta", "demo-a", true],
  ]);

  // A database that does not know the pair gets one that it knows.
  await using other = await freshDatabase();
  expect(await demoTaKey(config, { write: other })).toBe(file);
  expect(await readFile(file, "utf8")).not.toBe(pair);
  expect(await listKeys(other)).toHaveLength(1);
});

test("the demo's operator key is made once, again for another database, and not after it was revoked", async () => {
  await using folder = await temporaryFolder();
  await using write = await freshDatabase();
  const config = { dataDir: join(folder.path, "data") };
  const made = async (on = write) => {
    await demoOperatorKey(config, { write: on });
    return await keptDemoOperatorKey(config);
  };
  const first = await made();
  expect(first).toMatch(/^hb_operator_/);
  expect(await made()).toBe(first);
  const [key] = await listKeys(write);
  expect(await revokeKey(write, key?.id ?? "")).toBe(true);
  await using other = await freshDatabase();
  expect(await made(other)).not.toBe(first);
  await made();
  expect(await listKeys(write)).toHaveLength(1);
});

test("a key pair of a former version with unbound signatures can be replaced by one with bound ones", async () => {
  await using folder = await temporaryFolder();
  await using write = await freshDatabase();
  const config = { dataDir: join(folder.path, "data") };
  const former = await registerKey(write, { asset: "demo-a" });
  await mkdir(config.dataDir);
  await writeFile(demoTaKeyFile(config), JSON.stringify(former));

  await demoTaKey(config, { write });
  const kept = await keptDemoTaKey(config);
  const made = kept && (await findKey(write, kept.publicKey));
  expect(made).toMatchObject({ subject: "demo-a", requireBound: true });
  const keys = await listKeys(write);
  expect(keys).toHaveLength(2);
  expect(keys.find(({ id }) => id === former.id)).toMatchObject({
    handedTo: made?.id,
    revokedAt: expect.any(String),
  });
});
