// @module-tag thorough
/** An operator who lies and can sign, against the command line, the client and the page. */
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateKeyPair } from "../../client/ed25519.ts";
import { verdictLines, verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import { recordAct } from "../../src/audit/sequence/acts.ts";
import { verifyPack } from "../../src/evidence/pack/verify.ts";
import { readCheckpointFile } from "../../src/ledger/sources/chk-file.ts";
import { checkFiles } from "../../web/src/pages/proof/check/check.ts";
import { chromiumPath, openPage } from "../chromium.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { runProgram, temporaryFolder } from "../service/process.ts";
import { FORGED_ACTS, withActs } from "./forged-acts.ts";
import { FORGED_EPOCHS, FORGED_FILES } from "./forged-files.ts";
import { FORGERIES, FORGERIES_OF_ACTS, FORGERIES_OF_WHOLE, UNPROVEN } from "./forgeries.ts";
import type { Forgery } from "./forging.ts";
import { filesIn, filesOfKept, filesOfVersion1, type PackInMemory, signedAnew } from "./packs.ts";

const chromium = await chromiumPath();
if (chromium === undefined) console.warn("no chromium on this machine: its test is skipped");

const root = join(import.meta.dirname, "..", "..");

/** The deployment's, which the auditor knows. */
const key = generateKeyPair();
const known = { publicKey: key.publicKey };

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let proven: PackInMemory;
let signed: PackInMemory;
let whole: PackInMemory;
/** The same through two ends of epochs, of which the first has facts. */
let longer: PackInMemory;

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  proven = signedAnew(await filesOfVersion1("proven"), undefined, key);
  signed = signedAnew(await filesOfVersion1("signed"), undefined, key);
  const ledger = join(folder.path, "ledger");
  const options = { checkpoints: 60, seed: 5, format: "chk", epochLength: 20 } as const;
  const { chainId, packages, coinTypes } = await writeDemoLedger({ dir: ledger, ...options });
  const coin = coinTypes[0]?.coinType ?? "";
  const following = await follow(database, { chainId, packages });
  const files = Array.from({ length: 60 }, (_, at) => join(ledger, `${at}.chk`));
  await following.append(await Promise.all(files.map((file) => readCheckpointFile(file))));
  await following.project(1_000);
  await database.transaction(async ({ sql }) => {
    await recordAct(sql, { command: "rebuild", details: { pipeline: "x" }, on: "deployment" });
    await recordAct(sql, { command: "keys create", details: { id: "k" }, on: { coinType: coin } });
  });
  const madeThrough = async (to: string) => {
    const out = join(folder.path, `through-${to}`);
    const ran = await runCommand(
      ["audit-pack", "--coin", coin, "--from", "25", "--to", to, "--out", out],
      {
        DATABASE_URL: database.url,
        CALLBACK_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
        LEDGER_SOURCE: `dir:${ledger}`,
        COMMITTEE_FILE: join(ledger, "ledger.json"),
      },
    );
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    return signedAnew(await filesIn(out), undefined, key);
  };
  whole = await madeThrough("32");
  longer = await madeThrough("50");
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

/** What is in a folder for packs, by its name. */
const onDisk = new Map<string, PackInMemory>();

/** A folder with a pack, in place of the one before: only files that differ are written. */
const written = async (pack: PackInMemory, name = "pack"): Promise<string> => {
  const dir = join(folder.path, name);
  const before: PackInMemory = onDisk.get(name) ?? new Map();
  onDisk.set(name, pack);
  for (const path of before.keys()) {
    if (!pack.has(path)) await rm(join(dir, path));
  }
  for (const [path, bytes] of pack) {
    if (before.get(path) === bytes) continue;
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), bytes);
  }
  return dir;
};

/** Each of many packs is verified by all three. */
const LONG = 180_000;

/** What a check says: the refusal, or the tiers. */
type Said = readonly [string] | readonly (boolean | null)[];

const saidBy = async (
  checking: ReturnType<typeof verifyPack | typeof verifyAuditPack>,
): Promise<Said> => {
  try {
    const { authentic, consistent, complete } = (await checking).verdict;
    return [authentic.holds, consistent.holds, complete.holds];
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AuditPackError") throw error;
    return [error.message];
  }
};

