import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";
import { startProgram, temporaryFolder } from "../service/process.ts";
import { piiAccesses } from "../ta/pii-accesses.ts";
import { bodyOf, submission } from "../ta/submissions.ts";
import { runCommand } from "./run-command.ts";

const ASSETS = {
  projects: [
    {
      name: "acme",
      tokens: [
        {
          name: "acme-sui",
          ledger: "sui",
          coinType: "0x5::acme::ACME",
          whitelistGroupId: 1,
          ta: { callbackUrl: "https://hooks.example/ta" },
        },
      ],
    },
  ],
};

/** `name: value` a line, as `ta sign` prints them. */
const headersIn = (printed: string): Record<string, string> =>
  Object.fromEntries(
    printed
      .trim()
      .split("\n")
      .map((line) => line.split(": ", 2)),
  );

test("from the command line: a key, a signature, an accepted request, new data keys, a deletion", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const at = (name: string) => join(folder.path, name);
  await writeFile(at("assets.json"), JSON.stringify(ASSETS));
  const oldKey = `old:${randomBytes(32).toString("base64")}`;
  const settings = {
    DATABASE_URL: database.url,
    DATA_DIR: at("data"),
    ASSETS_FILE: at("assets.json"),
    SECURITY_TOKEN_PACKAGES: "0x5",
    PORT: "0",
    PII_KEYS: oldKey,
  };
  const run = async (args: readonly string[], changes: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await runCommand(args, { ...settings, ...changes });
    expect(code, stderr).toBe(0);
    return stdout;
  };

  const create = ["keys", "create", "--kind", "ta", "--asset"];
  expect((await runCommand([...create, "acme-evm"], settings)).code).toBe(2);
  const pair = await run([...create, "acme-sui"]);
  expect(JSON.parse(pair)).toEqual({
    publicKey: expect.stringMatching(/^.{43}=$/),
    secretKey: expect.stringMatching(/^.{43}=$/),
  });
  const brought = randomBytes(32).toString("base64");
  const register = [...create, "acme-sui", "--public-key", brought];
  const registered = await runCommand(register, settings);
  expect(registered.stdout).toBe(`${brought}\n`);
  expect(registered.stderr).toContain("a body signed for\n/kyc is accepted at /whitelist");
  const twice = await runCommand(register, settings);
  expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("registered before")]);

  const body = JSON.stringify(bodyOf({ id: "by-hand" }), null, 2);
  await writeFile(at("key.json"), pair);
  await writeFile(at("body.json"), body);
  const headers = headersIn(await run(["ta", "sign", "--key", at("key.json"), at("body.json")]));

  await using serving = startProgram(["serve", "ta"], settings);
  const [, url] = await until(
    "the address it listens on",
    () => /"url":"(http[^"]+)"/.exec(serving.printed.stderr) ?? [],
    ([, found]) => found !== undefined,
    30_000,
  );
  const send = (path: string, init: RequestInit) => fetch(`${url}${path}`, init);
  const accepted = await send("/api/v1/investor/kyc", { method: "POST", body, headers });
  const { requestId } = JSON.parse(await accepted.text()) as { requestId: string };
  expect(accepted.status).toBe(201);
  const path = `/api/v1/requests/${requestId}`;
  const signed = headersIn(await run(["ta", "sign", "--key", at("key.json"), "--get", path]));
  expect((await send(path, { headers: signed })).status).toBe(200);

  const newKey = `new:${randomBytes(32).toString("base64")}`;
  const both = { PII_KEYS: `${newKey},${oldKey}` };
  const refused = async (args: readonly string[], changes: Record<string, string>) => {
    const { code, stdout, stderr } = await runCommand(args, { ...settings, ...changes });
    expect(stdout).toBe("");
    return { code, stderr };
  };
  expect(JSON.parse(await run(["pii", "rotate"], both))).toEqual({ rotated: 1 });
  expect(JSON.parse(await run(["pii", "rotate"], both))).toEqual({ rotated: 0 });
  const show = ["pii", "show", "--asset", "acme-sui", "--investor", "by-hand", "--reason"];
  expect(JSON.parse(await run([...show, "audit 12"], both))).toEqual({
    requestId,
    ...submission({ id: "by-hand" }),
    verifiedAt: expect.any(String),
  });
  expect((await refused([...show, " "], both)).code).toBe(2);
  expect((await refused(show.slice(0, -1), both)).code).toBe(2);
  expect(await piiAccesses(database)).toEqual([
    {
      request_id: requestId,
      action: "open",
      purpose: expect.stringMatching(/^command: pii show, by \S.*: audit 12$/),
    },
  ]);
  const whose = (asset: string) => ["--asset", asset, "--investor", "by-hand"];
  const remove = (asset: string) => ["pii", "delete", ...whose(asset), "--reason", "he asked"];
  expect((await refused(["pii", "delete", ...whose("acme-sui")], both)).code).toBe(2);
  expect((await refused([...remove("acme-sui").slice(0, -1), " "], both)).code).toBe(2);
  expect(await refused(remove("acme-siu"), both)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('those with "ta" are: acme-sui'),
  });
  const removed = await runCommand(remove("acme-sui"), { ...settings, ...both });
  expect(removed).toMatchObject({
    code: 0,
    stdout: '{"deleted":1}\n',
    stderr: expect.stringContaining("new Idempotency-Key"),
  });
  const accesses = await piiAccesses(database);
  expect(accesses.filter(({ action }) => action === "delete")).toEqual([
    {
      request_id: requestId,
      action: "delete",
      purpose: expect.stringMatching(/^command: pii delete, by \S.*: he asked$/),
    },
  ]);
  const replayed = await send("/api/v1/investor/kyc", { method: "POST", body, headers });
  expect([replayed.status, await replayed.json()]).toEqual([
    201,
    expect.objectContaining({ requestId }),
  ]);
  expect(await refused(remove("acme-sui"), both)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("acme-sui has no data of this investor"),
  });
  expect(await refused([...show, "audit 13"], both)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("acme-sui has no data of this investor"),
  });
  expect(await refused(["pii", "rotate"], both)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("holds no data of investors"),
  });
  expect((await send(path, { headers: signed })).status).toBe(200);
  expect(serving.printed.stderr).not.toMatch(/by-hand|Muster|grete/);
}, 240_000);

