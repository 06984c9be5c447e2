/**
 * The package as its users have it: packed, installed, its README's examples run as they stand; and what it
 * promises where connections are lost.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  buildSchema,
  getNamedType,
  isObjectType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createBook } from "../../client/index.ts";
import { exactMembers } from "../../client/register.ts";
import { createKey } from "../../src/http/keys.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { chromiumPath, openPage } from "../chromium.ts";
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
  demo = running.use(await startDemo({ DEMO_HISTORY: "200" }));
  // As npm publishes it, installed as a user does.
  const { stdout } = await run(
    "npm",
    ["pack", "--json", "--silent", "--pack-destination", folder],
    {
      cwd: client,
    },
  );
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

test("a cap table is read whole, adds up, and has the same root when read again", async () => {
  const printed = await output("A cap table");
  expect(printed).toMatch(/^checkpoint \d+: (\d+) of \1, all$/m);
  expect(printed).toContain("the same root");
});

test("balances are followed from the first change", async () => {
  expect(await output("Following")).toMatch(/^20 changes of \d+ balances$/m);
});

test("a wallet is whitelisted, and its request awaited", async () => {
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

test("an incomplete audit pack is refused, naming the file", async () => {
  await mkdir(join(folder, "project", "pack"), { recursive: true });
  await writeFile(join(folder, "project", "pack", "manifest.json"), "{}");
  expect(await output("Audit packs", { PACK: "pack" })).toBe(
    "manifest.json has not the form of an audit pack of version 1, 2, 3 or 4\n",
  );
});

test("a file that is no statement is refused by name", async () => {
  expect(await output("Statements")).toBe("StatementError\n");
});

test("followers whose connections break anywhere miss nothing and get nothing twice", async () => {
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

test("following ends with the signal's reason, and a rejected key is an immediate error", async () => {
  const ending = new AbortController();
  const book = createBook({ url: demo.url, key: demo.readKey });
  const follow = async () => {
    for await (const statuses of book.statusChanges({ signal: ending.signal })) {
      expect(statuses).toHaveLength(ledgerPipelines.length);
      ending.abort(new Error("enough"));
    }
  };
  await expect(follow()).rejects.toThrow("enough");
  const stranger = createBook({ url: demo.url, key: "hb_graphql_nobody" });
  await expect(stranger.status()).rejects.toMatchObject({ status: 401, remedy: "stop" });
});

/** The demo behind something that changes what is asked and answered. */
const bookBehind = (change: (init: RequestInit, call: number) => Promise<Response> | null) => {
  let calls = 0;
  return createBook({
    url: demo.url,
    key: demo.readKey,
    fetch: async (address, init = {}) => {
      calls += 1;
      return (await change(init, calls)) ?? fetch(address, init);
    },
  });
};

const listed = async <Row>(rows: AsyncIterable<Row> | null): Promise<Row[]> => {
  const all: Row[] = [];
  if (rows === null) return all;
  for await (const row of rows) all.push(row);
  return all;
};

const isStream = ({ headers }: RequestInit) =>
  new Headers(headers).get("accept") === "text/event-stream";

test("behind a proxy that blocks streams, events are polled, with none missed or repeated, in order", async () => {
  const [coinType = ""] = demo.coinTypes;
  const refusals = [
    () => new Response("no streams here", { status: 405 }),
    () => new Response("<title>a proxy</title>", { headers: { "content-type": "text/html" } }),
  ];
  for (const refuse of refusals) {
    const polled = bookBehind((init) => (isStream(init) ? Promise.resolve(refuse()) : null));
    const before = await listed(polled.tokenActivity({ coinType, follow: false }));
    const seen: bigint[] = [];
    for await (const { position } of polled.tokenActivity({ coinType })) {
      seen.push(position);
      // One at least that came while it was followed.
      if (seen.length > before.length) break;
    }
    expect(seen.slice(0, before.length)).toEqual(before.map(({ position }) => position));
    expect(new Set(seen).size).toBe(seen.length);
    for await (const statuses of polled.statusChanges()) {
      expect(statuses).toHaveLength(ledgerPipelines.length);
      break;
    }
    // What is wrong with the question itself is said as plainly.
    const nonsense = polled.balanceChanges({ coinType, after: "nonsense" });
    await expect(nonsense[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      remedy: "stop",
    });
  }
}, 120_000);

test("a truncated answer is requested again, and a rate limit is waited out as instructed", async () => {
  const broken = () =>
    new Response(
      new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) }),
    );
  const limited = () => new Response("{}", { status: 429, headers: { "retry-after": "1" } });
  const book = bookBehind((_init, call) =>
    call === 1 ? Promise.resolve(broken()) : call === 2 ? Promise.resolve(limited()) : null,
  );
  const began = performance.now();
  expect(await book.status()).toHaveLength(ledgerPipelines.length);
  expect(performance.now() - began).toBeGreaterThan(1_000);
});