const onPage = async (pack: PackInMemory): Promise<readonly string[]> => {
  const files = new Map([...pack].map(([path, bytes]) => [path, new Blob([bytes])] as const));
  const { steps, contents } = await checkFiles(files, () => undefined);
  const results: string[] = steps.map(({ result }) => result);
  // Nothing of what was refused is shown.
  if (results.includes("fails")) expect(contents).toEqual([]);
  return results;
};

/** What was made of each pack: tests share it, and what the client says of it. */
const made = new Map<PackInMemory, Map<Forgery, PackInMemory>>();
const forgedOf = async (pack: PackInMemory, forgery: Forgery): Promise<PackInMemory> => {
  const ofPack = made.get(pack) ?? new Map<Forgery, PackInMemory>();
  made.set(pack, ofPack);
  const forged = ofPack.get(forgery) ?? (await forgery.forge(pack, key));
  ofPack.set(forgery, forged);
  return forged;
};

const verified = new Map<PackInMemory, ReturnType<typeof verifyAuditPack>>();
const byClient = (pack: PackInMemory): ReturnType<typeof verifyAuditPack> => {
  const verifying = verified.get(pack) ?? verifyAuditPack(pack, known);
  verified.set(pack, verifying);
  return verifying;
};

const survey = async (pack: PackInMemory, forgeries: readonly Forgery[]) => {
  const wrong: string[] = [];
  for (const forgery of forgeries) {
    const { name, foundBy } = forgery;
    const forged = await forgedOf(pack, forgery);
    const command = await saidBy(verifyPack(await written(forged), known));
    const client = await saidBy(byClient(forged));
    const page = await onPage(forged).catch((error: Error) => [error.name]);
    const isRefused = command.length === 1;
    const isAsSaid =
      foundBy === "all"
        ? isRefused && client[0] === command[0] && !page.includes("holds")
        : isRefused &&
          `${client}` === `${[true, null, null]}` &&
          `${page}` === `${["open", "open", "open"]}`;
    if (!isAsSaid) wrong.push(`${name}: ${command} | ${client} | ${page}`);
  }
  return wrong;
};

test(
  "no edit of a pack of version 1 passes, and client and page refuse the detectable ones in the command's words",
  async () => {
    expect(await survey(proven, [...FORGERIES, ...FORGED_FILES])).toEqual([]);
    expect(FORGERIES.length).toBeGreaterThan(120);
  },
  LONG,
);

test(
  "no edit of a pack with all facts of its token passes",
  async () => {
    const forgeries = [...FORGERIES, ...FORGERIES_OF_WHOLE, ...FORGERIES_OF_ACTS];
    expect(await survey(whole, forgeries)).toEqual([]);
    const acting = withActs(await filesOfKept("v2-whole"), key);
    expect(await survey(acting, FORGED_ACTS)).toEqual([]);
  },
  LONG,
);

test(
  "no file passes that another reader reads differently or that nothing reads",
  async () => {
    expect(await survey(whole, FORGED_FILES)).toEqual([]);
    expect(await survey(longer, FORGED_EPOCHS)).toEqual([]);
  },
  LONG,
);

test("claims that nothing in a pack can prove are reported as unproven where the lie is consistent", async () => {
  for (const pack of [proven, whole]) {
    for (const { name, says, forge } of UNPROVEN) {
      const dir = await written(await forge(pack, key));
      const ran = await runCommand(["audit-pack", "verify", dir, "--key", key.publicKey], {});
      expect(ran, name).toMatchObject({ code: 0, stdout: expect.stringMatching(says) });
    }
  }
});

test("honest packs pass: version 1 proven and as signed, and with all facts", async () => {
  for (const pack of [proven, signed, whole, longer]) {
    expect(await saidBy(verifyPack(await written(pack), known))).toEqual([true, true, null]);
    expect(await saidBy(byClient(pack))).toEqual([true, null, null]);
    expect(await onPage(pack)).toEqual(["open", "open", "open"]);
  }
});

