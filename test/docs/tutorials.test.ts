/** Every tutorial as it stands, one after the other, with one service of the demo. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openApiDocument } from "../../bin/reference/openapi.ts";
import { pagesOfService } from "../../bin/reference/pages.ts";
import { freePort } from "../lanes/redis-server.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "../service/process.ts";
import { done, type Running } from "./tutorial.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

let running: Running;
let program: Program;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  const settings = { DATA_DIR: dataDir, PORT: "0", DEMO_HISTORY: "400", LOG_LEVEL: "warn" };
  program = startProgram(["start"], settings);
  const [, url = ""] = await program.sees(/Health +(http:\S+)\/health/);
  await program.sees(/Ctrl-C/);
  running = { url, dataDir, port: await freePort() };
  await eventually("everything is read", async () => {
    const health: unknown = await (await fetch(`${url}/health`)).json();
    const status =
      typeof health === "object" && health !== null && "status" in health && health.status;
    return status === "ok" ? { done: true } : { seen: health };
  });
}, 120_000);

afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** What a reader sees at the end of each. */
const SEEN: Readonly<Record<string, readonly RegExp[]>> = {
  "first-register": [
    /"symbol":"ACME"/,
    /"timelockBalance":"\d+"/,
    /"share":"0\.\d{12}"/,
    /ok +indexing/,
    /"label":"my first program"/,
  ],
  "copy-a-cap-table": [
    /holder_id,wallets,balance/,
    /the same\n/,
    /"checkpoint":\s*"150"/,
    /(\d+) holders have (\d+) of \2 at/,
    /owners, 0 differ/,
  ],
  "follow-holders": [
    /"eventType":"holder_added"/,
    /event: next/,
    /20 changes taken; \d+ balances known\n20 changes taken/,
  ],
  "answer-an-auditor": [
    /everything adds up/,
    /"publicKey"/,
    /token_activity/,
    /"checkpoint":"150"/,
  ],
  "whitelist-an-investor": [
    /"status":"QUEUED"/,
    /"status":"SUCCESS"/,
    /"isWhitelisted":true/,
    /\{"eventType":"\w+","address":"0x[0-9a-f]{64}","groupId":"1"/,
  ],
  "receive-a-callback": [/"type":"kyc"/, /401\nCallbackSignatureError/, /"status":"delivered"/],
};

test("every tutorial is among those that are done here", async () => {
  const pages = await readdir(join(ROOT, "docs", "tutorials"));
  expect(pages.toSorted()).toEqual(
    Object.keys(SEEN)
      .map((name) => `${name}.md`)
      .toSorted(),
  );
});

test.each(Object.entries(SEEN))(
  "%s: a reader who does it sees what it says",
  async (name, seen) => {
    const printed = await done(name, running);
    for (const one of seen) expect(printed).toMatch(one);
  },
  110_000,
);

test("the reference of REST and of the transfer agent is what the service says of itself", async () => {
  const answer = await fetch(`${running.url}/openapi.json`);
  for (const [path, text] of pagesOfService(openApiDocument.parse(await answer.json()))) {
    const page = await readFile(join(ROOT, path), "utf8");
    expect(page === text, `${path} is not current: run \`npm run docs\``).toBe(true);
  }
});
