import { createPublicKey, randomBytes } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publicTextOf } from "../../client/ed25519.ts";
import { verifyBodySignature, verifyCallback } from "../../client/index.ts";
import { signatureHeaders } from "../../src/callbacks/deliver.ts";
import {
  IMMEDIATELY,
  NoSigningKeyError,
  openSigningKeys,
  RotationUnderWayError,
} from "../../src/callbacks/signing-keys.ts";
import { MasterKeyError, readMasterKey } from "../../src/sealing/master-key.ts";
import { SealedError, seal, unseal } from "../../src/sealing/sealed.ts";
import { runCommand } from "../commands/run-command.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";

const HOUR_MS = 3_600_000;

test("processes that start together make one key, and all sign with it", async () => {
  await using database = await freshDatabase({ max: 6 });
  const masterKey = randomBytes(32);
  const opened = await Promise.all(
    Array.from({ length: 5 }, () => openSigningKeys(database, masterKey)),
  );
  const shown = await Promise.all(opened.map((keys) => keys.publicKeys()));
  expect(new Set(shown.map((answer) => JSON.stringify(answer))).size).toBe(1);
  const [first] = shown;
  expect(first).toEqual({
    publicKey: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
    algorithm: "ed25519",
    keys: [
      {
        keyId: expect.stringMatching(/^cbk_[0-9a-f]{16}$/),
        publicKey: first?.publicKey,
        notBefore: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
        notAfter: null,
      },
    ],
  });
});

test("the secret half is stored sealed only, and another master key does not open it", async () => {
  await using database = await freshDatabase();
  const masterKey = randomBytes(32);
  const keys = await openSigningKeys(database, masterKey);
  const [secret] = await keys.current();
  const seed = Buffer.from(secret.export({ format: "jwk" }).d ?? "", "base64url");
  const [row] = await database.sql<{ text: string; sealed_secret: Uint8Array }[]>`
    select callback_keys::text as text, sealed_secret from callback_keys`;
  expect(row?.text).not.toContain(seed.toString("hex"));
  expect(Buffer.from(row?.sealed_secret ?? []).includes(seed)).toBe(false);
  await expect(openSigningKeys(database, randomBytes(32))).rejects.toThrow(SealedError);
});

test("a new key is announced, then signs beside the old one, then alone", async () => {
  await using database = await freshDatabase();
  const keys = await openSigningKeys(database, randomBytes(32));
  const before = await keys.publicKeys();
  const announced = await keys.rotate({ announceSeconds: 3_600, overlapSeconds: 7_200 });
  expect(announced.keys).toHaveLength(2);
  const [fresh, old] = announced.keys;
  expect(announced.publicKey).toBe(before.publicKey);
  expect(old).toMatchObject({ publicKey: before.publicKey, notAfter: expect.any(String) });
  expect(fresh?.notAfter).toBeNull();
  const overlap = Date.parse(old?.notAfter ?? "") - Date.parse(fresh?.notBefore ?? "");
  expect(Math.round(overlap / 1_000)).toBe(7_200);

  const signersAt = async (hours: number) => {
    const ring = await keys.current(new Date(Date.now() + hours * HOUR_MS));
    return ring.map((key) => publicTextOf(createPublicKey(key)));
  };
  expect(await signersAt(0.5)).toEqual([old?.publicKey]);
  expect(await signersAt(1.5)).toEqual([fresh?.publicKey, old?.publicKey]);
  expect(await signersAt(3.5)).toEqual([fresh?.publicKey]);
  await expect(keys.rotate()).rejects.toThrow(RotationUnderWayError);

  // While they overlap, a receiver that knows only one of the two verifies.
  const during = new Date(Date.now() + 1.5 * HOUR_MS);
  const message = { id: "evt_1", body: "{}" };
  const headers = signatureHeaders(await keys.current(during), message, during);
  for (const key of [fresh, old]) {
    const publicKeys = key?.publicKey ?? "";
    expect(verifyCallback({ headers, body: "{}", publicKeys, now: during }).id).toBe("evt_1");
  }
});

test("a receiver that reads the list once a day verifies both signatures throughout a rotation", async () => {
  await using database = await freshDatabase();
  const keys = await openSigningKeys(database, randomBytes(32));
  const before = (await keys.publicKeys()).keys.map(({ publicKey }) => publicKey);
  await keys.rotate();
  const rotatedAt = Date.now();
  for (let readAtHour = 0; readAtHour < 24; readAtHour += 4) {
    let known: readonly string[] = before;
    for (let hour = 1; hour <= 5 * 24; hour += 1) {
      const now = new Date(rotatedAt + hour * HOUR_MS);
      // Signed just before it reads again, with a day-old list.
      const ring = await keys.current(now);
      const message = { id: "evt_1", body: "{}" };
      const headers = signatureHeaders(ring, message, now);
      const publicKeys = [...known];
      const signature = headers["x-request-sig-b64"] ?? "";
      const plain = () => verifyBodySignature({ body: "{}", signature, publicKeys });
      expect(plain, `hour ${hour}, when the list is read at ${readAtHour}:00`).not.toThrow();
      expect(verifyCallback({ headers, body: "{}", publicKeys, now }).id).toBe("evt_1");
      if (hour % 24 === readAtHour) {
        known = (await keys.publicKeys(now)).keys.map(({ publicKey }) => publicKey);
      }
    }
    expect(known).not.toEqual(before);
  }
});

