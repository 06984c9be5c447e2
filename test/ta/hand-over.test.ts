/** Replacing a key from the command line: what the former one asked for is handed to a key that is named. */
import { expect, test } from "vitest";
import { listKeys, registerPublicKey } from "../../src/http/keys.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";

test("from the command line: a key is revoked and handed over, also after it was revoked", async () => {
  await using database = await freshDatabase();
  const key = async (publicKey: string, asset: string) =>
    (await registerPublicKey(database, { publicKey, asset }))?.id ?? "";
  const [former, present] = [await key("former", "acme"), await key("present", "acme")];
  const stranger = await key("stranger", "other");
  const revoke = (...args: readonly string[]) =>
    runCommand(["keys", "revoke", ...args], { DATABASE_URL: database.url });
  const keyNow = async (id: string) => (await listKeys(database)).find((each) => each.id === id);

  expect(await revoke(former, "--to", stranger)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("for one asset"),
  });
  expect(await keyNow(former)).toMatchObject({ revokedAt: null, handedTo: null });
  expect((await revoke(former)).code).toBe(0);
  const revoked = await keyNow(former);
  expect(revoked).toMatchObject({ revokedAt: expect.any(String), handedTo: null });
  expect(await revoke(former, "--to", present)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`its requests belong to ${present}`),
  });
  expect(await keyNow(former)).toEqual({ ...revoked, handedTo: present });
  expect(await keyNow(present)).toMatchObject({ revokedAt: null });
}, 120_000);
