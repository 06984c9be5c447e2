/** What `holderbook doctor` says of deployments that have what they need, and of those that lack something. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { checkDatabase } from "../../../src/commands/doctor/database.ts";
import { connect, type Database } from "../../../src/database/connect.ts";
import { revokeKey } from "../../../src/http/keys.ts";
import { tokenProgress } from "../../../src/projections/balance-progress.ts";
import { registerKey } from "../../../src/ta/requests/caller-keys.ts";
import { startSigner, TOKEN } from "../../audit/signers.ts";
import { ageSource } from "../../log/damage.ts";
import { freshDatabase } from "../../postgres.ts";
import { setHeld, setNoneHeld } from "../../projections/set-watermark.ts";
import { temporaryFolder } from "../../service/process.ts";
import { forgetHolds, holdToken } from "../../transfers/damage.ts";
import { runCommand } from "../run-command.ts";

const report = z.object({
  ok: z.boolean(),
  findings: z.array(
    z.object({
      check: z.string(),
      state: z.enum(["ok", "warn", "fail"]),
      says: z.string(),
      remedy: z.string().optional(),
    }),
  ),
});

type Settings = Readonly<Record<string, string>>;

/** Findings as lines, and the code it ended with. */
const examined = async (only: string, settings: Settings) => {
  const args = ["doctor", "--json", "--only", only];
  const { code, stdout, stderr } = await runCommand(args, settings);
  expect(stderr).toBe("");
  const { findings, ok } = report.parse(JSON.parse(stdout));
  expect({ code, ok }).toEqual(code === 0 ? { code: 0, ok: true } : { code: 1, ok: false });
  // Whatever is wrong comes with what to do.
  for (const { state, remedy } of findings) expect(remedy !== undefined).toBe(state !== "ok");
  return { code, lines: findings.map(({ check, state, says }) => `${state} ${check}: ${says}`) };
};

/** A ledger in files, read into a database, with a key for callers. */
const deployment = async () => {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const database = stack.use(await freshDatabase());
  const write = (name: string, seed: string) =>
    runCommand(
      ["demo", "write", "--dir", join(folder.path, name), "--checkpoints", "40", "--seed", seed],
      {},
    );
  await write("ledger", "5");
  await write("other", "6");
  const settings = {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: `dir:${join(folder.path, "ledger")}`,
    DATA_DIR: join(folder.path, "data"),
    PORT: "0",
  };
  expect((await runCommand(["index", "--last", "39"], settings)).code).toBe(0);
  return {
    folder: folder.path,
    database,
    settings,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};

/** A server on a free port of loopback. */
const serverOf = async (server: Server) => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const { port } = typeof address === "object" && address !== null ? address : { port: 0 };
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
};

const httpServer = (answer: RequestListener) => serverOf(createServer(answer));

test("a complete deployment passes, and nothing in it changes", async () => {
  await using made = await deployment();
  await runCommand(["keys", "create", "--kind", "graphql"], made.settings);
  const rotated = await runCommand(["callbacks", "rotate"], made.settings);
  expect(rotated.stderr).toContain("there is no");
  const before = await readdir(made.folder, { recursive: true });
  // Told are the test server's fsync, which is off, and that one role does everything.
  const { code, lines } = await examined(
    "settings,disk,database,migrations,clock,source,keys,evm,redis,transfer-agent,port",
    made.settings,
  );
  expect({ code, wrong: lines.filter((line) => !/^ok|fsync|bind/.test(line)) }).toEqual({
    code: 0,
    wrong: [],
  });
  expect(lines).toContain("ok source: the log is of the same chain");
  expect(lines).toContain("ok keys: valid keys of callers: 1 graphql");
  expect(await readdir(made.folder, { recursive: true })).toEqual(before);
});

test("a session with JIT turned on against our setting, as behind some poolers, is named", async () => {
  await using made = await freshDatabase();
  const compiling = { url: made.url, max: 2, applicationName: "doctor", runtime: { jit: "on" } };
  await using database = connect(compiling);
  const config = { databaseUrl: made.url, databaseOwnerUrl: undefined, databasePool: 2 };
  const found = async (looked: Database) =>
    (await checkDatabase(looked, config)).filter(({ says }) => says.startsWith("jit is on"));
  expect(await found(database)).toMatchObject([
    { state: "warn", remedy: expect.stringContaining("alter role") },
  ]);
  expect(await found(made)).toEqual([]);
});

