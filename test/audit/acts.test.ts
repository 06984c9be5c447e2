/** Who did what by a command: recorded with the act itself, published, and shown to nobody whose coin it is not about. */

import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalJson } from "../../client/canonical-json.ts";
import { generateKeyPair } from "../../client/ed25519.ts";
import type { ActLine } from "../../client/pack-forms.ts";
import { verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import {
  actFault,
  acting,
  allActs,
  publishActs,
  recordAct,
} from "../../src/audit/sequence/acts.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { wholeProgram } from "../../src/commands/command-line.ts";
import { startKey } from "../../src/commands/start-key.ts";
import { checkContents } from "../../src/evidence/pack/check.ts";
import { openFiles } from "../../src/evidence/pack/form.ts";
import { reportOf } from "../../src/evidence/pack/report.ts";
import { listKeys } from "../../src/http/keys.ts";
import { ROLE_CHANGE } from "../../src/ledger/contract/names.ts";
import { noteProcess } from "../../src/log/process-notes.ts";
import { reloadAssets } from "../../src/operator/reload-assets.ts";
import { unseal } from "../../src/sealing/sealed.ts";
import { readAssets } from "../../src/settings/assets.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { sealRecord } from "../../src/ta/pii/vault.ts";
import { NO_BULK } from "../../src/values/bulk-progress.ts";
import { runCommand } from "../commands/run-command.ts";
import { filesIn, manifestOf, signAnew } from "../evidence/packs.ts";
import { alterLog, spoilFact } from "../log/damage.ts";
import { divideFacts } from "../log/facts-partitions.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { entriesOf } from "./sequence-entries.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<string, string>>;
let coins: readonly string[] = [];
const masterKey = randomBytes(32);
const [oldPii, newPii] = [randomBytes(32), randomBytes(32)];
const EVM = `0x${"5e".repeat(20)}`;
/** Never to be read by the auditor of the coin `alpha`. */
const FOREIGN = /beta|gamma|5e5e5e|secret/;

const run = async (...args: readonly string[]) => {
  const ran = await runCommand(args, settings);
  expect(ran.code, ran.stderr).toBe(0);
  return ran.stdout.trim();
};

const acts = async (on: TestDatabase = database) => {
  const all = [];
  for await (const act of allActs(on.sql)) all.push(act);
  return all;
};

const investor = async (asset: string, investorId: string, key: { id: string; key: Buffer }) => {
  const id = crypto.randomUUID();
  const { keyId, sealedKey, sealed } = sealRecord(ringOf([key]), id, Buffer.from("{}"));
  await database.sql`
    insert into ta_requests (id, lane_id, asset, kind, investor_id, wallet, status, message, key_id)
    values (${id}, 1, ${asset}, 'kyc', ${investorId}, '0x1', 'SUCCESS', '', 'k')`;
  await database.sql`
    insert into ta_pii_records (request_id, asset, investor_id, key_id, sealed_key, sealed)
    values (${id}, ${asset}, ${investorId}, ${keyId}, ${sealedKey}, ${sealed})`;
};

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  const ledger = join(folder.path, "ledger");
  const options = { checkpoints: 60, seed: 5, format: "chk", epochLength: 20 } as const;
  const { coinTypes } = await writeDemoLedger({ dir: ledger, ...options });
  coins = coinTypes.map(({ coinType }) => coinType);
  const ta = { callbackUrl: "https://results.example/hook" };
  const sui = (name: string, coinType = "") => ({
    name,
    tokens: [{ name: `${name}-share`, ledger: "sui", coinType, whitelistGroupId: 1, ta }],
  });
  const evm = {
    ...{ name: "gamma-share", ledger: "evm", network: "anvil", chainId: 31337, address: EVM },
    ...{ rpc: ["http://127.0.0.1:9"], type: "comakery_security_token_v3", whitelistGroupId: 1, ta },
  };
  const projects = [
    sui("alpha", coins[0]),
    sui("beta", coins[1]),
    { name: "gamma", tokens: [evm] },
  ];
  const assets = join(folder.path, "assets.json");
  await writeFile(assets, JSON.stringify({ projects }));
  settings = {
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
    PII_KEYS: `new:${newPii.toString("base64")},old:${oldPii.toString("base64")}`,
    LEDGER_SOURCE: `dir:${ledger}`,
    COMMITTEE_FILE: join(ledger, "ledger.json"),
    ASSETS_FILE: assets,
  };
  await divideFacts(database, 20n);
  await run("index", "--last", "40");
}, 240_000);
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const archive = () => join(folder.path, "archive");