test("from the command line: a key gets its own callback address, another one, and none", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const file = join(folder.path, "assets.json");
  await writeFile(file, JSON.stringify(ASSETS));
  const settings = {
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    ASSETS_FILE: file,
  };
  const keys = (...args: readonly string[]) => runCommand(["keys", ...args], settings);
  const create = (url: string) =>
    keys("create", "--kind", "ta", "--asset", "acme-sui", "--callback-url", url);
  const newest = async () => {
    const { stdout } = await keys("list");
    const { id, callbackUrl }: { id: string; callbackUrl: string | null } = JSON.parse(stdout);
    return { id, callbackUrl };
  };
  expect(await create("https://hooks.example/results")).toMatchObject({ code: 0 });
  const { id, callbackUrl } = await newest();
  expect(callbackUrl).toBe("https://hooks.example/results");
  const outcomes = await Promise.all([
    create("http://hooks.example/results"),
    create("https://127.0.0.1/results"),
    keys("create", "--kind", "graphql", "--callback-url", "https://hooks.example/"),
    keys("callback-url", id),
    keys("callback-url", "key_none", "https://hooks.example/"),
  ]);
  const reasons = ["must begin with https://", "not public", "--kind ta", "--remove", "key_none"];
  expect(outcomes.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    reasons.map((why) => ({ code: 2, stderr: expect.stringContaining(why) })),
  );
  expect(await keys("callback-url", id, "https://hooks.example/2")).toMatchObject({ code: 0 });
  expect(await newest()).toEqual({ id, callbackUrl: "https://hooks.example/2" });
  expect(await keys("callback-url", id, "--remove")).toMatchObject({ code: 0 });
  expect(await newest()).toEqual({ id, callbackUrl: null });
}, 240_000);

test("from the command line: a key that accepts bound signatures only, and requests signed for it", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const at = (name: string) => join(folder.path, name);
  await writeFile(at("assets.json"), JSON.stringify(ASSETS));
  const settings = {
    DATABASE_URL: database.url,
    DATA_DIR: at("data"),
    ASSETS_FILE: at("assets.json"),
    SECURITY_TOKEN_PACKAGES: "0x5",
    PORT: "0",
  };
  const run = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await runCommand(args, settings);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const create = ["keys", "create", "--kind", "ta", "--asset", "acme-sui", "--require-bound"];
  const created = await runCommand(create, settings);
  expect(created.stderr).toMatch(/^key key_.*\nit accepts bound signatures only: .*\n$/);
  await writeFile(at("key.json"), created.stdout);
  expect(JSON.parse(await run(["keys", "list"]))).toMatchObject({ requireBound: true });
  const foreign = ["keys", "create", "--kind", "graphql", "--require-bound"];
  expect((await runCommand(foreign, settings)).code).toBe(2);

  const body = JSON.stringify(bodyOf({ id: "bound-by-hand" }), null, 2);
  await writeFile(at("body.json"), body);
  const path = "/api/v1/investor/kyc";
  const sign = ["ta", "sign", "--key", at("key.json")];
  for (const wrong of [
    ["--post", path],
    ["--post", path, "--get", path],
    ["--post", "kyc", at("body.json")],
    ["--idempotency-key", "k", at("body.json")],
  ]) {
    expect((await runCommand([...sign, ...wrong], settings)).code, wrong.join(" ")).toBe(2);
  }
  const keyed = ["--post", path, "--idempotency-key", "by-hand"];
  const headers = headersIn(await run([...sign, ...keyed, at("body.json")]));
  const alone = headersIn(await run([...sign, at("body.json")]));

  await using serving = startProgram(["serve", "ta"], settings);
  const [, url] = await until(
    "the address it listens on",
    () => /"url":"(http[^"]+)"/.exec(serving.printed.stderr) ?? [],
    ([, found]) => found !== undefined,
    30_000,
  );
  const post = (to: string, signed: Record<string, string>) =>
    fetch(`${url}${to}`, { method: "POST", body, headers: signed });
  expect(headers["idempotency-key"]).toBe("by-hand");
  expect((await post("/api/v1/investor/whitelist", headers)).status).toBe(401);
  expect((await post(path, alone)).status).toBe(401);
  expect((await post(path, headers)).status).toBe(201);
}, 120_000);
