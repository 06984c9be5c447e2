/**
 * The demo as `start` runs it: the link that it prints, the guided tour of a whole circle, and what a page of another
 * origin may do. The latter comes first, while no tour has made an event.
 */
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createKey } from "../../src/http/keys.ts";
import {
  lentOperatorAnswer,
  lentSessionAnswer,
  pageSettingsAnswer,
  sessionAnswer,
  tourAnswer,
  tourBegunAnswer,
} from "../../src/page-api/answers.ts";
import { chromiumPath, openPage } from "../chromium.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "../service/process.ts";

let database: TestDatabase;
/** The only other origin that may read. */
let listed: Awaited<ReturnType<typeof site>>;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let program: Program;
let settings: Readonly<Record<string, string>>;
let url = "";
let printedToken = "";
let key = "";

beforeAll(async () => {
  [database, folder, listed] = await Promise.all([freshDatabase(), temporaryFolder(), site()]);
  settings = {
    PORT: "0",
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "50",
    CORS_ORIGINS: listed.url,
  };
  program = startProgram(["start"], settings);
  [, , printedToken = ""] = await program.sees(/Page\s+(http\S+)\/#demo=(\S+)\n/);
  [, key = ""] = await program.sees(/Key\s+(hb_graphql_\S+)/);
  [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  await program.sees(/Ctrl-C/);
}, 120_000);

afterAll(async () => {
  await program?.[Symbol.asyncDispose]();
  await listed[Symbol.asyncDispose]();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${url}${path}`, { headers });
  return { status: response.status, json: (await response.json()) as unknown };
};

const post = (
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = "{}",
  at = url,
) =>
  fetch(`${at}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });

const begin = (headers: Readonly<Record<string, string>> = { "x-api-key": key }, body = "{}") =>
  post("/demo/tour", headers, body);

const exchange = async (token: string, at = url) => {
  const response = await post("/demo/session", {}, JSON.stringify({ token }), at);
  const lent = lentSessionAnswer.safeParse(await response.json());
  return { status: response.status, key: lent.data?.key };
};

/** A proxy on this machine that says nothing of itself: what it passes on looks like a local browser's. */
const silentProxy = async () => {
  const { host, hostname, port } = new URL(url);
  const proxy = createServer((asked, answer) => {
    const { "x-forwarded-for": _, ...headers } = asked.headers;
    const passed = request(
      { hostname, port, path: asked.url, method: asked.method, headers: { ...headers, host } },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      },
    );
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  const there = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${there}`,
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
};

const anotherLink = async () => {
  const { code, stdout, stderr } = await runCommand(["demo", "link", "--url", url], settings);
  expect(code, stderr).toBe(0);
  const [, origin, token = ""] = /^(http\S+)\/#demo=(\S+)\n$/.exec(stdout) ?? [];
  expect(origin).toBe(url);
  return token;
};

/** A site of another origin that has the client, as its maker would put it there. */
const site = async () => {
  const client = join(import.meta.dirname, "..", "..", "client", "dist");
  const server: Server = createServer((asked, answer) => {
    const [, name] = /^\/([a-z0-9-]+\.m?js)$/.exec(asked.url ?? "") ?? [];
    if (name === undefined) {
      answer
        .writeHead(200, { "content-type": "text/html" })
        .end("<!doctype html><title>site</title>");
      return;
    }
    readFile(join(client, name)).then(
      (text) => answer.writeHead(200, { "content-type": "text/javascript" }).end(text),
      () => answer.writeHead(404).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

const chromium = await chromiumPath();

/** What a page does with the client: reads, follows over a stream, is refused, reads what is signed. */
const inPage = (url: string, keys: { readonly graphql: string; readonly project: string }) => `
  (async () => {
    const { createBook, createTransferEvents, BookError } = await import("/browser.js");
    const url = ${JSON.stringify(url)};
    const told = {};
    try {
      const book = createBook({ url, key: ${JSON.stringify(keys.graphql)} });
      const tokens = [];
      for await (const token of book.tokens()) tokens.push(token);
      told.tokens = tokens.length;
      const [{ coinType }] = tokens;
      told.changes = 0;
      for await (const _ of book.balanceChanges({ coinType })) if (++told.changes === 5) break;
      told.events = 0;
      const events = createTransferEvents({ url, key: ${JSON.stringify(keys.project)} });
      for await (const _ of events.events({ follow: false })) told.events += 1;
      const roots = await fetch(url + "/roots?coinType=" + encodeURIComponent(coinType));
      told.roots = roots.status;
      told.requestId = roots.headers.get("x-request-id") !== null;
      told.left = roots.headers.get("ratelimit") !== null;
      const file = await fetch(url + "/exports/cap-table?format=json&coinType=" + encodeURIComponent(coinType), {
        headers: { "x-api-key": ${JSON.stringify(keys.graphql)} },
      });
      told.file = file.headers.get("content-disposition");
      try {
        for await (const _ of createBook({ url, key: "hb_graphql_nobody" }).tokens()) break;
      } catch (error) {
        told.refused = [error instanceof BookError, error.status, typeof error.requestId];
      }
    } catch (error) {
      told.failed = String(error) + " " + (error?.status ?? "");
    }
    return JSON.stringify(told);
  })()`;

test.skipIf(chromium === undefined)(
  "the client works in a browser from a listed origin, streams included, and from no other",
  async () => {
    await using other = await site();
    const made = ["keys", "create", "--kind", "project", "--project", "demo"];
    const { stdout } = await runCommand(made, settings);
    const project = stdout.trim();
    const script = inPage(url.replace("localhost", "127.0.0.1"), { graphql: key, project });
    const told = async (from: string) => {
      await using page = await openPage(chromium ?? "", from);
      await page.until("document.title === 'site'");
      return JSON.parse(z.string().parse(await page.evaluate(script)));
    };
    expect(await told(listed.url)).toEqual({
      tokens: 3,
      changes: 5,
      events: 0,
      roots: 200,
      requestId: true,
      left: true,
      file: expect.stringContaining("attachment"),
      refused: [true, 401, "string"],
    });
    expect(await told(other.url)).toEqual({ failed: expect.stringMatching(/BookError.* 0$/) });
  },
  120_000,
);

test("behind a proxy that rewrites Host a stranger gets no key and starts no tour", async () => {
  await using proxy = await silentProxy();
  const text = await (await fetch(`${proxy.url}/page/settings`)).text();
  expect(pageSettingsAnswer.parse(JSON.parse(text))).toMatchObject({
    network: "demo",
    demo: { tour: true, operator: true },
  });
  expect(text).not.toContain(key);
  expect((await exchange("made-up", proxy.url)).status).toBe(403);
  expect((await post("/demo/tour", {}, "{}", proxy.url)).status).toBe(401);
});

test("the link printed by start lends a read-only key to the first who opens it", async () => {
  const lent = await Promise.all(Array.from({ length: 6 }, () => exchange(printedToken)));
  expect(lent.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403, 403, 403]);
  expect(lent.find(({ status }) => status === 200)?.key).toBe(key);
  const headers = { "x-api-key": key };
  expect(sessionAnswer.parse((await get("/session", headers)).json).kind).toBe("graphql");
  expect((await get("/operator/summary", headers)).status).toBe(403);
});

test("the lent read key shows the demo's shareholders by name", async () => {
  const query = `{ tokens { coinType name } }`;
  const tokens = await post("/graphql", { "x-api-key": key }, JSON.stringify({ query }));
  const told = JSON.stringify(await tokens.json());
  expect(told).toContain("Acme Robotics Common Shares");
  const [, coinType = ""] = /"(0x[0-9a-f]+::acme::ACME)"/.exec(told) ?? [];
  const rows = `{ capTable(coinType: "${coinType}") { rows { holderId label } } }`;
  const response = await post("/graphql", { "x-api-key": key }, JSON.stringify({ query: rows }));
  expect(JSON.stringify(await response.json())).toContain(
    '{"holderId":"1","label":"Ingrid Solheim"}',
  );
});

test("the lent read key gets the demo's operator key until that is revoked, and no other key does", async () => {
  const operator = (presented?: string) =>
    post("/demo/operator", presented === undefined ? {} : { "x-api-key": presented });
  const first = lentOperatorAnswer.parse(await (await operator(key)).json()).key;
  const again = lentOperatorAnswer.parse(await (await operator(key)).json()).key;
  expect(again).toBe(first);
  expect((await get("/operator/summary", { "x-api-key": first })).status).toBe(200);
  const session = sessionAnswer.parse((await get("/session", { "x-api-key": first })).json);
  expect(session.kind).toBe("operator");

  expect((await operator()).status).toBe(401);
  for (const kind of ["graphql", "operator"] as const) {
    const { secret } = await createKey(database, { kind });
    expect((await operator(secret)).status).toBe(403);
  }
  const { code, stderr } = await runCommand(["keys", "revoke", session.keyId], settings);
  expect(code, stderr).toBe(0);
  await eventually("the key is no longer lent", async () => {
    const { status } = await operator(key);
    const { demo } = pageSettingsAnswer.parse((await get("/page/settings")).json);
    return status === 403 && demo?.operator === false
      ? { done: status }
      : { seen: { status, demo } };
  });
});

test("a command prints another link, and earlier ones stop working", async () => {
  const [older, newer] = [await anotherLink(), await anotherLink()];
  expect((await exchange(older)).status).toBe(403);
  expect(await exchange(newer)).toEqual({ status: 200, key });
  expect((await exchange(newer)).status).toBe(403);
  const kept = await readdir(join(folder.path, "data"));
  expect(kept).not.toContain("demo-link");
  const refused = await runCommand(["demo", "link"], settings);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--url")]);
});

test("a tour whitelists a new wallet for a fictional investor, and is followed from request to callback", async () => {
  const response = await begin();
  expect(response.status).toBe(202);
  const { tourId, requestId, wallet, asset } = tourBegunAnswer.parse(await response.json());
  expect(asset).toBe("demo-a");
  const tour = await eventually("the end of the tour", async () => {
    const seen = tourAnswer.parse((await get(`/demo/tour/${tourId}`, { "x-api-key": key })).json);
    return seen.done && seen.holderEvent !== null ? { done: seen } : { seen };
  });
  expect(tour.request.status).toBe("SUCCESS");
  expect(tour.request.history.at(0)?.status).toBe("QUEUED");
  expect(tour.request.history.at(-1)?.status).toBe("SUCCESS");
  expect(tour.txId).not.toBeNull();
  expect(tour.holderEvent).toMatchObject({
    eventType: "address_joined_group",
    address: wallet,
    groupId: "1",
  });
  expect(BigInt(tour.checkpoint ?? 0)).toBeGreaterThan(0n);
  expect(tour.delivery).toMatchObject({ id: `ta-${requestId}`, state: "delivered", attempts: 1 });
}, 60_000);

test("without a key of the page, a tour can be neither started nor followed", async () => {
  const tour = `/demo/tour/${crypto.randomUUID()}`;
  const { secret } = await createKey(database, { kind: "project", subject: "demo" });
  for (const [headers, status] of [
    [{}, 401],
    [{ "x-api-key": "hb_graphql_nobody" }, 401],
    [{ "x-api-key": secret }, 403],
  ] as const) {
    expect((await begin(headers)).status).toBe(status);
    expect((await get(tour, headers)).status).toBe(status);
  }
  const headers = { "x-api-key": key };
  expect((await get(tour, headers)).status).toBe(404);
  expect((await begin(headers, '{"wallet":"0x1"}')).status).toBe(400);
  expect((await begin({ ...headers, "content-type": "text/plain" })).status).toBe(400);
});

test("the page's own routes are described with the other interfaces", async () => {
  const { json } = await get("/openapi.json");
  const document = z.looseObject({ paths: z.record(z.string(), z.unknown()) }).parse(json);
  expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true });
  expect(Object.keys(document.paths)).toEqual(
    expect.arrayContaining([
      "/page/settings",
      "/session",
      "/demo/session",
      "/demo/operator",
      "/exports/cap-table",
      "/exports/statement",
      "/proofs/{checkpoint}",
      "/operator/requests/{id}",
      "/operator/deliveries/{id}/redeliver",
      "/operator/receivers/{id}/test-event",
    ]),
  );
});