test("a source of another chain fails, naming both chains", async () => {
  await using made = await deployment();
  const LEDGER_SOURCE = `dir:${join(made.folder, "other")}`;
  const { code, lines } = await examined("source", { ...made.settings, LEDGER_SOURCE });
  expect(code).toBe(1);
  const chain = async (name: string) =>
    z
      .object({ chainId: z.string() })
      .parse(JSON.parse(await readFile(join(made.folder, name, "ledger.json"), "utf8"))).chainId;
  expect(lines).toContainEqual(
    expect.stringContaining(
      `fail source: the log is of chain ${await chain("ledger")}, but the source reads chain ${await chain("other")}; `,
    ),
  );

  // A folder that cannot tell its chain, first of several.
  const unnamed = join(made.folder, "unnamed");
  await cp(join(made.folder, "ledger"), unnamed, { recursive: true });
  await rm(join(unnamed, "ledger.json"));
  const listed = (...names: string[]) =>
    examined("source", {
      ...made.settings,
      LEDGER_SOURCE: names.map((name) => `dir:${join(made.folder, name)}`).join(" "),
    });
  expect((await listed("unnamed", "ledger")).code).toBe(0);
  const ofTwo = await listed("unnamed", "ledger", "other");
  expect(ofTwo.lines.filter((line) => line.startsWith("fail"))).toEqual([
    expect.stringMatching(/ledger is of chain .*, and .*other of chain .*: LEDGER_SOURCE lists/),
  ]);
  const wrong = await listed("unnamed", "other");
  expect(wrong.lines.join()).toMatch(/fail source: the log is of chain/);
});

const EVM_TOKEN = "00000000000000000000000000000000000000aa";

const HELD_EVM_TOKEN = `warn indexing: 43113:0x${EVM_TOKEN} is in quarantine in transfer_events acme from block 6 on: no well-formed Transfer`;

test("tokens in quarantine are warnings with their first missing checkpoint or block until the release, whether or not a process reads", async () => {
  await using made = await deployment();
  const { database, settings } = made;
  const findings = async () => {
    const { code, lines } = await examined("indexing", settings);
    expect(code).toBe(0);
    return lines;
  };
  const table = tokenProgress.watermark;
  await setHeld(database, table, "0x2::acme::ACME", {
    from: 30n,
    reason: "cannot read the object",
  });
  await holdToken(database, EVM_TOKEN);
  const held = [
    "warn indexing: 0x2::acme::ACME is in quarantine in shared_token_objects from checkpoint 30 on: cannot read the object",
    HELD_EVM_TOKEN,
  ];
  const reads = expect.stringMatching(/^ok indexing: a process reads /);
  expect(await findings()).toEqual([...held, reads]);
  await ageSource(database);
  const stopped = expect.stringMatching(/^warn indexing: no process reads the ledger/);
  expect(await findings()).toEqual([...held, stopped]);
  await setNoneHeld(database, table);
  await forgetHolds(database);
  expect(await findings()).toEqual([stopped]);
});

test("an EVM token in quarantine is a warning where no ledger was ever read", async () => {
  await using database = await freshDatabase();
  await holdToken(database, EVM_TOKEN);
  const { lines } = await examined("indexing", { DATABASE_URL: database.url });
  expect(lines).toEqual([HELD_EVM_TOKEN, "warn indexing: nothing has been read yet"]);
});

test("a master key that opens nothing fails, without showing a key", async () => {
  await using made = await deployment();
  const key = () => randomBytes(32).toString("base64");
  const right = { ...made.settings, CALLBACK_MASTER_KEY: key() };
  const made2 = await runCommand(["callbacks", "rotate", "--now", "--lost-master-key"], right);
  expect(made2.code, made2.stderr).toBe(0);
  const wrong = { ...made.settings, CALLBACK_MASTER_KEY: key() };
  expect((await examined("keys", right)).code).toBe(0);
  const { code, lines } = await examined("keys", wrong);
  expect(code).toBe(1);
  expect(lines.join("\n")).toMatch(/fail keys: callback signing key \S+ was sealed with another/);
  expect(lines.join("\n")).not.toContain(wrong.CALLBACK_MASTER_KEY);
  expect(lines).toContain("warn keys: there is no valid key for callers");
});

