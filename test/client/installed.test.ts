/**
 * The package as its users have it: packed, installed, its README's examples run as they stand; and what it
 * promises where connections are lost.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createBook } from "../../client/index.mjs";
import { createKey } from "../../src/http/keys.ts";
import { temporaryFolder } from "../service/process.ts";
import { type Demo, startDemo } from "../web/demo.ts";

const run = promisify(execFile);
const client = fileURLToPath(new URL("../../client/", import.meta.url));
const readme = await readFile(join(client, "README.md"), "utf8");

/** The example below a heading. */
const exampleOf = (heading: string): string => {
  const section = readme.split(/^## /m).find((text) => text.startsWith(heading));
  const code = /```js\n(.*?)```/s.exec(section ?? "")?.[1];
  if (code === undefined) throw new Error(`client/README.md has no example below "${heading}"`);
  return code;
};

const running = new AsyncDisposableStack();
let demo: Demo;
let folder: string;

beforeAll(async () => {
  folder = running.use(await temporaryFolder()).path;
  demo = running.use(await startDemo());
  // As npm publishes it, installed as a user does.
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: client,
  });
  const [packed] = z.array(z.object({ filename: z.string() })).parse(JSON.parse(stdout));
  const project = join(folder, "project");
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{ "type": "module", "private": true }');
  const archive = join(folder, packed?.filename ?? "");
  await run("npm", ["install", "--no-audit", "--no-fund", "--offline", archive], { cwd: project });
}, 180_000);
afterAll(() => running.disposeAsync());

/** Output of an example; the Node that runs it is the one in the path, 20 or newer. */
const output = async (heading: string, settings: Readonly<Record<string, string>> = {}) => {
  const file = join(folder, "project", "example.mjs");
  await writeFile(file, exampleOf(heading));
  const { stdout } = await run("node", [file], {
    cwd: join(folder, "project"),
    timeout: 60_000,
    env: {
      PATH: process.env.PATH,
      HOLDERBOOK_URL: demo.url,
      HOLDERBOOK_KEY: demo.readKey,
      COIN_TYPE: demo.coinTypes[0] ?? "",
      ...settings,
    },
  });
  return stdout;
};

test("the package installs without a dependency and lists the tokens", async () => {
  const printed = await output("A register");
  for (const coinType of demo.coinTypes) expect(printed).toContain(coinType);
  const listed = await run("npm", ["ls", "--all", "--parseable"], {
    cwd: join(folder, "project"),
  });
  expect(listed.stdout.trim().split("\n")).toHaveLength(2);
});

test("a cap table is read whole, adds up, and has the same root when it is asked for again", async () => {
  const printed = await output("A cap table");
  expect(printed).toMatch(/^checkpoint \d+: (\d+) of \1, all$/m);
  expect(printed).toContain("the same root");
});

test("balances are followed from the first change on", async () => {
  expect(await output("Following")).toMatch(/^20 changes of \d+ balances$/m);
});

test("a wallet is whitelisted, and its request waited for", async () => {
  const printed = await output("The transfer agent", {
    HOLDERBOOK_SECRET_KEY: await demo.agentSecretKey(),
    WALLET: `0x${randomBytes(32).toString("hex")}`,
  });
  expect(printed).toBe("SUCCESS on the ledger\n");
});

test("transfer events of a project are listed to their end", async () => {
  const { secret } = await createKey(demo.database, { kind: "project", subject: "demo" });
  const settings = { HOLDERBOOK_PROJECT_KEY: secret };
  expect(await output("Transfer events", settings)).toBe("0 transfers\n");
});

test("a receiver of callbacks is set up with the keys that the service lists", async () => {
  expect(await output("Callbacks")).toBe("ready\n");
});

test("what is no statement is refused by name", async () => {
  expect(await output("Statements")).toBe("StatementError\n");
});

test("followers whose connections are lost at any place miss nothing and get nothing twice", async () => {
  const [coinType = ""] = demo.coinTypes;
  const key = demo.readKey;
  const whole = createBook({ url: demo.url, key });
  const expected: string[] = [];
  for await (const { cursor } of whole.balanceChanges({ coinType, follow: false })) {
    expected.push(cursor);
  }
  expect(expected.length).toBeGreaterThan(100);

  let connections = 0;
  /** Ends each answer after some bytes, in the midst of an event too. */
  const losing: typeof fetch = async (address, init) => {
    const response = await fetch(address, init);
    connections += 1;
    let left = 3_000 + connections * 1_777;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        controller.enqueue(chunk.subarray(0, left));
        left -= chunk.length;
        if (left <= 0) controller.terminate();
      },
    });
    return new Response(response.body?.pipeThrough(cut) ?? null, {
      status: response.status,
      headers: response.headers,
    });
  };
  const seen: string[] = [];
  const book = createBook({ url: demo.url, key, fetch: losing });
  for await (const { cursor } of book.balanceChanges({ coinType })) {
    seen.push(cursor);
    if (seen.length === expected.length) break;
  }
  expect(connections).toBeGreaterThan(2);
  expect(seen).toEqual(expected);
}, 120_000);

test("following ends with the signal's reason, and a key that does not open is an error at once", async () => {
  const ending = new AbortController();
  const book = createBook({ url: demo.url, key: demo.readKey });
  const follow = async () => {
    for await (const statuses of book.statusChanges({ signal: ending.signal })) {
      expect(statuses).toHaveLength(5);
      ending.abort(new Error("enough"));
    }
  };
  await expect(follow()).rejects.toThrow("enough");
  const stranger = createBook({ url: demo.url, key: "hb_graphql_nobody" });
  await expect(stranger.status()).rejects.toMatchObject({ status: 401, remedy: "stop" });
});
