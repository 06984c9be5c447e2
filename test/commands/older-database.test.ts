/** A database of the version before, and commands of this one that are not there to upgrade it. */
import { expect, test } from "vitest";
import { MigrationsMissingError } from "../../src/database/migrate.ts";
import { databaseBefore } from "../database/database-before.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

type Older = Awaited<ReturnType<typeof databaseBefore>>;

/** All tables and columns, and what was applied. */
const shapeOf = async ({ sql }: Older) => ({
  columns: await sql`
    select table_schema, table_name, column_name from information_schema.columns
    where table_schema not in ('pg_catalog', 'information_schema') order by 1, 2, 3`,
  applied: await sql`select hash from drizzle.__drizzle_migrations order by id`,
});

const COIN = "0x2::sui::SUI";

const COMMANDS = [
  "status",
  "digest",
  "verify --log",
  "reconcile",
  `cap-table --coin ${COIN}`,
  `statement --coin ${COIN} --owner 0x1`,
  `audit-pack --coin ${COIN} --from 1 --to 2 --out pack`,
  "keys list",
  "keys create --kind graphql",
  "keys revoke none",
  "keys rotate",
  "packages",
  "acts",
  "ta requests",
  "compare http://127.0.0.1:9 --key none",
  "evm list",
  "evm reread --chain 1",
  "callbacks list --asset demo-a",
  "callbacks rotate",
  "pii rotate",
  "rebuild role_changes",
];

test("commands other than migrate, start, index and serve leave an older database unchanged and say what to do", async () => {
  await using older = await databaseBefore();
  await using folder = await temporaryFolder();
  const settings = { DATABASE_URL: older.url, DATA_DIR: folder.path };
  const before = await shapeOf(older);
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await runCommand(command.split(" "), settings).catch(
      (error: unknown) => ({ code: 1, stdout: "", stderr: String(error) }),
    );
    expect({ command, code, stdout, stderr }).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/lacks a migration \(\d{4}_\w+\).*`holderbook migrate`/s),
    });
  }
  expect(await shapeOf(older)).toEqual(before);

  expect((await runCommand(["migrate"], settings)).code).toBe(0);
  const after = await shapeOf(older);
  expect(after.applied.length).toBe(before.applied.length + 1);
  expect((await runCommand(["keys", "list"], settings)).code).toBe(0);
}, 240_000);

test("the error names every migration that is missing", () => {
  const { message } = new MigrationsMissingError(["0001_one", "0002_two"]);
  expect(message).toContain("2 migrations (0001_one, 0002_two)");
});
