/** A guided log and one that was read whole, of the same ledger: `compare` finds their registers identical. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { alterLog } from "../log/damage.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { serveGraphql } from "./demo-register.ts";
import { guidedDemo } from "./guided-demo.ts";

const GUIDED = 150;
const LAST = 169;

let guided: TestDatabase;
let whole: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<string, string>>;

beforeAll(async () => {
  [folder, guided, whole] = await Promise.all([
    temporaryFolder(),
    freshDatabase(),
    freshDatabase(),
  ]);
  const demo = await guidedDemo(folder.path, LAST + 1, [60, GUIDED]);
  settings = demo.settings;
  await demo.append(guided, 60, GUIDED);
  for (const { url } of [guided, whole]) {
    const { code, stderr } = await runCommand(["index", "--last", `${LAST}`], {
      ...settings,
      DATABASE_URL: url,
    });
    expect(code, stderr).toBe(0);
  }
});
afterAll(async () => {
  await Promise.all([guided.close(), whole.close()]);
  await folder[Symbol.asyncDispose]();
});

const compare = async (here: TestDatabase, there: TestDatabase) => {
  await using other = await serveGraphql(there);
  const { code, stdout, stderr } = await runCommand(["compare", other.url, "--full", "--json"], {
    DATABASE_URL: here.url,
    HOLDERBOOK_COMPARE_KEY: other.key,
  });
  expect(stderr).toBe("");
  return { code, ...JSON.parse(stdout) };
};

test.each([
  ["from the guided one", () => compare(guided, whole)],
  ["from the whole one", () => compare(whole, guided)],
])("their registers and digests are identical, compared %s", async (_, run) => {
  expect(await run()).toMatchObject({ code: 0, missing: [], identical: true, differences: [] });
});

test("a difference between them is still named", async () => {
  await alterLog(
    whole,
    "update token_activity set amount = amount + 1 where ctid = (select min(ctid) from token_activity)",
  );
  const { code, differences } = await compare(guided, whole);
  expect(code).toBe(1);
  expect(differences.map(({ what }: { what: string }) => what)).toContain("tokenActivity");
});
