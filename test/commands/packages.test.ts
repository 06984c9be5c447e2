import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { publishCoinEnd } from "../../src/audit/sequence/coin-entries.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { type ReaderOptions, runReader } from "../../src/ledger/reading/reader.ts";
import { openSource } from "../../src/ledger/sources/open-source.ts";
import { guardedReads } from "../../src/projections/guarded-reads.ts";
import { ALL } from "../../src/projections/needed.ts";
import { tokens } from "../../src/projections/tokens.ts";
import { readMasterKey } from "../../src/sealing/master-key.ts";
import { startObjectStore } from "../ledger/sources/object-store-server.ts";
import { contentsOf } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { startProgram, temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

const NEWEST = 79;

/** As a release read that knew its packages from the settings alone. */
const deaf: ReaderOptions["read"] = (packages) => {
  const read = createCheckpointReader(packages);
  return (raw) => ({ ...read(raw), joined: [] });
};

const ledgerFile = z.object({ packages: z.tuple([z.string(), z.string()]) });

test("a package whose publication the log has passed is read in, even if killed midway", async () => {
  await using folder = await temporaryFolder();
  const dir = join(folder.path, "ledger");
  const how = ["--checkpoints", `${NEWEST + 1}`, "--seed", "upgrade", "--format", "binpb"];
  await runCommand(["demo", "write", "--dir", dir, ...how], {});
  const described = JSON.parse(readFileSync(join(dir, "ledger.json"), "utf8"));
  const [original, upgrade] = ledgerFile.parse(described).packages;
  const settingsOf = (url: string) => ({
    DATABASE_URL: url,
    DATA_DIR: join(folder.path, "data"),
    LEDGER_SOURCE: `dir:${dir}`,
    SECURITY_TOKEN_PACKAGES: original,
  });
  const index = ["index", "--last", `${NEWEST}`];

  await using follower = await freshDatabase();
  expect(await runCommand(index, settingsOf(follower.url))).toMatchObject({ code: 0 });
  const expected = [await contentsOf(follower), await projectedRows(follower)];

  await using database = await freshDatabase();
  const settings = settingsOf(database.url);
  const source = openSource(settings.LEDGER_SOURCE);
  await runReader(
    { database, source, read: deaf, packages: [original], firstCheckpoint: 0n, last: 79n },
    AbortSignal.timeout(20_000),
  );
  await source.close();
  expect(await contentsOf(database)).not.toEqual(expected[0]);
  await runCommand(["keys", "create", "--kind", "graphql", "--label", "before"], settings);
  const keys = await runCommand(["keys", "list"], settings);
  expect(keys.stdout).toContain("before");

  expect(await runCommand(index, settings)).toMatchObject({ code: 0 });
  // What was signed of the log before is of another one then.
  const key = await openDeploymentKey(
    database,
    await readMasterKey({
      configured: undefined,
      setting: "CALLBACK_MASTER_KEY",
      file: join(settings.DATA_DIR, "callback-master-key"),
    }),
  );
  const { tokens: known } = await tokens(guardedReads(database.db, ALL), { limit: 1 });
  const [{ coinType = "" } = {}] = known;
  const { chainId } = z.object({ chainId: z.string() }).parse(described);
  const end = { chainId, coinType, checkpoint: 79n };
  const signed = await database.transaction(({ sql }) => publishCoinEnd(sql, key, end));

  const add = ["packages", "add", upgrade, "--from", "20"];
  {
    // A source that stops in the middle of what has to be read.
    const stopped = Promise.withResolvers<void>();
    await using store = await startObjectStore({
      newest: BigInt(NEWEST),
      object: (sequence) => readFileSync(join(dir, `${sequence}.binpb.zst`)),
      misbehave: (sequence, _response, method) => {
        if (sequence < 60n || method === "HEAD") return false;
        stopped.resolve();
        return true;
      },
    });
    await using adding = startProgram(add, { ...settings, LEDGER_SOURCE: store.base.href });
    await Promise.race([stopped.promise, adding.ended]);
    const refused = await runCommand(add, settings);
    expect(refused.stderr).toContain("PipelineBusyError: the log");
    adding.signal("SIGKILL");
    await adding.ended;
  }
  const listed = await runCommand(["packages"], settings);
  expect(listed.stdout).toBe(`${original}  from the log's beginning\n`);
  expect(await runCommand(add, settings)).toMatchObject({ code: 0, stdout: "" });

  expect(await contentsOf(database)).toEqual(expected[0]);
  expect(await runCommand(["keys", "list"], settings)).toEqual(keys);
  expect(await runCommand(index, settings)).toMatchObject({ code: 0 });
  expect(await projectedRows(database)).toEqual(expected[1]);
  expect((await runCommand(["packages"], settings)).stdout).toContain(upgrade);
  expect((await runCommand(add, settings)).stderr).toContain("is in the log already");

  const anew = await database.transaction(({ sql }) => publishCoinEnd(sql, key, end));
  expect(anew.body).not.toEqual(signed.body);
  const verified = await runCommand(["verify", "--log"], settings);
  expect(verified).toMatchObject({ code: 0, stderr: "" });
  expect(verified.stdout).toMatch(
    /as entry 2 of the sequence says: earlier entries about it were not compared/,
  );
});
