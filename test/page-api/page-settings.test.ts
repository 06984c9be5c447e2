/** What the page is told before anybody signs in, and who is given the demo's key. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, registerPublicKey } from "../../src/http/keys.ts";
import { pageSettingsAnswer, sessionAnswer } from "../../src/page-api/answers.ts";
import { explorerPages, networkOf } from "../../src/page-api/explorer.ts";
import { readConfig } from "../../src/settings/read-config.ts";
import { type OperatorApi, serveOperator } from "../operator/service.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const DEMO_KEY = "hb_graphql_of-the-demo";
const DEMO_OPERATOR_KEY = "hb_operator_of-the-demo";

let database: TestDatabase;
let api: OperatorApi;
let token: string | undefined = "token";

beforeAll(async () => {
  database = await freshDatabase();
  const lend = async (given: string) => (given === token ? DEMO_KEY : null);
  const demo = {
    lend,
    lendOperator: async () => DEMO_OPERATOR_KEY,
    hasOperator: async () => true,
    hasTour: async () => true,
  };
  api = await serveOperator(database, { page: { demo } });
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await database.close();
});

test("the demo's key is only for holders of the link's token, and in no other answer", async () => {
  const settings = await api.get("/page/settings", null);
  expect(pageSettingsAnswer.strict().parse(settings.json).demo).toEqual({
    tour: true,
    operator: true,
  });
  expect(settings.text).not.toContain("hb_");
  const lent = await api.post("/demo/session", { token: "token" }, null);
  expect([lent.status, lent.json]).toEqual([200, { key: DEMO_KEY }]);
  token = undefined;
  const again = await api.post("/demo/session", { token: "token" }, null);
  expect([again.status, again.json.details]).toEqual([
    403,
    expect.stringContaining("`holderbook demo link`"),
  ]);
  for (const wrong of [{}, { token: 1 }, { token: "x".repeat(101) }, { token: "a", more: 1 }]) {
    expect((await api.post("/demo/session", wrong, null)).status).toBe(400);
  }
});

test("no operator key is lent without a key", async () => {
  expect((await api.post("/demo/operator", {}, null)).status).toBe(401);
  const lent = await api.post("/demo/operator", {}, api.keys.graphql);
  expect([lent.status, lent.json]).toEqual([200, { key: DEMO_OPERATOR_KEY }]);
  expect((await api.post("/demo/operator", { more: 1 }, api.keys.graphql)).status).toBe(400);
});

test("no other origin can read the settings, whatever they contain", async () => {
  const { headers } = await api.get("/page/settings", null);
  expect(headers.get("access-control-allow-origin")).toBeNull();
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  expect(headers.get("cache-control")).toBe("no-store");
});

test("a ledger other than the demo's gives out no key", async () => {
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
  expect((await other.post("/demo/session", { token: "token" }, null)).status).toBe(404);
  expect((await other.post("/demo/operator", {}, other.keys.graphql)).status).toBe(404);
});

test("networks are identified by their chain, and explorers by the network", () => {
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
  // The demo's transactions are shown by this page.
  expect(explorerPages("demo", unset)).toEqual({
    ...{ account: null, object: null, checkpoint: null },
    transaction: "/transaction/{digest}",
  });
  const own = { ...unset, transaction: "none", account: "https://explorer.example/{address}" };
  expect(explorerPages("mainnet", own)).toMatchObject({
    transaction: null,
    account: "https://explorer.example/{address}",
  });
});

test("an explorer's address has its placeholder, or is not offered", () => {
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

test("a session reports its kind of key, for the two kinds that open the page", async () => {
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

test("too many requests without a key are refused, by address", async () => {
  await using strict = await serveOperator(database, { quota: 3 });
  for (let n = 0; n < 3; n += 1) {
    expect((await strict.get("/page/settings", null)).status).toBe(200);
  }
  const refused = await strict.get("/page/settings", null);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
});
