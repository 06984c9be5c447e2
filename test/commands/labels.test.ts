/** `holderbook labels`: a file of names, checked whole, given once. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ACME, knowCoin } from "../graphql/rows.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  await knowCoin(database, ACME, 6);
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const labels = (...args: readonly string[]) =>
  runCommand(["labels", ...args], {
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    PII_KEYS: `new:${key.toString("base64")}`,
  });
const key = randomBytes(32);

const importing = async (...lines: readonly string[]) => {
  const path = join(folder.path, "labels.csv");
  await writeFile(path, lines.join("\n"));
  return labels("import", path);
};

const HEADER = "kind,coin_type,holder_id,wallet,role,label,sealed";
const FILE = [
  HEADER,
  `holder,${ACME},16,,,Jane Doe,yes`,
  "wallet,,,0x4,,Cold storage,",
  `treasury,${ACME},,,,"Acme, Inc.",no`,
];

test("a file with errors changes nothing, and each error is shown with its line", async () => {
  const { code, stderr } = await importing(
    ...FILE,
    `holder,${ACME},x,,,Jane,`,
    "wallet,,,4,,Cold storage,",
  );
  expect(code).toBe(2);
  expect(stderr).toMatch(/line 5: holder_id: must be a holder's number/);
  expect(stderr).toMatch(/line 6: wallet: is not an address/);
  expect(stderr).toMatch(/nothing was changed/);
  const unknown = await importing(...FILE, "holder,0x9::no::NO,1,,,Jane,");
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toMatch(/line 5: coin_type: no token 0x0+9::no::NO was seen/);
  expect((await labels("list")).stdout).toBe("");
});

test("a file is imported once, listed, exported as it was, and its labels removed", async () => {
  const first = await importing(...FILE);
  expect(JSON.parse(first.stdout), first.stderr).toEqual({ set: 3, unchanged: 0 });
  const again = await importing(...FILE);
  expect(JSON.parse(again.stdout)).toEqual({ set: 0, unchanged: 3 });

  const listed = JSON.parse((await labels("list", "--json")).stdout);
  expect(listed).toMatchObject([
    {
      id: expect.any(String),
      kind: "HOLDER",
      coinType: ACME,
      holderId: "16",
      text: "Jane Doe",
      isSealed: true,
    },
    { kind: "WALLET", coinType: null, address: `0x${"4".padStart(64, "0")}`, text: "Cold storage" },
    { kind: "TREASURY", text: "Acme, Inc." },
  ]);
  const exported = await labels("export");
  const back = await importing(...exported.stdout.trim().split("\n"));
  expect(JSON.parse(back.stdout), back.stderr).toEqual({ set: 0, unchanged: 3 });

  const gone = await labels("remove", listed[0].id);
  expect(gone).toMatchObject({ code: 0, stderr: expect.stringMatching(/is removed/) });
  expect(JSON.parse((await labels("list", "--json")).stdout)).toHaveLength(2);
  expect((await labels("remove", listed[0].id)).code).toBe(2);
});

test("--labels is for keys of the kinds graphql and operator", async () => {
  const create = (...args: readonly string[]) =>
    runCommand(["keys", "create", ...args], { DATABASE_URL: database.url, DATA_DIR: folder.path });
  for (const kind of ["graphql", "operator"]) {
    expect((await create("--kind", kind, "--labels")).code).toBe(0);
  }
  const refused = await create("--kind", "project", "--project", "acme", "--labels");
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/--labels is for/) });
  const listed = await runCommand(["keys", "list", "--json"], { DATABASE_URL: database.url });
  expect(JSON.parse(listed.stdout)).toMatchObject([{ seesLabels: true }, { seesLabels: true }]);
});