const idOf = async (label: string) =>
  (await listKeys(database)).find((key) => key.label === label)?.id ?? "";

const hasKey = async (asset: string, label: string) => {
  await run("keys", "create", "--kind", "ta", "--asset", asset, "--label", label);
  return idOf(label);
};

/** Has a role of the first coin spoiled in the log, and the coin held for it. */
const held = async (isWhole: boolean) => {
  const coinType = coins[0] ?? "";
  const spoiled = await spoilFact(database, { name: ROLE_CHANGE, after: 0n, coinType, isWhole });
  await run("rebuild", "role_changes", "--yes");
  await run("index", "--last", "40");
  return spoiled;
};

/** Commands that record, each as it is run here; the scope is of the last one. */
const RECORDED: Readonly<
  Record<string, { readonly on: string | (() => string); readonly go: () => Promise<unknown> }>
> = {
  start: { on: "deployment", go: () => startKey({ dataDir: folder.path }, { write: database }) },
  "archive detach": {
    on: "deployment",
    go: async () => {
      await run("archive", "export", "--dir", archive());
      await run("archive", "detach", "--dir", archive(), "--before", "20");
    },
  },
  "archive attach": { on: "deployment", go: () => run("archive", "attach", "--dir", archive()) },
  rebuild: { on: "deployment", go: () => run("rebuild", "role_changes") },
  replay: {
    on: "deployment",
    go: () => run("replay", "--pipeline", "role_changes", "--share", "1", "--swap"),
  },
  "replay swap": {
    on: "deployment",
    go: () => run("replay", "swap", "--pipeline", "role_changes", "--back"),
  },
  "quarantine retry": {
    on: () => coins[0] ?? "",
    go: async () => {
      const { mend } = await held(false);
      await mend();
      await run("quarantine", "retry", coins[0] ?? "");
    },
  },
  "quarantine resolve": {
    on: () => coins[0] ?? "",
    go: async () => {
      const { mend } = await held(true);
      const why = ["--by", "Ada Byron", "--because", "the contract wrote it by mistake"];
      await run("quarantine", "resolve", coins[0] ?? "", ...why);
      await mend();
    },
  },
  "packages add": {
    on: "deployment",
    go: () => run("packages", "add", `0x${"ad".repeat(32)}`, "--from", "30"),
  },
  "evm reread": {
    on: "project",
    go: async () => {
      await database.sql`
        insert into evm_chains (chain_id, network, final_block) values (31337, 'gamma', 1)`;
      await database.sql`
        insert into evm_tokens (chain_id, address, first_block, next_block)
        values (31337, ${Buffer.alloc(20, 0x5e)}, 0, 1)`;
      await run("evm", "reread", "--chain", "31337", "--token", EVM);
    },
  },
  "keys create": {
    on: () => coins[0] ?? "",
    go: async () => {
      await run("keys", "create", "--kind", "graphql", "--label", "for beta");
      await run("keys", "create", "--kind", "project", "--project", "gamma");
      const url = "https://results.example/secret?key=secret";
      const kind = ["keys", "create", "--kind", "ta", "--callback-url", url];
      for (const name of ["gamma", "beta", "alpha"]) await run(...kind, "--asset", `${name}-share`);
    },
  },
  "keys callback-url": {
    on: () => coins[1] ?? "",
    go: async () => {
      const url = "https://results.example/hook/secret?key=secret";
      await run("keys", "callback-url", await hasKey("beta-share", "url"), url);
    },
  },
  "keys revoke": {
    on: () => coins[0] ?? "",
    go: async () => {
      await run("keys", "revoke", await idOf("for beta"));
      const [from, to] = [await hasKey("alpha-share", "from"), await hasKey("alpha-share", "to")];
      await run("keys", "revoke", from, "--to", to);
    },
  },
  "keys rotate": {
    on: "deployment",
    go: async () => {
      await openDeploymentKey(database, masterKey);
      await run("keys", "rotate");
    },
  },
  "keys revoke-deployment-key": {
    on: "deployment",
    go: async () => {
      const [{ id } = { id: "" }] = await database.sql<{ id: string }[]>`
        select key_id as id from deployment_keys order by made_at limit 1`;
      await run("keys", "revoke-deployment-key", id, "--from", "2", "--why", "secret");
    },
  },
  "pause pipeline": {
    on: "deployment",
    go: () => run("pause", "pipeline", "role_changes", "--reason", "secret"),
  },
  "resume pipeline": { on: "deployment", go: () => run("resume", "pipeline", "role_changes") },
  "pause asset": {
    on: () => coins[0] ?? "",
    go: async () => {
      for (const name of ["gamma", "beta", "alpha"]) {
        await run("pause", "asset", `${name}-share`, "--reason", "secret");
      }
    },
  },
  "resume asset": {
    on: () => coins[1] ?? "",
    go: async () => {
      for (const name of ["gamma", "alpha", "beta"]) await run("resume", "asset", `${name}-share`);
    },
  },
  "pause receiver": {
    on: () => coins[1] ?? "",
    go: async () => {
      await run("pause", "receiver", "ta:gamma-share");
      await run("pause", "receiver", "ta:beta-share");
    },
  },
  "resume receiver": {
    on: "project",
    go: async () => {
      await run("resume", "receiver", "ta:beta-share");
      await run("resume", "receiver", "ta:gamma-share");
    },
  },
  "assets reload": {
    on: "deployment",
    go: async () => {
      const process = { id: crypto.randomUUID(), pid: 1, host: "here" };
      const running = { digest: "", entries: [] };
      const said = { queue: null, signers: [], signing: null, ...NO_BULK, assets: running };
      await noteProcess(database.sql, process, said);
      const assets = await readAssets(settings.ASSETS_FILE ?? "");
      await reloadAssets(database, { assets, key: null });
    },
  },
  "callbacks rotate": { on: "deployment", go: () => run("callbacks", "rotate", "--now") },
  "pii rotate": {
    on: "deployment",
    go: async () => {
      await investor("beta-share", "secret-1", { id: "old", key: oldPii });
      await run("pii", "rotate");
    },
  },
  "pii delete": {
    on: () => coins[1] ?? "",
    go: async () => {
      await investor("alpha-share", "secret-2", { id: "gone", key: randomBytes(32) });
      const reason = ["--reason", "secret"];
      await run("pii", "delete", "--lost-key", "gone", ...reason);
      const whose = ["--asset", "beta-share", "--investor", "secret-1"];
      await run("pii", "delete", ...whose, ...reason);
    },
  },
};

