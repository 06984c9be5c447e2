import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { runProgram, temporaryFolder } from "../service/process.ts";

const LINE =
  /^holderbook: ConfigError: DATA_DIR: cannot write to (\S+) \(.+\); name a folder that this user may write to\n$/;

/** Nothing can be made in any of them, by root either; some only Linux has. */
const unusable = (file: string) => [
  file,
  join(file, "below"),
  ...(process.platform === "linux" ? ["/proc/holderbook/data", "/proc/self"] : []),
];

test("an unwritable DATA_DIR is one line that names it, with code 2, immediately", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");
  const settings = { DEMO_HISTORY: "10", PORT: "0", LOG_LEVEL: "warn" };
  for (const dataDir of unusable(file)) {
    for (const [command, run] of [
      // A start is two processes: what either prints by itself would show here.
      ["start", dataDir === file ? runProgram : runCommand] as const,
      ["migrate", runCommand] as const,
    ]) {
      const { code, stdout, stderr } = await run([command], { ...settings, DATA_DIR: dataDir });
      expect({ dataDir, code, stdout, stderr }).toEqual({
        dataDir,
        code: 2,
        stdout: "",
        stderr: expect.stringMatching(LINE),
      });
      expect(LINE.exec(stderr)?.[1]).toBe(dataDir);
    }
  }
}, 240_000);

test("the same holds if only the keys would be stored in it", async () => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");
  const { code, stderr } = await runCommand(["start"], {
    DATABASE_URL: database.url,
    DATA_DIR: join(file, "below"),
    LEDGER_SOURCE: `dir:${folder.path}`,
    SECURITY_TOKEN_PACKAGES: "0x1",
    LOG_LEVEL: "warn",
    PORT: "0",
  });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(LINE) });
}, 120_000);
