/** Pages of other origins: who may read answers from a browser, and that nobody may unless it is set. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { readConfig } from "../../src/settings/read-config.ts";
import { chromiumPath, openPage } from "../chromium.ts";
import { runCommand } from "../commands/run-command.ts";
import { startProgram, temporaryFolder } from "../service/process.ts";
import { serve } from "./service.ts";

const HERE = "https://cap.example";

/** What an answer says to the browser of a page. */
const shared = ({ status, headers }: Response) => ({
  status,
  origin: headers.get("access-control-allow-origin"),
  credentials: headers.get("access-control-allow-credentials"),
});

const preflight = (url: string, origin: string, method = "POST") =>
  fetch(url, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "content-type,x-api-key",
    },
  });

test("by default no other origin may read anything, and no preflight is answered", async () => {
  await using service = await serve();
  const answer = await fetch(`${service.url}/graphql`, {
    method: "POST",
    headers: { origin: HERE },
  });
  expect(shared(answer)).toEqual({ status: 200, origin: null, credentials: null });
  expect(answer.headers.get("vary")).toBeNull();
  const asked = await preflight(`${service.url}/graphql`, HERE);
  expect([asked.status, asked.headers.get("access-control-allow-methods")]).toEqual([404, null]);
});

test("a listed origin may read answers and refusals of the API paths, another one may not", async () => {
  await using service = await serve({ corsOrigins: [HERE] });
  const post = (path: string, origin: string) =>
    fetch(`${service.url}${path}`, { method: "POST", headers: { origin } });
  const answer = await post("/graphql", HERE);
  expect(shared(answer)).toEqual({ status: 200, origin: HERE, credentials: null });
  expect(answer.headers.get("vary")).toBe("origin");
  for (const name of ["X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "Link"]) {
    expect(answer.headers.get("access-control-expose-headers")?.split(", ")).toContain(name);
  }
  for (const origin of [
    "https://cap.example.attacker.example",
    "http://cap.example",
    "https://cap.example:8443",
    "https://CAP.example",
    "null",
  ]) {
    expect(shared(await post("/graphql", origin)), origin).toMatchObject({ origin: null });
    const refused = await preflight(`${service.url}/graphql`, origin);
    expect([refused.status, refused.headers.get("access-control-allow-methods")]).toEqual([
      404,
      null,
    ]);
  }
  // What is no path for programs stays closed; one that is and is not served here says so readably.
  expect(shared(await post("/things", HERE))).toMatchObject({ origin: null });
  expect(shared(await post("/graphqlx", HERE))).toMatchObject({ status: 404, origin: null });
  expect(shared(await post("/operator/summary", HERE))).toMatchObject({ origin: null });
  expect(shared(await post("/roots?coinType=0x2", HERE))).toMatchObject({
    status: 404,
    origin: HERE,
  });
});

test("a preflight of a listed origin allows the fields that callers send", async () => {
  await using service = await serve({ corsOrigins: ["http://localhost:5173", HERE] });
  for (const path of [
    "/graphql",
    "/r/api/v2/transfer_events",
    "/roots",
    "/log-heads",
    "/deployment-keys",
    "/exports/cap-table",
    "/proofs/12",
    "/api/v1/investor/whitelist",
  ]) {
    const asked = await preflight(`${service.url}${path}`, HERE);
    expect(shared(asked), path).toEqual({ status: 204, origin: HERE, credentials: null });
    expect(asked.headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST");
    const fields = asked.headers.get("access-control-allow-headers")?.toLowerCase().split(", ");
    for (const name of ["x-api-key", "x-project-api-key", "content-type", "last-event-id"]) {
      expect(fields).toContain(name);
    }
    expect(asked.headers.get("x-request-id")).not.toBeNull();
  }
  // OPTIONS that is no preflight is a method as any other.
  const plain = await fetch(`${service.url}/graphql`, {
    method: "OPTIONS",
    headers: { origin: HERE },
  });
  expect(plain.status).toBe(404);
});

test("origins match exactly, and an invalid list is refused with the reason", () => {
  const listed = (text: string) => readConfig({ CORS_ORIGINS: text }).corsOrigins;
  expect(readConfig({}).corsOrigins).toEqual([]);
  expect(listed("https://a.example, http://localhost:5173  https://a.example")).toEqual([
    "https://a.example",
    "http://localhost:5173",
  ]);
  for (const wrong of [
    "*",
    "null",
    "a.example",
    "https://a.example/",
    "https://a.example:443",
    "https://A.example",
    "https://user@a.example",
    "https://*.a.example",
    "file:///x",
  ]) {
    expect(() => listed(`https://ok.example ${wrong}`), wrong).toThrow(
      /^CORS_ORIGINS: ".*is not an origin/,
    );
  }
});

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
    await using listed = await site();
    await using other = await site();
    await using folder = await temporaryFolder();
    const settings = {
      PORT: "0",
      DATA_DIR: join(folder.path, "data"),
      DEMO_HISTORY: "60",
      CORS_ORIGINS: listed.url,
    };
    await using program = startProgram(["start"], settings);
    const [, started = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
    const [, graphql = ""] = await program.sees(/Key\s+(hb_graphql_\S+)/);
    await program.sees(/Ctrl-C/);
    const url = started.replace("localhost", "127.0.0.1");
    const made = ["keys", "create", "--kind", "project", "--project", "demo"];
    const { stdout } = await runCommand(made, settings);
    const script = inPage(url, { graphql, project: stdout.trim() });
    const told = async (from: string) => {
      await using page = await openPage(chromium ?? "", from);
      await page.until("document.title === 'site'");
      return JSON.parse(z.string().parse(await page.evaluate(script)));
    };
    expect(await told(listed.url)).toEqual({
      tokens: 4,
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