/** Commands that record nothing, and why. */
const UNRECORDED: Readonly<Record<string, string>> = {
  "index|backfill|work backfill|serve|migrate":
    "the service itself, and the tables of its version, as each start makes them",
  "inspect|verify|status|doctor|cap-table|digest|compare|statement verify|audit-pack verify|acts|packages|audit-pack papers":
    "changes nothing",
  "assets check|quarantine list|quarantine show|pause list|evm list|keys list|callbacks list|ta sign|ta requests|ta request":
    "changes nothing",
  "replay drop": "removes tables that nothing is served from",
  reconcile: "keeps its findings alone, which the next run replaces",
  "prove complete": "keeps what it found, in rows that never change, and signs it",
  "statement|audit-pack": "says itself what it publishes, in the sequence",
  "callbacks redeliver|callbacks enable":
    "sends what was to be sent anyway; each attempt is kept, and callers may ask for it over HTTP",
  "labels list|labels export": "changes nothing",
  "labels import|labels remove":
    "no part of the register, and never published: each version of a label keeps who and when",
  "pii show": "changes nothing; that data were opened stands in ta_pii_accesses",
  "demo write|demo link": "a simulated issuer",
  "archive export|archive verify": "changes nothing in the database",
  "archive import": "makes a log on an empty database, which nothing is served from yet",
};