test("from the command line: running processes follow a gradual rotation and an immediate one", async () => {
  await using database = await freshDatabase();
  const masterKey = randomBytes(32);
  const settings = {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
  };
  const running = await openSigningKeys(database, masterKey);
  const { publicKey: first } = await running.publicKeys();
  const rotate = (...options: readonly string[]) =>
    runCommand(["callbacks", "rotate", ...options], settings);

  const announced = await rotate();
  expect(announced.code, announced.stderr).toBe(0);
  expect(announced.stderr).toMatch(/^key cbk_\w+ is announced and signs from 20.* on; cbk_\w+ /);
  const listed = await until(
    "the announced key in the other process's list",
    () => running.publicKeys(),
    ({ keys }) => keys.length === 2,
    10_000,
  );
  expect(listed).toEqual(JSON.parse(announced.stdout));
  expect(listed.publicKey).toBe(first);
  const again = await rotate();
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("RotationUnderWayError")]);

  const replaced = await rotate("--now");
  expect(replaced.code, replaced.stderr).toBe(0);
  const alone = await until(
    "the new key alone in the other process's list",
    () => running.publicKeys(),
    ({ keys }) => keys.length === 1,
    10_000,
  );
  expect(alone).toEqual(JSON.parse(replaced.stdout));
  expect(await running.current()).toHaveLength(1);
  expect(alone.publicKey).not.toBe(first);
}, 240_000);

test("keys whose master key is lost are named at start, and replaced only on request", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await openSigningKeys(database, randomBytes(32));
  const settings = { DATABASE_URL: database.url, DATA_DIR: join(folder.path, "data") };
  const rotate = (...options: readonly string[]) =>
    runCommand(["callbacks", "rotate", ...options], settings);
  const started = await runCommand(["start"], { ...settings, PORT: "0", DEMO_HISTORY: "10" });
  expect(started.code).toBe(2);
  expect(started.stderr).toMatch(/SealedError: callback signing key cbk_.*CALLBACK_MASTER_KEY/);
  await rm(join(folder.path, "data"), { recursive: true, force: true });

  // No key of its own making: that one would seal what no other process opens.
  expect(await rotate("--now")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("there is no"),
  });
  expect((await rotate("--lost-master-key")).code).toBe(2);
  const replaced = await rotate("--now", "--lost-master-key");
  expect(replaced.code, replaced.stderr).toBe(0);
  expect(JSON.parse(replaced.stdout).keys).toHaveLength(1);
  const file = join(folder.path, "data", "callback-master-key");
  const keys = await openSigningKeys(database, await readMasterKey({ file, existing: true }));
  expect(await keys.current()).toHaveLength(1);
}, 240_000);

test("a compromised key is replaced at once and delisted", async () => {
  await using database = await freshDatabase();
  const keys = await openSigningKeys(database, randomBytes(32));
  const before = await keys.publicKeys();
  await keys.rotate();
  const after = await keys.rotate(IMMEDIATELY);
  expect(after.keys).toHaveLength(1);
  expect(after.publicKey).not.toBe(before.publicKey);
  expect(await keys.current()).toHaveLength(1);
});

test("a clock behind the database's still finds the key; a table without valid keys is named", async () => {
  await using database = await freshDatabase();
  const masterKey = randomBytes(32);
  const keys = await openSigningKeys(database, masterKey);
  expect(await keys.current(new Date(Date.now() - HOUR_MS))).toHaveLength(1);
  await database.sql`update callback_keys set not_after = now() + interval '1 hour'`;
  const limited = await openSigningKeys(database, masterKey);
  await expect(limited.current(new Date(Date.now() + 2 * HOUR_MS))).rejects.toThrow(
    NoSigningKeyError,
  );
});

test("a sealed value opens with its key and its row only, and not after a bit has changed", () => {
  const masterKey = randomBytes(32);
  const secret = Buffer.from("the secret");
  const sealed = Buffer.from(seal(masterKey, "row a", secret));
  expect(Buffer.from(unseal(masterKey, "row a", sealed))).toEqual(secret);
  expect(Buffer.from(seal(masterKey, "row a", secret))).not.toEqual(sealed);
  expect(() => unseal(masterKey, "row b", sealed)).toThrow(SealedError);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => unseal(masterKey, "row a", changed)).toThrow(SealedError);
  }
  expect(() => unseal(masterKey, "row a", sealed.subarray(0, 20))).toThrow(SealedError);
});

test("the master key's file is made once, for its owner only, and refused when others can read it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-key-"));
  try {
    const file = join(folder, "data", "callback-master.key");
    const made = await Promise.all(Array.from({ length: 8 }, () => readMasterKey({ file })));
    expect(new Set(made.map((key) => Buffer.from(key).toString("hex"))).size).toBe(1);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = (await readFile(file, "utf8")).trim();
    expect(Buffer.from(await readMasterKey({ configured: text, file: "/nowhere" }))).toEqual(
      Buffer.from(made[0] ?? []),
    );
    await chmod(file, 0o644);
    await expect(readMasterKey({ file })).rejects.toThrow(MasterKeyError);
    await expect(readMasterKey({ file })).rejects.toThrow(`chmod 600 ${file}`);
    const short = readMasterKey({ configured: "c2hvcnQ=", file });
    await expect(short).rejects.toThrow("must be base64 of 32 bytes");
    await expect(short).rejects.not.toThrow("c2hvcnQ=");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
