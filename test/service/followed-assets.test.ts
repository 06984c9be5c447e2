/** Recorded reloads of the assets file, as a process follows them from its start on. */
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import pino from "pino";
import { expect, test } from "vitest";
import { noteProcess } from "../../src/log/process-notes.ts";
import { reloadAssets } from "../../src/operator/reload-assets.ts";
import { followAssets } from "../../src/service/followed-assets.ts";
import { assetEntries, assetsDigest } from "../../src/settings/asset-changes.ts";
import type { Assets } from "../../src/settings/assets.ts";
import { NO_BULK } from "../../src/values/bulk-progress.ts";
import { freshDatabase } from "../postgres.ts";
import { eventually, temporaryFolder } from "./process.ts";

const named = (...names: readonly string[]): Assets => ({
  projects: names.map((name) => ({ name, tokens: [] })),
});
const OLD = named("old");
const NEW = named("old", "new");

/** A deployment whose other process runs with `OLD`, and whose last reload is of `NEW`. */
const startDeployment = async () => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const database = await freshDatabase();
  opened.defer(() => database.close());
  const other = randomUUID();
  const runs = (assets: Assets) => {
    const known = { digest: assetsDigest(assets), entries: [...assetEntries(assets)] };
    const said = { queue: null, signers: [], signing: null, ...NO_BULK, assets: known };
    return noteProcess(database.sql, { id: other, pid: 1, host: "elsewhere" }, said);
  };
  await runs(OLD);
  await reloadAssets(database, { assets: NEW, key: null });
  const assetsFile = join(folder.path, "assets.json");
  const write = (assets: Assets) => writeFile(assetsFile, JSON.stringify(assets));
  await write(OLD);
  const lines: string[] = [];
  const out = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk));
      done();
    },
  });
  const follow = (supersededAfterMs?: number) =>
    followAssets({
      ...{ sql: database.sql, assets: OLD, everyMs: 20, logger: pino(out) },
      config: { assetsFile, callbacks: { allowPrivate: false, ports: [443] } },
      ...(supersededAfterMs !== undefined && { supersededAfterMs }),
    });
  const all = opened.move();
  return { runs, write, lines, follow, [Symbol.asyncDispose]: () => all.disposeAsync() };
};

test("a process that starts with an older file than the last reload says so, and follows once it has the file", async () => {
  await using deployment = await startDeployment();
  await deployment.runs(NEW);
  await using followed = deployment.follow(0);
  await eventually("what it waits for", async () => {
    const { notes = [] } = await followed.details();
    const isSaid = notes.some(({ reason }) => reason.includes("put the same file here"));
    return isSaid ? { done: true } : { seen: notes };
  });
  expect(followed.current()).toEqual(OLD);
  await deployment.write(NEW);
  await eventually("the new file", async () => {
    const { notes } = await followed.details();
    const isNew = followed.current().projects.length === 2 && notes?.length === 0;
    return isNew ? { done: true } : { seen: notes };
  });
});

test("a reload that no process runs with any more is left behind by a start, with a warning", async () => {
  await using deployment = await startDeployment();
  await using followed = deployment.follow(0);
  await eventually("the warning", async () =>
    deployment.lines.some((line) => line.includes("no process runs with the file"))
      ? { done: true }
      : { seen: deployment.lines },
  );
  const { notes } = await followed.details();
  expect([followed.current(), notes]).toEqual([OLD, []]);
});

test("a reload of some seconds ago is waited for by a start, as others may not have followed it yet", async () => {
  await using deployment = await startDeployment();
  await using followed = deployment.follow();
  await eventually("what it waits for", async () => {
    const { notes = [] } = await followed.details();
    return notes.length > 0 ? { done: true } : { seen: deployment.lines };
  });
  await deployment.write(NEW);
  await eventually("the new file", async () => {
    const { projects } = followed.current();
    return projects.length === 2 ? { done: true } : { seen: projects };
  });
});