const namesOf = (commands: readonly Command[], before = ""): readonly string[] =>
  commands.flatMap((command) => {
    const path = `${before}${command.name()}`;
    const isGroup = command.commands.length > 0 && command.description() === "";
    return [...(isGroup ? [] : [path]), ...namesOf(command.commands, `${path} `)];
  });

test("every command records its act, or is listed with the reason why not", async () => {
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
  ];
  const names = namesOf((await wholeProgram()).commands).filter((name) => !groups.includes(name));
  const unrecorded = Object.keys(UNRECORDED).flatMap((line) => line.split("|"));
  expect(names.toSorted()).toEqual([...Object.keys(RECORDED), ...unrecorded].toSorted());
});

test.each(Object.entries(RECORDED))(
  "%s records who did it, when and on what, without secrets",
  async (command, { on, go }) => {
    const before = await acts();
    await go();
    const made = (await acts()).slice(before.length);
    expect(made.map((act) => act.command)).toContain(command);
    const last = made.findLast((act) => act.command === command);
    const scope = typeof on === "string" ? on : on();
    expect(last?.coinType ?? last?.scope).toBe(scope);
    expect(last?.by).toMatchObject({ user: expect.stringMatching(/./), role: expect.any(String) });
    for (const act of made) {
      expect(JSON.stringify(act)).not.toContain("secret");
      if (act.scope === "deployment") expect(JSON.stringify(act)).not.toMatch(FOREIGN);
      expect(Math.abs(Date.parse(act.at) - Date.now())).toBeLessThan(600_000);
    }
    expect(await actFault(database.sql)).toBeNull();
  },
  60_000,
);

test("a command that fails records nothing, and one that cannot record does nothing", async () => {
  const before = await acts();
  const fails = async (...args: readonly string[]) =>
    expect((await runCommand(args, settings)).code, args.join(" ")).not.toBe(0);
  const { publicKey } = generateKeyPair();
  const register = ["keys", "create", "--kind", "ta", "--asset", "alpha-share"];
  await run(...register, "--public-key", publicKey);
  await fails(...register, "--public-key", publicKey);
  await fails("keys", "revoke", "key_none");
  await fails("evm", "reread", "--chain", "7");
  await fails("pii", "delete", "--lost-key", "none", "--reason", "x");
  expect(await acts()).toHaveLength(before.length + 1);

  await using full = await copyOf(database);
  const own = { ...settings, DATABASE_URL: full.url };
  await full.sql`alter table operator_acts add check (number < 0) not valid`;
  const keys = await listKeys(full);
  for (const line of [
    "keys create --kind graphql",
    `keys revoke ${keys[0]?.id}`,
    "rebuild role_changes",
  ]) {
    const { code } = await runCommand(line.split(" "), own).catch(() => ({ code: 1 }));
    expect(code, line).toBe(1);
  }
  expect(await listKeys(full)).toEqual(keys);
});

test("concurrent acts are numbered without gaps, and each is published once, in order", async () => {
  await using busy = await freshDatabase();
  const key = await openDeploymentKey(busy, masterKey);
  const act = (at: number) => ({
    ...{ command: "rebuild", details: { at: `${at}` } },
    on: at % 2 === 0 ? ("deployment" as const) : { coinType: coins[0] ?? "" },
  });
  const record = (at: number) => busy.transaction(({ sql }) => recordAct(sql, act(at)));
  const failing = acting(busy, async () => [undefined, act(1)]).then(() =>
    busy.transaction(async ({ sql }) => {
      await recordAct(sql, act(2));
      throw new Error("it is rolled back");
    }),
  );
  await expect(failing).rejects.toThrow("rolled back");
  const publish = () => busy.transaction(({ sql }) => publishActs(sql, key, 3));
  await Promise.all([...Array.from({ length: 12 }, (_, at) => record(at)), publish(), publish()]);
  for (let more = true; more; ) more = (await Promise.all([publish(), publish()])).some(Boolean);
  const made = await acts(busy);
  expect(made.map(({ number }) => number)).toEqual(made.map((_, at) => `${at + 1}`));
  const entries = (await entriesOf(busy.sql)).filter(({ kind }) => kind === "act");
  expect(entries.map(({ body }) => body.act)).toEqual(made.map(({ number }) => number));
  expect(await actFault(busy.sql)).toBeNull();
  // What cannot be seen, breaks a line or is too long.
  await busy.transaction(({ sql }) =>
    recordAct(sql, { ...act(0), details: { text: `\u202e\n\`${"x".repeat(9_000)}`, none: "" } }),
  );
  const details = (await acts(busy)).at(-1)?.details;
  expect(details).toEqual({
    none: null,
    text: expect.stringMatching(/^\\u\{202e\}\\u\{a\}\\u\{60\}x+\.\.\.$/),
  });
});

