/** How much a command loads before it does its work: counted, because seconds say more of the machine. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMANDS } from "../../src/commands/list.ts";
import { runCommand } from "./run-command.ts";

const run = promisify(execFile);

const LAUNCHER = fileURLToPath(new URL("../../bin/holderbook.mjs", import.meta.url));

/** A database that does not answer: a command ends when it would connect for the first time. */
const UNREACHABLE = "postgres://user@127.0.0.1:1/holderbook";

/** Writes down which modules of our own and of packages a process has loaded, one a line, as it ends. */
const COUNTING = `
import { registerHooks } from "node:module";
import { writeFileSync } from "node:fs";
const loaded = [];
registerHooks({
  load: (url, context, next) => {
    if (!url.startsWith("node:")) loaded.push(url);
    return next(url, context);
  },
});
process.on("exit", () => {
  if (process.argv[1]?.endsWith("main.ts")) writeFileSync(process.env.LOADED, loaded.join("\\n"));
});
`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holderbook-quick-"));
  await writeFile(join(folder, "counting.mjs"), COUNTING);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The modules that a command loads until it ends. */
const loadedBy = async (args: readonly string[]): Promise<readonly string[]> => {
  const file = join(folder, `loaded-${args.join("-").replaceAll(/\W/g, "_")}`);
  const env = {
    PATH: process.env.PATH,
    NODE_OPTIONS: `--import=${join(folder, "counting.mjs")}`,
    LOADED: file,
    DATABASE_URL: UNREACHABLE,
    DATA_DIR: join(folder, "data"),
    DEMO_HISTORY: "10",
    LOG_LEVEL: "silent",
  };
  // Most of them cannot do their work; what they loaded for it is what counts.
  await run(process.execPath, [LAUNCHER, ...args], { cwd: folder, env }).catch(() => undefined);
  return (await readFile(file, "utf8")).split("\n");
};

/** What is heavy, and never needed to reach the database. */
const HEAVY =
  /node_modules\/(viem|graphql|graphql-yoga|fastify|bullmq|@grpc|@pothos|libphonenumber-js|pino-pretty)\/|\/zod\/v4\/locales\/(?!en\.)|\/demo\/issuer\//;

test("help and version load the list of commands and none of their code", async () => {
  for (const args of [["--version"], ["--help"], []]) {
    const loaded = await loadedBy(args);
    expect(
      loaded.filter((url) =>
        /src\/commands\/(?!main|quick-imports|command-line|list|usage)/.test(url),
      ),
    ).toEqual([]);
    expect(loaded.length, loaded.join("\n")).toBeLessThan(25);
  }
});

test.each([
  "start",
  "index",
  "serve",
  "status",
  "migrate",
  "rebuild token_activity",
  "evm reread --chain 1",
  "keys create --kind graphql",
  "keys list",
  "callbacks list --project acme",
  "callbacks rotate",
  "assets reload",
  "pause pipeline token_activity",
  "ta requests",
  "pii rotate",
])("`%s` connects to the database before loading any later code", async (line) => {
  const loaded = await loadedBy(line.split(" "));
  // The driver is there: it did get as far as the database.
  expect(loaded.some((url) => url.includes("node_modules/postgres/"))).toBe(true);
  expect(loaded.filter((url) => HEAVY.test(url)).slice(0, 3)).toEqual([]);
  expect(loaded.length).toBeLessThan(450);
});

test("each command has one description, taken from the list", async () => {
  const { stdout } = await runCommand(["--help"], {});
  const text = stdout.replaceAll(/\s+/g, " ");
  for (const [name, { about, usage = "", load }] of Object.entries(COMMANDS)) {
    expect(text).toContain(`${[name, usage].join(" ").trim()} ${about}`);
    const command = await load();
    expect({ name: command.name(), about: command.description() }).toEqual({ name, about: "" });
    // The list says what follows the name as the command itself would.
    const own = [
      ...(command.options.length > 0 ? ["[options]"] : []),
      ...command.registeredArguments.map((argument) => {
        const named = `${argument.name()}${argument.variadic ? "..." : ""}`;
        return argument.required ? `<${named}>` : `[${named}]`;
      }),
    ];
    expect({ name, usage }).toEqual({ name, usage: own.join(" ") });
  }
});

test.skipIf(process.platform === "win32")(
  "--version takes at most four times the processor time of starting Node twice",
  async () => {
    const node = fileURLToPath(new URL("../../node_modules/node/bin/node", import.meta.url));
    const bare = () => processorTime(`'${process.execPath}' -e 0; '${node}' -e 0`);
    const ours = () => processorTime(`'${process.execPath}' '${LAUNCHER}' --version`);
    await ours();
    // The least of several: another program's work is added to some, never taken off.
    const least = async (measure: () => Promise<number>) => {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) times.push(await measure());
      return Math.min(...times);
    };
    const [twice, version] = [await least(bare), await least(ours)];
    expect(version, `${version} s beside ${twice} s`).toBeLessThanOrEqual(4 * twice);
  },
);

/** Seconds of processor time that the programs of a shell's line took, user and system. */
const processorTime = async (line: string): Promise<number> => {
  const { stdout } = await run("sh", ["-c", `{ ${line}; } > /dev/null; times`], { cwd: folder });
  const [, children = ""] = stdout.trim().split("\n");
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)]
    .map(([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds))
    .reduce((sum, one) => sum + one, 0);
};

test("a reader that closes the output early, as head does, is no error", async () => {
  const piped = `"${process.execPath}" "${LAUNCHER}" --help | true`;
  const { stderr } = await run("sh", ["-c", piped], { cwd: folder });
  expect(stderr).toBe("");
});
