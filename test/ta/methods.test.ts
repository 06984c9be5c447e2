/** Which methods, content types and paths there are, and what any other gets. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signRequest } from "../../client/index.ts";
import { type Api, startApi } from "./api.ts";
import { bodyOf, WALLET } from "./submissions.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const WHITELIST = "/api/v1/investor/whitelist";

test("every method that a path does not serve is 405, and Allow names those it does", async () => {
  const ask = async (method: string, path: string) => {
    const sent = request(new URL(path, api.url), { method, agent: false }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    return [answer.statusCode, answer.headers.allow];
  };
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"];
  for (const [path, allow] of [
    [WHITELIST, "POST"],
    ["/api/v1/investor/kyc", "POST"],
    ["/api/v1/callbacks/m-1/redeliver", "POST"],
    [`/api/v1/investor/whitelist_status/${WALLET}`, "GET, HEAD"],
    ["/api/v1/requests/none", "GET, HEAD"],
    ["/api/v1/callbacks", "GET, HEAD"],
    ["/api/v1/callback_pk", "GET, HEAD"],
    ["/api/v1/health", "GET, HEAD"],
  ] as const) {
    for (const method of methods) {
      const refused = !allow.split(", ").includes(method);
      const answer = await ask(method, path);
      if (refused) expect([method, path, ...answer]).toEqual([method, path, 405, allow]);
      else expect([method, path, answer[0]]).not.toEqual([method, path, 405]);
    }
  }
});

test("other content types are 415, other methods 405, former paths 410 with the new one", async () => {
  const { headers, body } = signRequest({ secretKey: api.keys.secretKey, body: bodyOf() });
  const xml = await api.send(WHITELIST, {
    method: "POST",
    body,
    headers: { ...headers, "content-type": "text/xml" },
  });
  expect([xml.status, xml.json.error]).toEqual([415, "BAD_REQUEST"]);
  expect(xml.json.details).toContain("application/json");
  for (const method of ["PUT", "OPTIONS"]) {
    const other = await api.send(WHITELIST, { method, body, headers });
    expect([other.status, other.json.error, other.headers.get("allow")]).toEqual([
      405,
      "BAD_REQUEST",
      "POST",
    ]);
  }
  const former = await api.send("/transfer_agent_api/v1/approve_investor", {
    method: "POST",
    body,
  });
  expect([former.status, former.json.error]).toEqual([410, "NOT_FOUND"]);
  expect(former.json.details).toContain("/api/v1/investor/whitelist");
  const status = await api.send(`/transfer_agent_api/v1/check_whitelist/${WALLET}`, {});
  expect([status.status, status.json.details]).toEqual([
    410,
    expect.stringContaining("whitelist_status"),
  ]);
  for (const without of ["", "/", `/${"1".repeat(200)}`]) {
    const odd = await api.send(`/transfer_agent_api/v1/check_whitelist${without}`, {});
    expect([odd.status, odd.json.details]).toEqual([410, status.json.details]);
  }
  for (const gone of ["propose_tx", "get_nonce"]) {
    expect((await api.send(`/transfer_agent_api/v1/${gone}`, { method: "POST" })).status).toBe(410);
  }
});
