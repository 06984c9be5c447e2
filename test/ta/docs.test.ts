/** The examples of docs/how-to/transfer-agent.md, run as they stand against a running API. */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../service/process.ts";
import { type Api, startApi } from "./api.ts";
import { bodyOf } from "./submissions.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const page = await readFile(join(root, "docs", "how-to", "transfer-agent.md"), "utf8");

/** The first code block of a language after these words. */
const example = (after: string, language: string): string => {
  const found = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(page.split(after)[1] ?? "");
  if (found?.[1] === undefined) throw new Error(`the page has no ${language} example "${after}"`);
  return found[1];
};

const present = (program: string, ...args: string[]) =>
  run(program, args).then(
    () => true,
    () => false,
  );

/** Everything that is written in another way when it is not the canonical form. */
const NASTY = 'Zoë "\\/\u{1f600}\u2028\u007f\u0001\n\t<é>';

let api: Api;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
/** Where the examples find the command, and what they talk to. */
let surroundings: { readonly cwd: string; readonly env: NodeJS.ProcessEnv };
beforeAll(async () => {
  api = await startApi();
  folder = await temporaryFolder();
  const { path: cwd } = folder;
  await writeFile(join(cwd, "key.json"), JSON.stringify(api.keys));
  const command = `#!/bin/sh\nexec "${process.execPath}" "${join(root, "bin", "holderbook.mjs")}" "$@"\n`;
  await mkdir(join(cwd, "bin"));
  await writeFile(join(cwd, "bin", "holderbook"), command, { mode: 0o755 });
  const path = `${join(cwd, "bin")}:${process.env.PATH}`;
  surroundings = { cwd, env: { PATH: path, HOME: process.env.HOME, TA_URL: api.url } };
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const inFolder = (name: string) => join(folder.path, name);

/** Writes the body that the examples send, indented as people write it. */
const writeBody = (id: string) =>
  writeFile(inFolder("body.json"), JSON.stringify(bodyOf({ id, first_name: NASTY }), null, 2));

const requestsOf = async (investorId: string) => {
  const rows = await api.database.sql<{ id: string }[]>`
    select id from ta_requests where investor_id = ${investorId}`;
  return rows.map(({ id }) => id);
};

const curl = await present("curl", "--version");
if (!curl) console.warn("no curl: its example is skipped");

test.skipIf(!curl)(
  "the curl examples send a request and read the deliveries",
  async () => {
    await writeBody("curl");
    const { stdout } = await run("sh", ["-c", example("With curl:", "sh")], surroundings);
    const [id] = await requestsOf("curl");
    expect(stdout).toMatch(new RegExp(`^{"requestId":"${id}","status":"QUEUED",.*}\\[\\]$`));
  },
  60_000,
);

test("the TypeScript example sends a request", async () => {
  const installed = inFolder("node_modules/holderbook");
  await mkdir(installed, { recursive: true });
  await cp(join(root, "package.json"), join(installed, "package.json"));
  await cp(join(root, "client"), join(installed, "client"), { recursive: true });
  const given = `
    import { readFileSync } from "node:fs";
    const { secretKey } = JSON.parse(readFileSync("key.json", "utf8"));
    const { investor } = JSON.parse(readFileSync("body.json", "utf8"));
    const taUrl = process.env.TA_URL;`;
  const shown = "console.log(answer.status, (await answer.json()).requestId);";
  await writeBody("typescript");
  const source = [given, example("With TypeScript", "ts"), shown].join("\n");
  await writeFile(inFolder("send.mts"), source);
  const { stdout } = await run(process.execPath, ["send.mts"], surroundings);
  expect(stdout).toBe(`201 ${(await requestsOf("typescript"))[0]}\n`);
}, 60_000);

const python = await present("python3", "-c", "import cryptography");
if (!python) console.warn("no python3 with cryptography: the Python example is skipped");

test.skipIf(!python)(
  "the Python example sends a request with any text in it, and reads its status",
  async () => {
    await writeBody("python");
    await writeFile(inFolder("send.py"), example("With Python", "python"));
    const { stdout } = await run("python3", ["send.py"], surroundings);
    const [requestId] = await requestsOf("python");
    expect(JSON.parse(stdout)).toMatchObject({ requestId, status: "QUEUED" });
    const { investor } = await api.vault.open(String(requestId), "test");
    expect(investor.first_name).toBe(NASTY);
  },
  60_000,
);
