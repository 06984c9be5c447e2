/** Pages of other origins: who may read answers from a browser, and that nobody may unless it is set. */
import { expect, test } from "vitest";
import { readConfig } from "../../src/settings/read-config.ts";
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
