/** The demo as `start` runs it: the link that it prints, and the guided tour of a whole circle. */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createKey } from "../../src/http/keys.ts";
import {
  lentSessionAnswer,
  pageSettingsAnswer,
  sessionAnswer,
  tourAnswer,
  tourBegunAnswer,
} from "../../src/page-api/answers.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "../service/process.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let program: Program;
let settings: Readonly<Record<string, string>>;
let url = "";
let printedToken = "";
let key = "";

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  settings = {
    PORT: "0",
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "60",
    DEMO_CHECKPOINTS_PER_SECOND: "20",
  };
  program = startProgram(["start"], settings);
  [, , printedToken = ""] = await program.sees(/Page\s+(http\S+)\/#demo=(\S+)\n/);
  [, key = ""] = await program.sees(/Key\s+(hb_graphql_\S+)/);
  [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  await program.sees(/Ctrl-C/);
}, 120_000);

afterAll(async () => {
  await program?.[Symbol.asyncDispose]();
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

test("behind a proxy that rewrites Host a stranger gets no key and starts no tour", async () => {
  await using proxy = await silentProxy();
  const text = await (await fetch(`${proxy.url}/page/settings`)).text();
  expect(pageSettingsAnswer.parse(JSON.parse(text))).toMatchObject({
    network: "demo",
    demo: { tour: true },
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
      "/exports/cap-table",
      "/exports/statement",
      "/proofs/{checkpoint}",
      "/operator/requests/{id}",
      "/operator/deliveries/{id}/redeliver",
      "/operator/receivers/{id}/test-event",
    ]),
  );
});