test("every query and subscription of the schema is read, with every field", async () => {
  const [coinType = ""] = demo.coinTypes;
  const schema = buildSchema(await readFile(join(client, "..", "schema.graphql"), "utf8"));
  const read = new Set<string>();
  const book = bookBehind(({ body }) => {
    const types = new TypeInfo(schema);
    const { query } = z.object({ query: z.string() }).parse(JSON.parse(String(body)));
    visit(
      parse(query),
      visitWithTypeInfo(types, {
        Field: () => {
          read.add(`${types.getParentType()?.name}.${types.getFieldDef()?.name}`);
        },
      }),
    );
    return null;
  });
  const meta = await book.meta();
  const { checkpoint } = meta;
  if (checkpoint === null) throw new Error("nothing is indexed");
  const at = { checkpoint };
  const table = await book.capTable({ coinType, at });
  const rows = await listed(table);
  const held = rows.find(({ holderId }) => holderId !== null);
  const one = await book.capTable({ coinType, at, holder: held?.holderId ?? "" });
  expect(await listed(one)).toEqual([held]);
  expect({ root: one?.root, issued: one?.issued }).toEqual({
    root: table?.root,
    issued: table?.issued,
  });
  const loose = await book.capTable({ coinType, at, having: "NO_HOLDER" });
  expect(await listed(loose)).toEqual(rows.filter(({ holderId }) => holderId === null));
  const token = await book.token({ coinType, at });
  expect(token?.holderCount).toBe(table?.holderCount);
  expect(await book.token({ coinType: "0x9::no::ONE", at })).toBeNull();
  const [status] = await book.status();
  const pipeline = status?.pipeline ?? "";
  expect(await book.replays()).toEqual([]);
  expect(await book.pipelineDigest({ pipeline, checkpoint })).toMatch(/^[0-9a-f]{64}$/);
  const [holder] = await listed(book.holders({ coinType, at }));
  const owner = holder?.owner ?? "";
  await book.balance({ coinType, owner, at });
  await book.roles({ coinType, at });
  await book.completeness({ coinType });
  const labels = await listed(book.labels({ coinType }));
  expect(labels).toContainEqual(expect.objectContaining({ kind: "TREASURY", coinType }));
  expect(await book.search({ text: coinType })).toMatchObject([{ kind: "TOKEN", coinType }]);
  await listed(book.tokens());
  await listed(book.objects({ coinType, owner, at }));
  await listed(book.grants({ coinType, at }));
  await listed(book.stateRanges({ kind: "GRANT", coinType, checkpoint }));
  for await (const { txDigest, position } of book.tokenActivity({ coinType, follow: false })) {
    const transaction = await book.transaction({ digest: txDigest });
    expect(transaction?.activity.map((row) => row.position)).toContain(position);
    expect(transaction?.sender).toMatch(/^0x/);
    break;
  }
  expect(await book.transaction({ digest: "none" })).toBeNull();
  const wallet = await listed(await book.wallet({ address: owner, at }));
  expect(wallet.find((row) => row.coinType === coinType)?.balance).toBe(holder?.balance);
  const account = await book.holder({ coinType, holderId: held?.holderId ?? 0n, at });
  expect(account?.balance).toBe(held?.balance);
  const changes = account === null ? [] : await listed(account.history());
  expect(changes.at(-1)?.totalAfter).toBe(held?.balance);
  const supplies = await book.supply({ coinType, points: 5 });
  expect(supplies.length).toBeGreaterThan(1);
  expect(supplies.every(({ totalSupply }) => totalSupply !== null)).toBe(true);
  expect(await book.holderCounts({ coinType, points: 5 })).toHaveLength(supplies.length);
  for (const follow of [true, false]) {
    for (const events of [
      book.tokenActivity({ coinType, follow, holders: true }),
      book.holderEvents({ coinType, follow }),
      book.roleEvents({ coinType, follow }),
      book.balanceChanges({ coinType, follow, holders: true }),
    ]) {
      for await (const _ of events) break;
    }
  }
  for await (const _ of book.statusChanges()) break;
  const filtered = { ...{ coinType, follow: false }, order: "DESC", to: at } as const;
  const moved = await listed(
    book.tokenActivity({ ...filtered, owner, types: ["mint", "transfer"] }),
  );
  expect(moved.every((row) => [row.fromAddress, row.toAddress].includes(owner))).toBe(true);
  const { holderId } = held ?? {};
  if (holderId == null) throw new Error("nobody is registered");
  const changed = await listed(book.balanceChanges({ ...filtered, holderId, holders: true }));
  expect(changed.length).toBeGreaterThan(0);
  expect(changed.every((row) => row.holderId === holderId)).toBe(true);

  const all = Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !/^__|(Connection|Edge|^PageInfo)$/.test(type.name))
    .flatMap((type) =>
      isObjectType(type) ? Object.keys(type.getFields()).map((name) => `${type.name}.${name}`) : [],
    );
  // A connection has the rows of its list.
  const lists = all.filter((field) => !/Connection$/.test(field));
  expect(lists.filter((field) => !read.has(field))).toEqual([]);
}, 120_000);

