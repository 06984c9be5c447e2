import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { openLedger } from "../../src/service/ledger-source.ts";
import { ConfigError } from "../../src/settings/config-error.ts";
import { readConfig } from "../../src/settings/read-config.ts";

/** Opens a folder whose `ledger.json` names these packages. */
const packagesOf = async (packages: readonly string[]) => {
  const folder = await mkdtemp(join(tmpdir(), "ledger-"));
  const ledger = { chainId: "chain-a", packages, coinTypes: [], firstCheckpoint: 0 };
  await writeFile(join(folder, "ledger.json"), JSON.stringify(ledger));
  try {
    const opened = await openLedger(
      readConfig({ LEDGER_SOURCE: `dir:${folder}` }),
      pino({ level: "silent" }),
    );
    await opened.source.close();
    return opened.packages;
  } finally {
    await rm(folder, { recursive: true });
  }
};

test("packages in a folder's ledger.json may be short and in any letter case", async () => {
  expect(await packagesOf(["0xAB", "0X5ec"])).toEqual([
    `0x${"ab".padStart(64, "0")}`,
    `0x${"5ec".padStart(64, "0")}`,
  ]);
  await expect(packagesOf(["acme"])).rejects.toThrow(ConfigError);
});
