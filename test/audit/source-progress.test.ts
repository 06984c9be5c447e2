import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openKey, sealedKey } from "../../src/audit/sequence/deployment-key.ts";
import { keptReading } from "../../src/audit/verify/source-progress.ts";
import { temporaryFolder } from "../service/process.ts";

const OF = { chain: "4c78adac", first: "0", source: "dir:/ledger", verify: '"links"' };

test("a reading goes on from what the deployment's key signed, and begins again where a file was edited", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "reading.json");
  const master = randomBytes(32);
  const [key, other] = await Promise.all([1, 2].map(() => openKey(sealedKey(master), master)));
  if (key === undefined || other === undefined) throw new Error("no keys");
  const resumed = async (by = key) => (await keptReading(file, by, OF, 100n)).resumed;
  const found = {
    ...{ first: 0n, last: 60n, checkpoints: 61, facts: 7, signatures: 0, gaps: [] },
    faults: [{ checkpoint: 3n, what: "the log is not what the ledger says", facts: [] }],
  };
  expect(await resumed()).toBeNull();
  await (await keptReading(file, key, OF, 100n)).keep({ found, end: null });
  expect(await resumed()).toMatchObject({ found, end: null });
  expect(await resumed(other)).toBeNull();

  const text = await readFile(file, "utf8");
  for (const [was, is] of [
    ['\\"last\\":\\"60\\"', '\\"last\\":\\"99\\"'],
    ['\\"checkpoint\\":\\"3\\"', '\\"checkpoint\\":\\"4\\"'],
  ] as const) {
    expect(text).toContain(was);
    await writeFile(file, text.replace(was, is));
    expect(await resumed(), is).toBeNull();
  }
  // What a process was killed over.
  await writeFile(file, text.slice(0, text.length / 2));
  expect(await resumed()).toBeNull();
});