test("decimal text in the schema becomes a bigint, and nothing else does", async () => {
  const schema = buildSchema(await readFile(join(client, "..", "schema.graphql"), "utf8"));
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || /^(__|Query|Subscription)/.test(type.name)) continue;
    for (const { name, description, type: of } of Object.values(type.getFields())) {
      if (getNamedType(of).name !== "String" || name === "historyFilledThrough") continue;
      // A date, which is never digits alone; a backfill's member of this name is a checkpoint.
      if (type.name === "Label" && name === "at") continue;
      const value = exactMembers({ [name]: "7" })[name];
      expect([type.name, name, typeof value]).toEqual([
        type.name,
        name,
        /decimal/i.test(description ?? "") ? "bigint" : "string",
      ]);
    }
  }
});

test("the installed package's types accept ordinary use and reject mistakes", async () => {
  const project = join(folder, "project");
  const program = (amount: string) => `
    import { createBook, verifyAuditPack, type BalanceChange } from "holderbook-client";
    import { verifyStatement } from "holderbook-client/verify-statement";
    const book = createBook({ url: "https://a.example", key: "k" });
    export async function* changes(signal: AbortSignal): AsyncGenerator<BalanceChange> {
      const table = await book.capTable({ coinType: "0x1::a::A", at: { time: new Date() } });
      for await (const { wallets } of table ?? []) console.log(wallets[0]?.address);
      yield* book.balanceChanges({ coinType: "0x1::a::A", signal });
      const { first } = await verifyAuditPack(new Map([["a", new Blob([])]]));
      const total: ${amount} = first.total;
      console.log(total, verifyStatement({}).root);
    }`;
  await writeFile(join(project, "right.mts"), program("bigint"));
  await writeFile(join(project, "wrong.mts"), program("number"));
  const modules = join(client, "..", "node_modules");
  const found = await run(
    process.execPath,
    [
      join(modules, "typescript", "bin", "tsc"),
      ...["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024"],
      ...["--types", "node", "--typeRoots", join(modules, "@types"), "right.mts", "wrong.mts"],
    ],
    { cwd: project },
  ).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  expect(found.trimEnd().split("\n")).toEqual([
    expect.stringMatching(/^wrong\.mts\b.*'bigint' is not assignable to type 'number'/),
  ]);
});

const chromium = await chromiumPath();

test.skipIf(chromium === undefined)(
  "a browser loads the package's browser part, and reads and follows a register with it",
  async () => {
    const installed = join(folder, "project", "node_modules", "holderbook-client");
    await using server = createServer(async (request, response) => {
      const { url = "/", method = "GET", headers } = request;
      if (url === "/graphql") {
        const answer = await fetch(`${demo.url}/graphql`, {
          method,
          headers: {
            "content-type": "application/json",
            accept: headers.accept ?? "",
            "x-api-key": String(headers["x-api-key"]),
          },
          body: Buffer.concat(await request.toArray()),
        });
        response.writeHead(answer.status, {
          "content-type": answer.headers.get("content-type") ?? "",
        });
        // The browser leaves while the stream goes on.
        await pipeline(answer.body ?? [], response).catch(() => undefined);
        return;
      }
      const name = /^\/([a-z0-9-]+\.m?js)$/.exec(url)?.[1];
      response.setHeader("content-type", name === undefined ? "text/html" : "text/javascript");
      response.end(
        name === undefined
          ? "<title>A page</title>"
          : await readFile(join(installed, "dist", name)),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await using page = await openPage(chromium ?? "", `http://127.0.0.1:${port}/`);
    await page.until("document.title === 'A page'");
    const [coinType = ""] = demo.coinTypes;
    const found = await page.evaluate(`import("/browser.js").then(async (client) => {
      const book = client.createBook({ url: location.origin, key: ${JSON.stringify(demo.readKey)} });
      const table = await book.capTable({ coinType: ${JSON.stringify(coinType)} });
      let sum = 0n;
      for await (const { balance } of table) sum += balance;
      let seen = 0;
      for await (const _ of book.balanceChanges({ coinType: ${JSON.stringify(coinType)} })) {
        seen += 1;
        if (seen === 20) break;
      }
      const refused = await client.verifyAuditPack(new Map()).catch((error) => error.message);
      return [sum === table.issued, seen, refused, typeof client.isLogHeadSigned].join();
    })`);
    expect(found).toBe("true,20,manifest.json: is missing,function");
    expect(page.complaints.filter((text) => !text.includes("favicon"))).toEqual([]);
  },
);
