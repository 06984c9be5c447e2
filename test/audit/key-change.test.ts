/** One deployment key after another, as the sequence says it. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifySequence } from "../../client/verify-sequence.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { publishRoot, publishRoot2 } from "../../src/audit/sequence/published-roots.ts";
import { appendEntry, SequenceKeyError } from "../../src/audit/sequence/sequence.ts";
import { openLog } from "../../src/log/log.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { entriesOf, sequenceFaults } from "./sequence-entries.ts";

let database: TestDatabase;
const masterKey = randomBytes(32);

const root = {
  chainId: "chain-a",
  coinType: `0x${"5".padStart(64, "0")}::acme::ACME`,
  checkpoint: "7",
  checkpointDigest: "digest 7",
  root: "ab".repeat(32),
  total: "1000",
};
const root2 = { ...root, decimals: 6, checkpointTimestampMs: "1700000000123" };

beforeAll(async () => {
  database = await freshDatabase();
  await openLog(database, { chainId: "chain-a", packages: ["0x5"], firstCheckpoint: 0n });
});
afterAll(() => database.close());

const open = () => openDeploymentKey(database, masterKey);

const publish = (key: Awaited<ReturnType<typeof open>>) =>
  database.transaction(async ({ sql }) => {
    await publishRoot(sql, key, root);
    return publishRoot2(sql, key, root2);
  });

const faults = () => sequenceFaults(database.sql);

test("a new key is named by the one before it and signs from then on; the sequence verifies for anyone who knows the first key", async () => {
  const first = await open();
  const published = await publish(first);
  const ran = await runCommand(["keys", "rotate"], {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
  });
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("Restart the processes") });
  const second = await open();
  expect(second.keyId).not.toBe(first.keyId);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    kind: "key",
    keyId: first.keyId,
    body: { keyId: second.keyId, publicKey: second.publicKey },
  });

  // The same root, for statements that the new key signs.
  const again = await publish(second);
  expect(again).toMatchObject({ body: published.body, keyId: second.keyId });
  expect(await publish(second)).toEqual(again);
  expect(await faults()).toEqual([]);
  const entries = await entriesOf(database.sql);
  const { publicKey } = first;
  expect(await verifySequence(entries, { publicKey })).toMatchObject({
    whole: true,
    publicKey: second.publicKey,
  });
  // A process that has the key before.
  await expect(
    database.transaction(({ sql }) => appendEntry(sql, first, "correction", { of: "nothing" })),
  ).rejects.toThrow(`continues with the key ${second.keyId}, but this process signs with`);
});

test("a key inserted into the table by hand signs nothing in the sequence", async () => {
  await using other = await freshDatabase();
  const foreign = await openDeploymentKey(other, masterKey);
  const [row] = await other.sql<{ sealed: Buffer }[]>`
    select sealed_secret as sealed from deployment_keys`;
  await database.sql`
    insert into deployment_keys (key_id, public_key, sealed_secret, made_at)
    values (${foreign.keyId}, ${foreign.publicKey}, ${row?.sealed ?? Buffer.alloc(0)}, now() + interval '1 day')`;
  const key = await open();
  expect(key.keyId).toBe(foreign.keyId);
  const before = await entriesOf(database.sql);
  await expect(publish(key)).rejects.toThrow(SequenceKeyError);
  expect(await entriesOf(database.sql)).toEqual(before);
});