/** What a pack of the first coin says of acts, and the deployment's entries. */
const packed = async (name: string) => {
  const out = join(folder.path, name);
  const range = ["--from", "20", "--to", "40"];
  await run("index", "--last", "40");
  await run("audit-pack", "--coin", coins[0] ?? "", ...range, "--out", out);
  const text = Buffer.from((await filesIn(out)).get("acts.ndjson") ?? []).toString();
  const lines: ActLine[] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { out, text, lines, entries: await entriesOf(database.sql) };
};

test("in a deployment of two issuers and an EVM project, the pack of one reveals nothing about the others", async () => {
  const all = await acts();
  expect(new Set(all.map(({ coinType, scope }) => coinType ?? scope))).toEqual(
    new Set(["deployment", "project", coins[0], coins[1]]),
  );
  const { out, text, lines, entries } = await packed("alpha");
  const own = all.filter(({ scope, coinType }) => scope === "deployment" || coinType === coins[0]);
  expect(lines.map(({ number }) => number)).toEqual(own.map(({ number }) => number));
  expect(text).not.toMatch(FOREIGN);
  expect(text).not.toContain(coins[1]);
  const report = Buffer.from((await filesIn(out)).get("report.md") ?? []).toString();
  expect(report).not.toMatch(FOREIGN);

  const published = entries.filter(({ kind }) => kind === "act");
  expect(published).toHaveLength(all.length);
  for (const { body } of published) expect(Object.keys(body).toSorted()).toEqual(["act", "sha256"]);
  // Everything but the salt is known to whoever guesses right.
  const [other] = (await acts()).filter(({ coinType }) => coinType === coins[1]);
  const { entry, salt, ...guessed } = other ?? {};
  const hash = (value: object) =>
    createHash("sha256")
      .update(canonicalJson({ ...value }))
      .digest("hex");
  const body = published.find((each) => each.number === entry)?.body;
  expect(body?.sha256).toBe(hash({ ...guessed, salt }));
  expect(body?.sha256).not.toBe(hash(guessed));
  expect(`${salt}`).toMatch(/^[0-9a-f]{32}$/);

  const said = await run("audit-pack", "verify", out);
  expect(said).toContain("not shown: that acts.ndjson has every act on the token");
  const listed: unknown = JSON.parse(await run("acts", "--json"));
  expect(listed).toEqual(await acts());
}, 240_000);

/** The deployment's own, as a liar who runs it has it. */
const ownKey = async () => {
  const [row] = await database.sql<{ id: string; publicKey: string; sealed: Buffer }[]>`
    select key_id as id, public_key as "publicKey", sealed_secret as sealed from deployment_keys
    order by made_at desc limit 1`;
  const { id = "", publicKey = "", sealed = Buffer.alloc(0) } = row ?? {};
  const secret = unseal(masterKey, `deployment key ${id}`, sealed, "");
  return { publicKey, secretKey: Buffer.from(secret).toString("base64") };
};

/** Puts other acts into a pack, with the report that follows, and signs it. */
const withActs = async (out: string, acts: readonly ActLine[]) => {
  const text = acts.map((act) => `${canonicalJson({ ...act })}\n`).join("");
  await writeFile(join(out, "acts.ndjson"), text);
  const { files: _, ...head } = await manifestOf(out);
  const outcome = await checkContents(await openFiles(out), head, 6);
  await writeFile(join(out, "report.md"), reportOf(head, outcome));
  await signAnew(out, undefined, await ownKey());
};

