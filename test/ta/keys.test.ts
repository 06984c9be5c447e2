import { randomBytes } from "node:crypto";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generateKeyPair } from "../../client/index.ts";
import { findKey, listKeys } from "../../src/http/keys.ts";
import { checkedAssets } from "../../src/service/checked-assets.ts";
import type { EvmToken } from "../../src/settings/assets.ts";
import { PiiKeysError, readPiiKeys } from "../../src/ta/pii/pii-keys.ts";
import { canonicalWallet, taAssets } from "../../src/ta/requests/asset.ts";
import { PublicKeyRefusedError, registerKey } from "../../src/ta/requests/caller-keys.ts";
import { countryCodes } from "../../src/ta/requests/investor.ts";
import { evmAsset } from "../evm/asset.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";

const secret = () => randomBytes(32).toString("base64");

test("the first configured data key seals, the others are found by name", async () => {
  const [a, b] = [secret(), secret()];
  const keys = await readPiiKeys({ configured: `b:${b}, a:${a}`, file: "/none" });
  expect(keys.current.id).toBe("b");
  expect(Buffer.from(keys.find("a")?.key ?? "").toString("base64")).toBe(a);
  expect(keys.find("c")).toBe(undefined);
});

test("unusable data keys are refused without being shown", async () => {
  const key = secret();
  for (const configured of [
    key,
    `a:${key.slice(4)}`,
    `a:${key},a:${secret()}`,
    `:${key}`,
    `a b:${key}`,
  ]) {
    const failure = await readPiiKeys({ configured, file: "/none" }).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(PiiKeysError);
    expect(String(failure)).not.toContain(key.slice(4, 20));
  }
});

test("without configured data keys one is made in a file that only its owner can read, and kept", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data", "pii-key");
  const [one, two] = [await readPiiKeys({ file }), await readPiiKeys({ file })];
  expect(two.current).toEqual(one.current);
  expect((await stat(file)).mode & 0o077).toBe(0);
});

test("a public key is registered once, in the form in which it is presented", async () => {
  await using database = await freshDatabase();
  const { publicKey } = generateKeyPair();
  const key = await registerKey(database, { asset: "acme", publicKey: `whpk_${publicKey}` });
  expect(key).toMatchObject({ publicKey, secretKey: undefined });
  expect(await findKey(database, publicKey)).toMatchObject({ kind: "ta", subject: "acme" });
  await expect(registerKey(database, { asset: "other", publicKey })).rejects.toThrow(
    "registered before",
  );
  const made = await registerKey(database, { asset: "acme", label: "back office" });
  expect(made.secretKey).toMatch(/^.{43}=$/);
  expect(JSON.stringify(await listKeys(database))).not.toContain(made.secretKey ?? "");
});

test("an invalid public key, or one that anyone can sign for, is not registered", async () => {
  await using database = await freshDatabase();
  const points = [
    Buffer.alloc(32),
    Buffer.alloc(32).fill(1, 0, 1),
    Buffer.from(`ec${"ff".repeat(30)}7f`, "hex"),
  ];
  for (const publicKey of ["", "AAAA", ...points.map((point) => point.toString("base64"))]) {
    const registered = registerKey(database, { asset: "acme", publicKey });
    await expect(registered, publicKey).rejects.toThrow(PublicKeyRefusedError);
  }
});

test("an asset is served when it says where results go; it must name the group, too", () => {
  const token = (members: object) => ({
    projects: [
      {
        name: "p",
        tokens: [{ name: "t", ledger: "sui" as const, coinType: "0x5::a::A", ...members }],
      },
    ],
  });
  const ta = { callbackUrl: "https://hooks.example/ta" };
  expect(taAssets(token({})).size).toBe(0);
  expect(taAssets(token({ ta, whitelistGroupId: 3 })).get("t")).toMatchObject({
    project: "p",
    whitelistGroupId: 3,
    coinType: `0x${"5".padStart(64, "0")}::a::A`,
  });
  expect(() => taAssets(token({ ta }))).toThrow("whitelistGroupId");
});

test("an assets file with an agent for a token without transfer groups is refused by `assets check`", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "assets.json");
  const ta = { callbackUrl: "https://hooks.example/ta" };
  const callbacks = { allowPrivate: false, ports: [443] };
  const chain = { chainId: 1, rpc: ["https://rpc.example/"] };
  const check = async (type: EvmToken["type"]) => {
    const address = `0x${"5e".repeat(20)}` as const;
    const token = evmAsset({ ...chain, address, type, whitelistGroupId: 1, ta });
    await writeFile(path, JSON.stringify({ projects: [{ name: "p", tokens: [token] }] }));
    return checkedAssets({ assetsFile: path, callbacks });
  };
  for (const type of ["comakery_security_token_v1", "comakery_security_token_v5"] as const) {
    await expect(check(type)).rejects.toThrow(`type ${type} have no transfer groups`);
  }
  expect(taAssets(await check("comakery_security_token_v2")).size).toBe(1);
});

test("wallets have one form per ledger", () => {
  const checksummed = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
  expect(canonicalWallet("sui", "0xAB")).toBe(`0x${"ab".padStart(64, "0")}`);
  expect(canonicalWallet("sui", "0x")).toBe(undefined);
  expect(canonicalWallet("sui", "ab")).toBe(undefined);
  expect(canonicalWallet("sui", "0X1f")).toBe(undefined);
  expect(canonicalWallet("evm", checksummed)).toBe(checksummed.toLowerCase());
  expect(canonicalWallet("evm", checksummed.toUpperCase().replace("0X", "0x"))).toBe(
    checksummed.toLowerCase(),
  );
  expect(canonicalWallet("evm", checksummed.replace("fB", "Fb"))).toBe(undefined);
  expect(canonicalWallet("evm", "0xab")).toBe(undefined);
});

test("country codes are the 249 assigned ones", () => {
  expect(countryCodes.size).toBe(249);
  for (const code of ["AT", "US", "XK", "UK", "EU"]) {
    expect(countryCodes.has(code), code).toBe(code === "AT" || code === "US");
  }
});
