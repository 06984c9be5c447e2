/** A key of the investors' data that is gone: processes say so when they start, not years later. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { openVault } from "../../src/ta/pii/vault.ts";
import { createAcceptance } from "../../src/ta/requests/accept.ts";
import { fingerprints } from "../../src/ta/requests/fingerprint.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { runProgram, temporaryFolder } from "../service/process.ts";
import { submission } from "./submissions.ts";

test("without the key of stored data nothing starts, until it is back or its data are deleted", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const old = { id: "old", key: randomBytes(32) };
  const vault = openVault(database, ringOf([old]));
  const accept = createAcceptance({ database, vault });
  const canonicalBody = Buffer.from("{}");
  const asked = { keyId: "key_1", path: "/", canonicalBody, idempotencyKey: undefined };
  await accept({
    asset: "demo-a",
    kind: "kyc",
    submission: submission(),
    fingerprint: fingerprints(randomBytes(32))(asked),
  });

  const written = ({ id, key }: typeof old) => `${id}:${key.toString("base64")}`;
  const newKey = written({ id: "new", key: randomBytes(32) });
  const settings = (piiKeys: string) => ({
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "10",
    PORT: "0",
    PII_KEYS: piiKeys,
  });
  const run = (args: readonly string[], piiKeys: string) => runCommand(args, settings(piiKeys));
  const refuses = async (
    args: readonly string[],
    piiKeys: string,
    words: string,
    runs: typeof runProgram = runCommand,
  ) => {
    const { code, stdout, stderr } = await runs(args, settings(piiKeys));
    expect({ args, code, stdout }, stderr).toEqual({ args, code: 2, stdout: "" });
    expect(stderr).toContain(`PiiKeyLostError: investors' data are sealed with ${words}`);
    expect(stderr).toContain("holderbook pii delete --lost-key old");
  };
  const lacking = "key old, which PII_KEYS lacks";
  // `start` starts a second process, whose output `runCommand` would not capture.
  await refuses(["start"], newKey, lacking, runProgram);
  await refuses(["index"], newKey, lacking);
  await refuses(["serve", "ta"], newKey, lacking);
  await refuses(["pii", "rotate"], newKey, lacking);
  await refuses(
    ["serve"],
    written({ id: "old", key: randomBytes(32) }),
    "another key than the one that is named old here",
  );

  const lost = ["pii", "delete", "--lost-key", "old", "--reason", "the disk is gone"];
  const present = await run(lost, `${newKey},${written(old)}`);
  expect([present.code, present.stderr]).toEqual([1, expect.stringContaining("is not lost")]);
  expect(await run(lost, newKey)).toMatchObject({ code: 0, stdout: '{"deleted":1}\n' });
  const accesses = await database.sql`select action, purpose from ta_pii_accesses`;
  expect([...accesses]).toEqual([
    {
      action: "delete",
      purpose: expect.stringMatching(/^command: pii delete --lost-key, by \S.*: the disk is gone$/),
    },
  ]);
  expect((await run(["pii", "rotate"], newKey)).stderr).toContain("holds no data of investors");
}, 240_000);