test("whoever kept the entries detects an act that was changed, backdated, swapped or renumbered, and sees that one is missing", async () => {
  const { out, lines, entries } = await packed("kept");
  const kept = join(folder.path, "entries.jsonl");
  await writeFile(kept, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const { publicKey } = await ownKey();
  const verifying = ["audit-pack", "verify", out, "--key", publicKey];
  const verify = async (acts: readonly ActLine[]) => {
    await withActs(out, acts);
    const held = await runCommand([...verifying, "--entry", kept], {});
    return { held: held.code, says: `${held.stdout}${held.stderr}` };
  };
  /** What a reader sees who kept nothing. */
  const alone = () => runCommand(verifying, {});
  const changed = (at: number, edit: Partial<ActLine>) =>
    lines.map((act, index) => (index === at ? { ...act, ...edit } : act));
  const honest = await verify(lines);
  expect(honest.held).toBe(0);
  expect(await alone()).toMatchObject({ code: 0 });
  expect(honest.says).toMatch(
    /by: entries [\d, ]+ and \d+ more of the deployment's sequence, which you kept: each has the hash/,
  );
  const [first, second, third] = lines;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error("few acts");
  const { user, ...elsewhere } = second.by;
  expect(user).not.toBe("nobody");
  const lies: Readonly<Record<string, readonly ActLine[]>> = {
    "by another account": changed(1, { by: { ...elsewhere, user: "nobody" } }),
    "dated back": changed(0, { at: "2020-01-01T00:00:00.000Z" }),
    "another command": changed(1, { command: "status" }),
    "other details": changed(1, { details: {} }),
    "another salt": changed(1, { salt: "0".repeat(32) }),
    "the entry of another": changed(1, { entry: `${BigInt(second.entry ?? 0) + 1n}` }),
    "no entry any more": [
      first,
      ...lines.slice(1).map((act) => ({ ...act, entry: null, salt: "0".repeat(32) })),
    ],
    renumbered: [first, { ...third, number: second.number }, ...lines.slice(3)],
  };
  for (const [name, acts] of Object.entries(lies)) {
    const { held, says } = await verify(acts);
    expect({ name, held, says }).toMatchObject({
      held: 1,
      says: expect.stringMatching(/acts.ndjson: (act|line) \d+/),
    });
  }
  const missing = await verify([first, ...lines.slice(2)]);
  expect(missing.held).toBe(0);
  expect(await alone()).toMatchObject({ code: 0 });
  expect(missing.says).toMatch(
    /not shown: what entr.*which you kept.*because they are on other tokens or were left out/,
  );
  // What client and page find by themselves.
  const wrong: Readonly<Record<string, readonly ActLine[]>> = {
    "stands out of its order": [second, first],
    "before the line above it": changed(1, { at: "2020-01-01T00:00:00.000Z" }),
    "neither on the pack's coin": changed(1, { scope: "coin", coinType: coins[1] ?? "" }),
    "is of no known form": changed(1, { command: "Keys\u001b[2J" }),
  };
  for (const [what, acts] of Object.entries(wrong)) {
    await withActs(out, lines);
    const text = acts.map((act) => `${canonicalJson({ ...act })}\n`).join("");
    await writeFile(join(out, "acts.ndjson"), text);
    await signAnew(out, undefined, await ownKey());
    await expect(verifyAuditPack(await filesIn(out)), what).rejects.toThrow(what);
  }
}, 240_000);

test("verify --log names an act that can no longer be parsed", async () => {
  const log = ["verify", "--log"];
  await run("rebuild", "role_changes");
  const honest = await runCommand(log, settings);
  expect(honest).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /on faith: the (newest operators' act, which has|\d+ newest operators' acts, which have) no entry/,
    ),
  });
  await using altered = await copyOf(database);
  await alterLog(altered, "update operator_acts set details = '{' where number = 2");
  const { code, stdout } = await runCommand(log, { ...settings, DATABASE_URL: altered.url });
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringMatching(/no JSON/) });
}, 240_000);
