/** What others wrote, in every command that prints it: shown by its number, never as a control of the terminal. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wholeProgram } from "../../src/commands/command-line.ts";
import { createKey } from "../../src/http/keys.ts";
import { callbackEndpoint } from "../../src/transfers/callbacks.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterLog } from "../log/damage.ts";
import { copyOf } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";

/** Clears the screen in 7 bits and in 8, turns the direction of writing, and begins lines of its own. */
const HOSTILE = "\u001b[2J\u009b2J\u202e\u2028\nholderbook: all holds\r";
const IN_SQL = `U&'\\001b[2J\\009b2J\\202e\\2028\\000aholderbook: all holds\\000d'`;
const PLAIN = /^[\n\x20-\x7e–→…·]*$/;

const REQUEST = "00000000-0000-4000-8000-000000000001";
const OF_REQUEST = `
  insert into ta_requests (id, lane_id, asset, kind, investor_id, wallet, status, message, reason, key_id)
  values ('${REQUEST}', 1, 'acme', 'kyc', 'x', ${IN_SQL}, 'FAILED', ${IN_SQL}, ${IN_SQL}, 'k');
  insert into ta_request_history (request_id, number, status, message) values ('${REQUEST}', 1, 'FAILED', ${IN_SQL})`;

const TOKEN = `0x${"1".padStart(64, "0")}::a::A`;
const HELD = `
  insert into tokens values ('${TOKEN}', 1, ${IN_SQL}, ${IN_SQL});
  insert into quarantines (pipeline, coin_type, event, checkpoint, transaction, kind, index, type, tx_digest, reason, by)
  select 'role_changes', '${TOKEN}', event, 1, 2, 'event', 3, ${IN_SQL}, ${IN_SQL}, ${IN_SQL}, ${IN_SQL}
  from unnest('{held,resolved}'::text[]) as event`;

const LABELLED = `
  insert into labels (kind, coin_type, subject, text, is_sealed, by) values ('WALLET', '', '0x1', ${IN_SQL}, false, ${IN_SQL})`;

/** What stands in the database, by the command that shows it and its arguments. */
const STORED: Readonly<
  Record<string, { readonly args?: readonly string[]; readonly sql: string }>
> = {
  status: {
    sql: `insert into evm_chains (chain_id, network, final_block) values (1, ${IN_SQL}, 1);
        insert into transfer_event_progress (project, chain_id, place, settings, first_block, next_block)
        values (${IN_SQL}, 1, 0, 'x', 0, 1)`,
  },
  replay: { args: ["--share", "1"], sql: `update tokens set name = ${IN_SQL}` },
  reconcile: { sql: `update tokens set name = ${IN_SQL}` },
  "verify --log": { sql: `update log_high_water set last_digest = ${IN_SQL}` },
  acts: {
    sql: `insert into operator_acts values (1, ${IN_SQL}, ${IN_SQL}, '{}',
        json_build_object('user', ${IN_SQL}, 'host', 'h', 'role', 'r'), 'coin', ${IN_SQL}, 's')`,
  },
  "quarantine list": { sql: HELD },
  "quarantine show": { args: [TOKEN], sql: HELD },
  packages: { sql: `insert into log_packages values (${IN_SQL}, 3, 0)` },
  "evm list": {
    sql: `insert into evm_chains (chain_id, network, final_block) values (1, ${IN_SQL}, 1);
        insert into evm_tokens (chain_id, address, first_block, next_block, name, symbol)
        values (1, '\\x01', 0, 1, ${IN_SQL}, ${IN_SQL})`,
  },
  "pause list": {
    sql: `insert into pauses (kind, name, reason, by)
        values ('receiver', ${IN_SQL}, ${IN_SQL}, ${IN_SQL})`,
  },
  "keys list": { sql: `update api_keys set label = ${IN_SQL}` },
  "callbacks list": {
    args: ["--project", "acme"],
    sql: `insert into callback_endpoints (key, url, disabled_at, disabled_reason)
        values ('${callbackEndpoint("acme")}', ${IN_SQL}, now(), ${IN_SQL});
        insert into callback_messages (id, endpoint, lane, type, body)
        values (${IN_SQL}, '${callbackEndpoint("acme")}', 'l', ${IN_SQL}, '{}')`,
  },
  "labels list": { sql: LABELLED },
  "ta requests": { sql: OF_REQUEST },
  "ta request": { args: [REQUEST], sql: OF_REQUEST },
};

/** Those that show files or other servers, each below; `doctor` in test/logging/foreign-text.test.ts. */
const GIVEN = [
  "verify",
  "inspect",
  "audit-pack verify",
  "audit-pack papers",
  "statement verify",
  "compare",
  "doctor",
  "assets check",
];