test("an outside signer is tried; one that is away fails with a remedy", async () => {
  await using made = await deployment();
  await using signer = await startSigner();
  const settings = { ...made.settings, ...signer.settings };
  const tried = async () => (await examined("keys", settings)).lines.join("\n");
  expect(await tried()).toMatch(/ok keys: the external signer answers; its first signature makes/);
  await signer.stop();
  const away = await tried();
  expect(away).toMatch(/fail keys: the signer at \S+, which keeps the deployment's key, does not/);
  expect(away).not.toContain(TOKEN);
});

test("transfer-agent keys whose signatures are valid for every path are named, and no others", async () => {
  await using made = await deployment();
  const unbound = await registerKey(made.database, { asset: "acme-sui" });
  const bound = await registerKey(made.database, { asset: "acme-sui", requireBound: true });
  const revoked = await registerKey(made.database, { asset: "acme-sui" });
  await revokeKey(made.database, revoked.id);
  const { code, lines } = await examined("keys", made.settings);
  const told = lines.filter((line) => line.includes("signature of the body alone"));
  expect(code).toBe(0);
  expect(told).toEqual([
    expect.stringMatching(new RegExp(`^warn keys: .*${unbound.id} \\(acme-sui\\)$`)),
  ]);
  expect(told.join()).not.toContain(bound.id);
  expect(told.join()).not.toContain(revoked.id);
});

test("missing migrations, and those of a newer version, are reported", async () => {
  await using made = await deployment();
  const { sql } = made.database;
  await sql`
    delete from drizzle.__drizzle_migrations
    where id = (select max(id) from drizzle.__drizzle_migrations)`;
  expect((await examined("migrations", made.settings)).lines).toEqual([
    "warn migrations: 1 migration is missing",
  ]);
  await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('ff00', 1)`;
  expect((await examined("migrations", made.settings)).code).toBe(1);
});

test("missing rights of a user are reported, without showing a password", async () => {
  await using made = await deployment();
  const name = `weak_${randomBytes(4).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  await made.database.sql.unsafe(`create role ${name} login password '${password}'`);
  try {
    const url = new URL(made.database.url);
    url.username = name;
    url.password = password;
    const DATABASE_URL = url.href;
    const { code, lines } = await examined("database", { ...made.settings, DATABASE_URL });
    expect(code).toBe(1);
    expect(lines.join("\n")).toMatch(/fail database: the service's role lacks .*api_keys, /);
    url.password = "not-the-password";
    const refused = await examined("database", { ...made.settings, DATABASE_URL: url.href });
    expect(refused.lines).toEqual([
      `fail database: password authentication failed for user "${name}"`,
    ]);
  } finally {
    await made.database.sql.unsafe(`drop role ${name}`);
  }
});

test("wrong settings are reported one per line, and a file with a secret is read", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "url");
  await writeFile(file, "postgres://u:secret-word@127.0.0.1:1/x\n");
  const wrong = await examined("settings", { PORT: "80x", VERIFY: "all", DATABASE_URL_FILE: file });
  expect(wrong.lines).toEqual([
    'fail settings: PORT: must be a whole number, such as 4000 (is "80x")',
    'fail settings: VERIFY: must be one of off, links, signatures (is "all")',
  ]);
  const read = await examined("database", { DATABASE_URL_FILE: file });
  expect(read.lines.join()).toContain("ECONNREFUSED 127.0.0.1:1");
  expect(read.lines.join()).not.toContain("secret-word");
  const both = { DATABASE_URL_FILE: file, DATABASE_URL: "postgres://u@127.0.0.1/x" };
  expect((await examined("settings", both)).lines).toEqual([
    "fail settings: DATABASE_URL_FILE: DATABASE_URL is set, too; remove one of the two",
  ]);
  const none = { PII_KEYS_FILE: join(folder.path, "none") };
  expect((await examined("settings", none)).lines.join()).toContain("ENOENT");
});

test("a database that accepts connections and never answers costs ten seconds", async () => {
  const sockets: { destroy(): unknown }[] = [];
  await using silent = await serverOf(createTcpServer((socket) => void sockets.push(socket)));
  const began = performance.now();
  const { lines } = await examined("indexing", {
    DATABASE_URL: `postgres://u@127.0.0.1:${silent.port}/x`,
  });
  expect(lines).toEqual([expect.stringMatching(/^fail database: /)]);
  expect(performance.now() - began).toBeLessThan(15_000);
  for (const socket of sockets) socket.destroy();
});

test("a port held by another program fails, and one held by a running Holderbook passes", async () => {
  await using other = await httpServer((_, answer) => void answer.end("{}"));
  const held = await examined("port", { PORT: `${other.port}` });
  expect(held.lines).toEqual([`fail port: 127.0.0.1:${other.port} is in use by another program`]);
  const health = {
    status: "stalled",
    version: "9.9.9",
    pipelines: [{ pipeline: "token_activity", reason: "gave up" }],
  };
  await using ours = await httpServer((_, answer) => void answer.end(JSON.stringify(health)));
  const stalled = await examined("port", { PORT: `${ours.port}`, METRICS_PORT: `${other.port}` });
  expect(stalled.lines).toEqual([
    `warn port: 127.0.0.1:${ours.port} is in use by Holderbook 9.9.9, health: stalled; token_activity: gave up`,
    `fail port: 127.0.0.1:${other.port} is in use by another program`,
  ]);
});

test("each RPC endpoint is asked for its chain; one working endpoint suffices", async () => {
  await using folder = await temporaryFolder();
  const answering = (chainId: string) =>
    httpServer(async (request, answer) => {
      const text = Buffer.concat(await request.toArray()).toString();
      const calls = z
        .array(z.object({ id: z.number(), method: z.string() }))
        .parse(JSON.parse(text));
      const replies = calls.map(({ id, method }) => ({
        jsonrpc: "2.0",
        id,
        result: method === "eth_chainId" ? chainId : "0x2a",
      }));
      answer.setHeader("content-type", "application/json").end(JSON.stringify(replies));
    });
  await using right = await answering("0xa869");
  await using wrong = await answering("0x1");
  const token = (ports: readonly number[]) => ({
    name: "one",
    ledger: "evm",
    network: "avalanche_fuji",
    chainId: 43_113,
    rpc: ports.map((port) => `http://127.0.0.1:${port}/v2/a-providers-key-0123456789`),
    address: "0x5fbdb2315678afecb367f032d93f642f64180aa3",
    type: "comakery_security_token_v4",
    whitelistGroupId: 1,
    ta: { callbackUrl: "https://hooks.acme.example/ta" },
  });
  const ASSETS_FILE = join(folder.path, "assets.json");
  const given = async (...ports: readonly number[]) => {
    const assets = { projects: [{ name: "acme", tokens: [token(ports)] }] };
    await writeFile(ASSETS_FILE, JSON.stringify(assets));
    // As it was called before.
    return examined("evm,transfer agent", { ASSETS_FILE });
  };
  const two = await given(right.port, wrong.port);
  expect(two.code).toBe(0);
  expect(two.lines).toEqual([
    `ok evm: avalanche_fuji: http://127.0.0.1:${right.port} is at block 42`,
    expect.stringMatching(/^warn evm: avalanche_fuji: .*chain 1\b/),
    "warn transfer-agent: one: no signer for its transactions is configured, so its requests wait",
  ]);
  expect(two.lines.join()).not.toContain("a-providers-key");
  expect((await given(wrong.port)).code).toBe(1);
});

test("an absent Redis fails", async () => {
  const { lines } = await examined("redis", { REDIS_URL: "redis://:word@127.0.0.1:1" });
  expect(lines).toEqual([expect.stringMatching(/^fail redis: .*ECONNREFUSED/)]);
  expect(lines.join()).not.toContain("word");
});

test("--strict exits with code 1 on a warning, and the text says what to do", async () => {
  await using made = await deployment();
  const args = ["doctor", "--only", "keys"];
  const { code, stdout } = await runCommand(args, made.settings);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/\nwarn {2}keys .*\n +→ create one: `holderbook keys create/),
  });
  expect((await runCommand([...args, "--strict"], made.settings)).code).toBe(1);
});
