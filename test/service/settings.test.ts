/** Wrong settings of the whole program: code 2, the setting named, and no key anywhere. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { runProgram, type Settings, startProgram, temporaryFolder } from "./process.ts";

/** Ends at once if it should get as far as a database. */
const NO_DATABASE = { DATABASE_URL: "postgres://user@127.0.0.1:1/holderbook" };

test("a misspelt LEDGER_SOURCE indexes nothing, exits with code 2 and suggests the right name", async () => {
  await using folder = await temporaryFolder();
  const ledger = { SECURITY_TOKEN_PACKAGES: "0x5" };
  const settings = { ...ledger, DATA_DIR: join(folder.path, "data"), LEDGER_SOURC: "dir:/x" };
  const { code, stdout, stderr } = await runCommand(["index", "--last", "3"], settings);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toBe(
    "holderbook: ConfigError: LEDGER_SOURC in the environment is not a setting; correct it to LEDGER_SOURCE, or remove it\n",
  );
});

test("a misspelt name in .env is an error, and a correct one is read", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, ".env");
  await writeFile(file, "DATABSE_ULR=postgres://user@127.0.0.1:1/holderbook\nHOME=/root\n");
  const wrong = await runProgram(["status"], {}, { cwd: folder.path });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain(
    "DATABSE_ULR in .env is not a setting; correct it to DATABASE_URL",
  );
  await writeFile(file, "DATABASE_URL=postgres://user@127.0.0.1:1/holderbook\n");
  const right = await runProgram(["status"], {}, { cwd: folder.path });
  expect(right).toMatchObject({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
});

test("packages without a ledger stop every command that reads one, and none that serves", async () => {
  await using folder = await temporaryFolder();
  const settings = {
    ...NO_DATABASE,
    DATA_DIR: join(folder.path, "data"),
    SECURITY_TOKEN_PACKAGES: "0x5",
    PORT: "0",
  };
  for (const args of [["start"], ["index"], ["inspect", "3"]]) {
    const { code, stderr } = await runCommand(args, settings);
    expect({ args, code }).toEqual({ args, code: 2 });
    expect(stderr).toMatch(
      /^holderbook: ConfigError: LEDGER_SOURCE: is not set, while SECURITY_TOKEN_PACKAGES is: .*\n$/,
    );
  }
  const serve = await runCommand(["serve"], settings);
  expect(serve.stderr).toContain("DatabaseUnreachableError");
  const first = await runCommand(["serve"], { ...settings, FIRST_CHECKPOINT: "1" });
  expect(first.code).toBe(2);
});

test("the first line of a start says which ledger it reads", async () => {
  await using folder = await temporaryFolder();
  const ledger = join(folder.path, "ledger");
  await mkdir(ledger);
  const data = { ...NO_DATABASE, DATA_DIR: join(folder.path, "data"), DEMO_HISTORY: "10" };
  const first = async (args: readonly string[], settings: Settings) => {
    const { stderr } = await runProgram(args, { ...data, ...settings });
    return JSON.parse(stderr.split("\n")[0] ?? "");
  };
  const there = { LEDGER_SOURCE: `dir:${ledger}`, SECURITY_TOKEN_PACKAGES: "0x5" };
  expect(await first(["start"], {})).toMatchObject({
    msg: "reading the demo ledger, a simulated issuer (seed 1)",
  });
  for (const args of [["start"], ["index"]]) {
    expect(await first(args, there)).toMatchObject({ msg: `reading dir:${ledger}` });
  }
});

test("a wrong key ends a start with code 2 and the name of its setting, without showing the key", async () => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  const settings = {
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "10",
    LOG_LEVEL: "fatal",
    PORT: "0",
  };
  const ends = async (setting: string, value: string, about: RegExp) => {
    const { code, stderr } = await runCommand(["start"], { ...settings, [setting]: value });
    expect({ setting, code }, stderr).toEqual({ setting, code: 2 });
    expect(stderr).toMatch(about);
    expect(stderr).toContain(setting);
    expect(stderr).not.toContain(value);
  };
  await ends("CALLBACK_MASTER_KEY", "not-a-key-0123", /MasterKeyError: CALLBACK_MASTER_KEY: must/);
  await ends("PII_KEYS", "one:not-a-key-0123", /PiiKeysError: PII_KEYS: entry 1 must/);
  await ends("TA_EVM_KEY", "not-a-key-0123", /ConfigError: TA_EVM_KEY: the EVM signing key must/);

  // A key of the right form, and another one than the signing keys were sealed with.
  const key = () => randomBytes(32).toString("base64");
  expect((await runCommand(["migrate"], settings)).code).toBe(0);
  const sealing = { ...settings, CALLBACK_MASTER_KEY: key() };
  const rotate = ["callbacks", "rotate", "--now", "--lost-master-key"];
  expect((await runCommand(rotate, sealing)).code).toBe(0);
  await ends(
    "CALLBACK_MASTER_KEY",
    key(),
    /SealedError: .*another master key.*CALLBACK_MASTER_KEY/,
  );
}, 240_000);

test("a provider's key in LEDGER_SOURCE appears in no log line, error text or health report", async () => {
  await using database = await freshDatabase();
  // A store that fails, then says no: the reasons of both are logged.
  let status = 503;
  const store = createServer((_, response) => {
    response.writeHead(status).end();
  }).listen(0, "127.0.0.1");
  await once(store, "listening");
  try {
    await using folder = await temporaryFolder();
    const address = store.address();
    const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const settings = {
      DATABASE_URL: database.url,
      DATA_DIR: join(folder.path, "data"),
      SECURITY_TOKEN_PACKAGES: "0x5",
      LEDGER_SOURCE: `http://${host}/v1/SECRETKEY0123?token=SECRETKEY0123`,
      LOG_LEVEL: "debug",
      PORT: "0",
    };
    await using service = startProgram(["start"], settings);
    const [, url] = await service.sees(/Health\s+(http\S+)/);
    const health = await (await fetch(`${url}`)).text();
    const { stderr } = service.printed;
    expect(stderr).toContain("fetching again");
    expect(stderr).toContain(`http://${host}/…`);
    expect(health + service.printed.stdout + stderr).not.toContain("SECRETKEY0123");
    service.signal("SIGTERM");
    await service.ended;

    status = 403;
    const atOnce = ["index", "--first", "5", "--last", "5", "--retry-for", "0"];
    const refused = await runProgram(atOnce, settings);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("SourceRefusedError");
    expect(refused.stderr).not.toContain("SECRETKEY0123");

    for (const wrong of [
      "https://user:SECRETKEY0123@node.example",
      "grpc+https://node.example/SECRETKEY0123",
      "htps://node.example/SECRETKEY0123",
    ]) {
      const faulty = { ...settings, LEDGER_SOURCE: wrong };
      const { code, stderr: text } = await runCommand(["index"], faulty);
      expect({ wrong, code }).toEqual({ wrong, code: 2 });
      expect(text).toContain("node.example/…");
      expect(text).not.toContain("SECRETKEY0123");
    }
  } finally {
    store.closeAllConnections();
    store.close();
  }
}, 240_000);
