// @module-tag thorough
/** Every tutorial as it stands, one after the other, with one service of the demo. */
import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openApiDocument } from "../../bin/reference/openapi.ts";
import { pagesOfService } from "../../bin/reference/pages.ts";
import { runCommand } from "../commands/run-command.ts";
import { freePort } from "../lanes/redis-server.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "../service/process.ts";
import { done, pattern, type Running, stepsOf } from "./tutorial.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

let running: Running;
let program: Program;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
/** Before the first tutorial; each leaves them as they were. */
let keysAtFirst: readonly string[];

beforeAll(async () => {
  folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  // More than the 250 checkpoints of which the auditor's tutorial has a pack.
  const settings = { DATA_DIR: dataDir, PORT: "0", DEMO_HISTORY: "300", LOG_LEVEL: "warn" };
  program = startProgram(["start"], settings);
  const [, url = ""] = await program.sees(/Health +(http:\S+)\/health/);
  await program.sees(/Ctrl-C/);
  running = { url, dataDir, port: await freePort() };
  await eventually("everything is read", async () => {
    const health: unknown = await (await fetch(`${url}/health`)).json();
    const status =
      typeof health === "object" && health !== null && "status" in health && health.status;
    // The log's chain is begun some seconds after the start; the auditor's tutorial shows it.
    const isChained = /"chainedThrough":"\d/.test(JSON.stringify(health));
    return status === "ok" && isChained ? { done: true } : { seen: health };
  });
  keysAtFirst = await liveKeys();
}, 120_000);

afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Its commands are run by npm, as a reader's; those of the others by the program that npm would run. */
const WITH_NPM = "first-register";

const names = (await readdir(join(ROOT, "docs", "tutorials"))).map((page) => basename(page, ".md"));

test("there are tutorials, and each shows expected output", async () => {
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) {
    const shown = (await stepsOf(name)).filter((step) => step.shown !== "");
    expect(shown.length, name).toBeGreaterThan(2);
  }
});

test("the first tutorial shows what the start prints", async () => {
  const [start] = await stepsOf("first-register");
  expect(start?.command).toBe("npm start\n");
  const { url, dataDir } = running;
  const shown = start?.shown.replaceAll("http://localhost:4000", url) ?? "";
  expect(`${program.printed.stdout}\n`, dataDir).toMatch(pattern(shown));
});

test.each(names)(
  "%s: a reader who follows it sees the output shown, and nothing is left at the end",
  async (name) => {
    const { seen, left } = await done(name, running, name === WITH_NPM);
    for (const step of seen) {
      const printed = step.seen === "" || step.seen.endsWith("\n") ? step.seen : `${step.seen}\n`;
      expect(printed, step.command).toMatch(pattern(step.shown));
    }
    expect(left).toEqual([]);
    expect(await liveKeys()).toEqual(keysAtFirst);
  },
  300_000,
);

const liveKeys = async (): Promise<readonly string[]> => {
  const { stdout } = await runCommand(["keys", "list"], { DATA_DIR: running.dataDir });
  return stdout.split("\n").filter((line) => line.includes('"revokedAt":null'));
};

test("git ignores everything a reader makes on the way, especially keys", () => {
  const made = ["try/now.csv", "try/my-key", "my-key", "start-key", "acme.key", "ta-key.json"];
  const ignored = execFileSync("git", ["check-ignore", ...made], { cwd: ROOT, encoding: "utf8" });
  expect(ignored.trim().split("\n")).toEqual(made);
});

test("the references of REST and the transfer agent match the service's own descriptions", async () => {
  const answer = await fetch(`${running.url}/openapi.json`);
  for (const [path, text] of pagesOfService(openApiDocument.parse(await answer.json()))) {
    const page = await readFile(join(ROOT, path), "utf8");
    expect(page === text, `${path} is not current: run \`npm run docs\``).toBe(true);
  }
});
