/** What the page is told before anybody signs in, and who is given the demo's key. */
import { request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, registerPublicKey } from "../../src/http/keys.ts";
import { explorerPages, networkOf } from "../../src/operator/explorer.ts";
import { pageSettingsAnswer, sessionAnswer } from "../../src/operator/page-settings.ts";
import { readConfig } from "../../src/settings/config.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { type OperatorApi, serveOperator } from "./service.ts";

const DEMO_KEY = "hb_graphql_of-the-demo";

let database: TestDatabase;
let api: OperatorApi;

beforeAll(async () => {
  database = await freshDatabase();
  const demo = { key: async () => DEMO_KEY, hasTour: async () => true };
  api = await serveOperator(database, { page: { demo } });
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await database.close();
});

/** By node:http, which sends any header field that it is given. */
const asked = (headers: Readonly<Record<string, string>>, localAddress?: string) =>
  new Promise<unknown>((resolve, reject) => {
    const { port, hostname } = new URL(api.url);
    const options = { host: hostname, port, path: "/page/settings", headers, localAddress };
    const sent = request(options, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("end", () => resolve(pageSettingsAnswer.parse(JSON.parse(text)).demo));
    });
    sent.on("error", reject);
    sent.end();
  });

const HERE = { key: DEMO_KEY, tour: true };

test("somebody at this machine is given the demo's key", async () => {
  const { port } = new URL(api.url);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, "LOCALHOST"]) {
    expect(await asked({ host })).toEqual(HERE);
  }
  const host = `localhost:${port}`;
  expect(await asked({ host, "sec-fetch-site": "same-origin" })).toEqual(HERE);
  expect(await asked({ host, "sec-fetch-site": "none" })).toEqual(HERE);
  expect(await asked({ host, origin: `http://${host}` })).toEqual(HERE);
});

for (const [who, fields] of [
  ["a page whose name was made to lead here", { host: "attacker.example" }],
  ["a name that only begins like ours", { host: "localhost.attacker.example" }],
  ["an address that only ends like ours", { host: "attacker.127.0.0.1" }],
  ["a host with a user before it", { host: "localhost@attacker.example" }],
  ["a proxy that says for whom", { "x-forwarded-for": "127.0.0.1" }],
  ["a proxy that says what was asked", { "x-forwarded-host": "localhost" }],
  ["a proxy as the standard has it", { forwarded: "for=127.0.0.1" }],
  ["a proxy that names itself", { via: "1.1 proxy" }],
  ["a proxy of another custom", { "x-real-ip": "127.0.0.1" }],
  ["a network in front", { "cf-connecting-ip": "127.0.0.1" }],
  ["a page of another site", { "sec-fetch-site": "cross-site" }],
  ["a page of another port", { "sec-fetch-site": "same-site" }],
  ["a page of another origin", { origin: "http://localhost:1" }],
  ["a page without an origin", { origin: "null" }],
] as const) {
  test(`${who} is not given the demo's key`, async () => {
    const { host } = new URL(api.url);
    expect(await asked({ host, ...fields })).toBeNull();
  });
}

test("a proxy that speaks HTTP/1.0, as they do unless told otherwise, is not given the demo's key", async () => {
  const { port } = new URL(api.url);
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1", () =>
      socket.write("GET /page/settings HTTP/1.0\r\nHost: localhost\r\n\r\n"),
    );
    let read = "";
    socket.on("data", (chunk: Buffer) => {
      read += chunk.toString();
    });
    socket.on("end", () => resolve(read));
    socket.on("error", reject);
  });
  expect(text).toContain('"demo":null');
  expect(text).not.toContain(DEMO_KEY);
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

test.skipIf(outside === undefined)(
  "a caller with another address than loopback is not given the demo's key",
  async () => {
    const { host } = new URL(api.url);
    expect(await asked({ host }, outside)).toBeNull();
  },
);

test("no other origin can read the settings, whatever they say", async () => {
  const { headers } = await api.get("/page/settings", null);
  expect(headers.get("access-control-allow-origin")).toBeNull();
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  expect(headers.get("cache-control")).toBe("no-store");
});

test("a ledger that is not the demo's gives out no key", async () => {
  await using other = await serveOperator(database, {
    page: { ledgerSource: "grpc+https://fullnode.mainnet.sui.io:443" },
  });
  const { json } = await other.get("/page/settings", null);
  expect(json).toEqual({
    version: "test",
    chain: null,
    network: null,
    explorer: null,
    demo: null,
  });
});

test("networks are known by their chain, and their explorer by the network", () => {
  const mainnet = "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S";
  const testnet = "69WiPg3DAQiwdxfncX6wYQ2siKwAe6L9BZthQea3JNMD";
  expect(networkOf(mainnet, "dir:/archive")).toBe("mainnet");
  expect(networkOf(testnet, "https://checkpoints.example")).toBe("testnet");
  expect(networkOf("another", "grpc+https://fullnode.devnet.sui.io:443")).toBe("devnet");
  expect(networkOf("another", "dir:/archive")).toBeNull();
  expect(networkOf(mainnet, "demo:")).toBe("demo");
  const unset = {
    transaction: undefined,
    account: undefined,
    object: undefined,
    checkpoint: undefined,
  };
  expect(explorerPages("testnet", unset)?.transaction).toBe(
    "https://suiscan.xyz/testnet/tx/{digest}",
  );
  expect(explorerPages("demo", unset)).toBeNull();
  const own = { ...unset, transaction: "none", account: "https://explorer.example/{address}" };
  expect(explorerPages("mainnet", own)).toMatchObject({
    transaction: null,
    account: "https://explorer.example/{address}",
  });
});

test("the address of an explorer is a page with its placeholder, or none", () => {
  for (const page of ["https://e.example/tx/{digest}", "http://localhost:9000/{digest}", "none"]) {
    expect(readConfig({ EXPLORER_TRANSACTION: page }).explorer.transaction).toBe(page);
  }
  for (const wrong of [
    "javascript:alert({digest})",
    "http://e.example/{digest}",
    "https://e.example/",
    "https://{digest}/",
    "https://e.example/{address}",
    "https://e.example/{digest}/{digest}",
    "https://user:secret@e.example/{digest}",
  ]) {
    expect(() => readConfig({ EXPLORER_TRANSACTION: wrong })).toThrow(
      /^EXPLORER_TRANSACTION: must/,
    );
  }
});

test("a session tells what kind of key it is, for the two kinds that open the page", async () => {
  const operator = await api.get("/session");
  expect(sessionAnswer.parse(operator.json)).toMatchObject({ kind: "operator", label: "desk" });
  expect((await api.get("/session", api.keys.graphql)).json).toMatchObject({ kind: "graphql" });
  expect((await api.get("/session", null)).status).toBe(401);
  expect((await api.get("/session", "hb_operator_unknown")).status).toBe(401);
  const { secret } = await createKey(database, { kind: "project", subject: "acme" });
  const refused = await api.get("/session", secret);
  expect(refused.status).toBe(403);
  expect(refused.json.details).toBe(
    "this is a project key; this takes keys of the kinds graphql and operator",
  );
  const publicKey = Buffer.alloc(32, 7).toString("base64");
  await registerPublicKey(database, { publicKey, asset: "acme-sui" });
  expect((await api.get("/session", publicKey)).status).toBe(403);
});

test("too many questions without a key are refused, by address", async () => {
  await using strict = await serveOperator(database, { quota: 3 });
  for (let n = 0; n < 3; n += 1) {
    expect((await strict.get("/page/settings", null)).status).toBe(200);
  }
  const refused = await strict.get("/page/settings", null);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
});
