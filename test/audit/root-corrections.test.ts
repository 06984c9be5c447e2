/** A corrected projection changes roots that were published: `replay --swap --accept` corrects them. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeAll, expect, test } from "vitest";
import { verifySequence } from "../../client/verify-sequence.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { publishedRoots2, publishedRootsOf } from "../../src/audit/sequence/published-roots.ts";
import { publishRoots, type Roots, tableRoots } from "../../src/audit/sequence/table-roots.ts";
import { checkpointMark } from "../../src/log/blocks.ts";
import { createCapTables } from "../../src/projections/cap-tables.ts";
import { runCommand } from "../commands/run-command.ts";
import { copyOf, type TestDatabase } from "../postgres.ts";
import { misplaceUnit } from "../projections/damage.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";
import { entriesOf, sequenceFaults } from "./sequence-entries.ts";

let register: DemoRegister;
let database: TestDatabase;
let key: DeploymentKey;
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(80);
  return () => register[Symbol.asyncDispose]();
});
afterEach(() => database.close());

const masterKey = randomBytes(32);

const run = (...args: readonly string[]) =>
  runCommand(args, {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
  });

const OBJECTS = ["--pipeline", "shared_token_objects", "--share", "1"];
const WHO = ["--by", "Ada Byron, operations", "--why", "one unit was counted for another wallet"];

const rootsAt = async (coinType: string, checkpoint: bigint): Promise<Roots> => {
  const mark = await checkpointMark(database.db, checkpoint);
  if (mark === null) throw new Error(`there is no checkpoint ${checkpoint}`);
  const [coin] = await database.sql<{ decimals: number }[]>`
    select decimals from log_coins where coin_type = ${coinType}`;
  const table = { coinType, decimals: coin?.decimals ?? null, mark, totalSupply: null };
  return tableRoots(database, "demo", table, createCapTables());
};

/** Published before and after checkpoint 50, from which on the rows are wrong, as by a defective projection. */
const misplaced = async (checkpoints: readonly bigint[] = [45n, 55n, 60n]) => {
  database = await copyOf(register.database);
  key = await openDeploymentKey(database, masterKey);
  const [{ chainId = "" } = {}] = await database.sql<{ chainId: string }[]>`
    select chain_id as "chainId" from log_high_water`;
  const publish = async (roots: Roots) => {
    const of = {
      version1: { ...roots.version1, chainId },
      version2: roots.version2 && { ...roots.version2, chainId },
    };
    await database.transaction(({ sql }) => publishRoots(sql, key, of));
  };
  const coinType = await misplaceUnit(database, 50n);
  const wrong = new Map<bigint, Roots>();
  for (const checkpoint of checkpoints) {
    const roots = await rootsAt(coinType, checkpoint);
    wrong.set(checkpoint, roots);
    await publish(roots);
  }
  return { coinType, wrong, chainId };
};

test("roots that a corrected projection changes are listed, and corrected for a name and a reason", async () => {
  const { coinType, wrong } = await misplaced();
  const refused = await run("replay", ...OBJECTS, "--swap", "--accept");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("PublishedRootsError");
  for (const checkpoint of [55, 60])
    expect(refused.stderr).toContain(`${coinType}, checkpoint ${checkpoint}: the published root`);
  expect(refused.stderr).not.toContain("checkpoint 45:");
  expect(await run("replay", ...OBJECTS, "--swap", "--accept", "--by", "Ada")).toMatchObject({
    code: 2,
  });

  const swapped = await run("replay", ...OBJECTS, "--swap", "--accept", ...WHO);
  expect(swapped).toMatchObject({ code: 0 });
  for (const read of [publishedRootsOf, publishedRoots2]) {
    const roots = await read(database, { coinType, limit: 10 });
    expect(roots.map(({ checkpoint }) => checkpoint)).toEqual(["60", "55", "45"]);
    for (const { checkpoint, root, corrections } of roots) {
      const { version1, version2 } = await rootsAt(coinType, BigInt(checkpoint));
      const [made, before] =
        read === publishedRootsOf
          ? [version1, wrong.get(BigInt(checkpoint))?.version1]
          : [version2, wrong.get(BigInt(checkpoint))?.version2];
      expect(root).toBe(made?.root);
      if (checkpoint === "45") expect(corrections).toEqual([]);
      else
        expect(corrections).toMatchObject([
          {
            ...{ from: { root: before?.root }, to: { root } },
            ...{ by: WHO[1], why: WHO[3] },
          },
        ]);
    }
  }
  expect(await sequenceFaults(database.sql)).toEqual([]);
  const entries = await entriesOf(database.sql);
  const verified = await verifySequence(entries, { publicKey: key.publicKey });
  expect(verified.corrections.map(({ checkpoint, version }) => [checkpoint, version])).toEqual(
    expect.arrayContaining([
      ["55", "1"],
      ["55", "2"],
      ["60", "1"],
      ["60", "2"],
    ]),
  );
  expect(verified.corrections.every(({ isPublished }) => isPublished)).toBe(true);
  expect(await run("replay", ...OBJECTS)).toMatchObject({ code: 0 });
  expect(await run("reconcile")).toMatchObject({ code: 0 });
});