/** Words and figures of their own alone, data for a file, or what the person at the terminal entered. */
const OWN = [
  "start|index|serve|migrate|rebuild|replay drop|replay swap|digest|cap-table|demo write|demo link|packages add|evm reread",
  "assets reload|pause pipeline|pause asset|pause receiver|resume pipeline|resume asset|resume receiver",
  "statement|audit-pack|callbacks redeliver|callbacks enable|callbacks rotate|ta sign|keys create|keys rotate",
  "labels import|labels export|labels remove|keys callback-url|keys revoke|keys revoke-deployment-key|pii show|pii rotate|pii delete",
  "archive export|archive verify|archive import|archive detach|archive attach|quarantine retry|quarantine resolve|prove complete|backfill|work backfill",
  "pause pipeline|pause asset|pause receiver|resume pipeline|resume asset|resume receiver",
].flatMap((line) => line.split("|"));

let register: DemoRegister;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  [register, folder] = await Promise.all([demoRegister(), temporaryFolder()]);
  await register.advance(40);
  await createKey(register.database, { kind: "graphql" });
});
afterAll(async () => {
  await register[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Runs it, and holds all that it prints against what may be there. */
const printsPlainly = async (args: readonly string[], settings: Record<string, string>) => {
  const { stdout, stderr } = await runCommand(args, settings);
  const printed = `${stdout}\n${stderr}`;
  expect(printed).toMatch(PLAIN);
  expect(printed).toMatch(/\\u\{?(00)?9b/);
  expect(printed).toMatch(/\\u\{?202e/);
  expect(printed).not.toMatch(/^holderbook: all holds/m);
};

const namesOf = (commands: readonly Command[], before = ""): readonly string[] =>
  commands.flatMap((command) => {
    const path = `${before}${command.name()}`;
    const isGroup = command.commands.length > 0 && command.description() === "";
    return [...(isGroup ? [] : [path]), ...namesOf(command.commands, `${path} `)];
  });

test("every command prints foreign text in a test here, or prints its own text only", async () => {
  const known = [...Object.keys(STORED), ...GIVEN, ...OWN];
  const groups = [
    "assets",
    "evm",
    "keys",
    "callbacks",
    "ta",
    "pii",
    "labels",
    "demo",
    "archive",
    "quarantine",
    "pause",
    "resume",
    "prove",
    "work",
    "pause",
    "resume",
  ];
  const names = namesOf((await wholeProgram()).commands);
  expect(names.filter((name) => !known.includes(name) && !groups.includes(name))).toEqual([]);
});

test("no command writes to the terminal except through the escaping output", async () => {
  /** Data for a file, errors, which are escaped where they are printed, and our own welcome. */
  const others = ["cap-table.ts", "command-line.ts", "start.ts"];
  const path = join(import.meta.dirname, "../../src/commands");
  const writing: string[] = [];
  for (const name of await readdir(path, { recursive: true })) {
    if (!name.endsWith(".ts")) continue;
    const text = await readFile(join(path, name), "utf8");
    if (/(stdout|stderr)\.write|console\./.test(text)) writing.push(name);
  }
  expect(writing.sort()).toEqual([...others, "output.ts"].sort());
});

test.each(Object.entries(STORED))(
  "%s prints stored text escaped",
  async (name, { args = [], sql }) => {
    await using database = await copyOf(register.database);
    await alterLog(database, sql);
    const command = [...name.split(" "), ...args];
    const settings = { DATABASE_URL: database.url, VERIFY: "links" };
    await printsPlainly(command, settings);
    if (name !== "ta request") await printsPlainly([...command, "--json"], settings);
  },
);

test.each([
  ["verify", "json", ["--trust", "1:11111111111111111111111111111111"]],
  ["inspect", "chk", []],
  ["assets check", "json", []],
  ["statement verify", "json", []],
  ["audit-pack verify", "", []],
])("%s prints a file's text and name escaped", async (name, ending, args) => {
  const file = join(folder.path, `${HOSTILE.replace("\n", "")}.${ending}`);
  await writeFile(file, JSON.stringify({ [HOSTILE]: HOSTILE }));
  await printsPlainly([...name.split(" "), file, ...args], {});
});

test("compare prints another server's text escaped", async () => {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ errors: [{ message: HOSTILE }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const settings = { DATABASE_URL: register.database.url, HOLDERBOOK_COMPARE_KEY: "k" };
  try {
    await printsPlainly(["compare", `http://127.0.0.1:${address.port}`], settings);
  } finally {
    server.close();
  }
});