test("exit codes distinguish forged, honest, unproven and misused; a process ends with those of forged and unproven", async () => {
  const honest = await written(whole, "honest");
  const given = ["--key", key.publicKey];
  const command = (...args: readonly string[]) => ["audit-pack", "verify", ...args, ...given];
  expect(await runCommand(command(honest), {})).toMatchObject({ code: 0, stderr: "" });
  expect(await runProgram(command(honest, "--require", "complete"), {})).toMatchObject({ code: 3 });
  expect(await runCommand(command(honest, "--require", "truth"), {})).toMatchObject({ code: 2 });
  for (const [named, run] of [
    ["the largest holder is left out", runCommand],
    ["a ledger that clears the terminal", runProgram],
  ] as const) {
    const forgery = FORGERIES.find(({ name }) => name.endsWith(named));
    if (forgery === undefined) throw new Error(`no edit is called ${named}`);
    const ran = await run(command(await written(await forgedOf(whole, forgery))), {});
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr.trimEnd()).toMatch(/^[\x20-\x7e]*$/);
  }
});

test.skipIf(chromium === undefined)(
  "a browser gives the client's Node verdict on every edit",
  async () => {
    // As before `npm test`, but also where this file runs alone; does nothing when it is there.
    await promisify(execFile)(process.execPath, [join(root, "bin", "client.mjs")]);
    const client = join(root, "client", "dist");
    const packs = [
      whole,
      ...(await Promise.all([...FORGERIES, ...FORGED_FILES].map((one) => forgedOf(whole, one)))),
    ];
    /** What an edit changes: files of the first pack that are others, or null where they are gone. */
    const changedBy = (pack: PackInMemory) =>
      [...new Set([...whole.keys(), ...pack.keys()])]
        .filter((path) => pack === whole || pack.get(path) !== whole.get(path))
        .map((path) => {
          const bytes = pack.get(path);
          return [path, bytes === undefined ? null : Buffer.from(bytes).toString("base64")];
        });
    const asked = (path: string) =>
      /^\/packs\/\d+$/.test(path) ? packs[Number(path.slice("/packs/".length))] : undefined;
    await using server = createServer(async ({ url = "/" }, response) => {
      const pack = asked(url);
      if (pack !== undefined) {
        response.setHeader("content-type", "application/json");
        return response.end(JSON.stringify(changedBy(pack)));
      }
      const name = /^\/([a-z0-9-]+\.m?js)$/.exec(url)?.[1];
      response.setHeader("content-type", name === undefined ? "text/html" : "text/javascript");
      return response.end(
        name === undefined ? "<title>A page</title>" : await readFile(join(client, name)),
      );
    });
    // A connection that carries no request keeps a server open.
    using _closing = { [Symbol.dispose]: () => server.closeAllConnections() };
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the server has no port");
    await using page = await openPage(chromium ?? "", `http://127.0.0.1:${address.port}/`);
    await page.until("document.title === 'A page'");
    const saidInBrowser = (from: number, before: number) =>
      page.evaluate(`import("/verify-audit-pack.js").then(async ({ verifyAuditPack, verdictLines }) => {
    const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const changes = async (at) => (await (await fetch("/packs/" + at)).json())
      .map(([path, text]) => [path, text === null ? null : bytes(text)]);
    globalThis.honest ??= await changes(0);
    const said = [];
    for (let at = ${from}; at < ${before}; at += 1) {
      const pack = new Map(globalThis.honest);
      for (const [path, now] of at === 0 ? [] : await changes(at)) {
        if (now === null) pack.delete(path);
        else pack.set(path, now);
      }
      const options = { publicKey: ${JSON.stringify(key.publicKey)} };
      said.push(await verifyAuditPack(pack, options).then(
        ({ verdict }) => verdictLines(verdict).join("\\n"),
        (error) => error.name + ": " + error.message,
      ));
    }
    return said;
  })`);
    const found: unknown[] = [];
    // Some at a time: the browser has to answer within half a minute, on a busy machine too.
    for (let from = 0; from < packs.length; from += 20) {
      const said = await saidInBrowser(from, Math.min(from + 20, packs.length));
      found.push(...(Array.isArray(said) ? said : []));
    }
    const inNode: string[] = [];
    for (const pack of packs) {
      inNode.push(
        await byClient(pack).then(
          ({ verdict }) => verdictLines(verdict).join("\n"),
          (error: Error) => `${error.name}: ${error.message}`,
        ),
      );
    }
    expect(found).toEqual(inNode);
  },
  LONG,
);
