// @module-tag thorough
/** The steps of "Archive" in `docs/how-to/operations.md`, with two database roles on both sides. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { manifestIn } from "../archive/forging.ts";
import { runCommand } from "../commands/run-command.ts";
import { type Settings, temporaryFolder } from "../service/process.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";
import { stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

const LAUNCHER = fileURLToPath(new URL("../../bin/holderbook.mjs", import.meta.url));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let former: TwoRoles;
let next: TwoRoles;
let ledger: string;
let settings: Settings;

beforeAll(async () => {
  folder = await temporaryFolder();
  [former, next] = await Promise.all([
    twoRoles(inject("postgresUrl")),
    twoRoles(inject("postgresUrl")),
  ]);
  ledger = join(folder.path, "ledger");
  const committee = join(folder.path, "committee.json");
  const { packages } = await writeDemoLedger({
    ...{ dir: ledger, checkpoints: 125, seed: 3, format: "binpb", epochLength: 40 },
  });
  await rename(join(ledger, "ledger.json"), committee);
  // What `npm run holderbook -- …` runs, in a folder that is not the project's.
  const programs = join(folder.path, "programs");
  await mkdir(programs);
  const npm = `#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "${process.execPath}" "${LAUNCHER}" "$@"\n`;
  await writeFile(join(programs, "npm"), npm);
  await chmod(join(programs, "npm"), 0o755);
  settings = {
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    LEDGER_SOURCE: `dir:${ledger}`,
    SECURITY_TOKEN_PACKAGES: packages[0] ?? "",
    VERIFY: "signatures",
    COMMITTEE_FILE: committee,
    DATA_DIR: join(folder.path, "data"),
    LOG_LEVEL: "warn",
    ARCHIVE: join(folder.path, "archive"),
    PATH: `${programs}:${process.env.PATH}`,
  };
});
afterAll(async () => {
  await next?.[Symbol.asyncDispose]();
  await former?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

const take = (step: readonly Step[], own: Settings, code = 0) =>
  typed(step, { settings: own, cwd: folder.path }, code);

const index = async (own: Settings, last: string) =>
  expect(await runCommand(["index", "--last", last], own)).toMatchObject({ code: 0 });

test("an operator exports every night, imports elsewhere, and replays without the ledger", async () => {
  const steps = await stepsOfSection("docs/how-to/operations.md", "Archive");
  const before = { ...settings, ...former.settings };
  await index(before, "108");
  const key = await openDeploymentKey(former.superuser, randomBytes(32));
  await signHead(former.superuser.sql, key);
  await take(steps.next("Export"), before);
  await index(before, "119");
  const appended = await take(steps.next("Append"), before);
  const ROOT = /"root":"([0-9a-f]{64})"/.exec(appended)?.[1] ?? "";

  await rename(ledger, `${ledger}-away`);
  const after = { ...settings, ...next.settings, ROOT };
  await take(steps.next("Verify"), { ...settings, ROOT });
  expect((await manifestIn(settings.ARCHIVE ?? "")).head?.keyId).toBe(key.keyId);
  await take(steps.next("Import"), after);
  const indexed = await take(steps.next("Index"), after);
  expect(indexed).toContain((await runCommand(["digest"], before)).stdout);
  await take(steps.next("Replay"), after, 3);

  await rename(`${ledger}-away`, ledger);
  expect(steps.next("Start").map(({ command }) => command)).toEqual(["npm start\n"]);
  await index(after, "124");
  await index(before, "124");
  expect(await runCommand(["digest"], after)).toEqual(await runCommand(["digest"], before));
  expect(steps.left()).toEqual([]);
}, 240_000);
