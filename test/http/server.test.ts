import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { watchHealth } from "../../src/http/health/health.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import type { Part } from "../../src/http/part.ts";
import { atOther, sendRaw, serve } from "./service.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

test("every answer and log line carries a request id, the caller's own when it is a UUID", async () => {
  await using service = await serve();
  for (const path of ["/", "/health", "/things/5", "/nowhere", "/broken", "/refused", "/%zz"]) {
    const id = randomUUID().toUpperCase();
    const given = await fetch(service.url + path, { headers: { "x-request-id": id } });
    expect(given.headers.get("x-request-id"), path).toBe(id);
    for (const own of [undefined, "17", `${id}0`, "x".repeat(1000)]) {
      const { headers } = await fetch(service.url + path, {
        headers: own === undefined ? {} : { "x-request-id": own },
      });
      expect(headers.get("x-request-id"), path).toMatch(UUID);
    }
    if (path !== "/%zz") {
      expect(service.log).toContainEqual(expect.objectContaining({ requestId: id }));
    }
  }
});

test("a request is one log line with its route instead of its path, without header fields", async () => {
  await using service = await serve();
  await fetch(`${service.url}/things/0xa11ce?email=a@example.com`, {
    headers: { "x-api-key": "hb_graphql_secret", authorization: "Bearer secret" },
  });
  await expect.poll(() => service.log.filter(({ msg }) => msg === "request")).toHaveLength(1);
  expect(service.log.find(({ msg }) => msg === "request")).toMatchObject({
    method: "GET",
    route: "/things/:id",
    statusCode: 200,
    remoteAddress: "127.0.0.1",
    ms: expect.any(Number),
  });
  expect(JSON.stringify(service.log)).not.toMatch(/secret|a11ce|example\.com/);
});

test("errors have one body: refusals say why, failures reveal nothing", async () => {
  await using service = await serve();
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(service.url + path, init);
    const body = await response.json();
    expect(body.requestId).toBe(response.headers.get("x-request-id"));
    return { status: response.status, error: body.error, details: body.details };
  };
  expect(await ask("/nowhere?key=secret")).toEqual({
    status: 404,
    error: "NOT_FOUND",
    details: "no such path: GET /nowhere",
  });
  expect(await ask("/%zz")).toMatchObject({ status: 400, error: "BAD_REQUEST" });
  expect(await ask("/refused")).toEqual({
    status: 429,
    error: "BAD_REQUEST",
    details: "not so fast",
  });
  const broken = await ask("/broken");
  expect(broken).toMatchObject({ status: 500, error: "INTERNAL_ERROR" });
  expect(broken.details).toMatch(/^something went wrong on our side; quote request id [0-9a-f-]+/);
  expect(JSON.stringify(service.log)).toContain("hunter2");

  const json = { "content-type": "application/json" };
  const post = (body: string, headers: Record<string, string> = json) =>
    ask("/things", { method: "POST", headers, body });
  expect(await post("{")).toMatchObject({ status: 400, error: "BAD_REQUEST" });
  expect(await post("a,b", { "content-type": "text/csv" })).toMatchObject({
    status: 415,
    error: "BAD_REQUEST",
  });
  expect(await post(`"${"x".repeat(70_000)}"`)).toMatchObject({
    status: 413,
    error: "BAD_REQUEST",
  });
});

test("a refusal carries its header fields", async () => {
  await using service = await serve();
  const { headers } = await fetch(`${service.url}/refused`);
  expect(headers.get("retry-after")).toBe("7");
});

test("answers may not be framed, sniffed, cached or read by other origins", async () => {
  await using service = await serve();
  for (const path of ["/", "/things/5", "/nowhere", "/broken"]) {
    const { headers } = await fetch(service.url + path, {
      headers: { origin: "https://evil.example" },
    });
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  }
});

test("bytes that are not HTTP are answered as such and the connection ends", async () => {
  await using service = await serve();
  const answer = await sendRaw(service.url, "HELO example\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  expect(JSON.parse(answer.slice(answer.indexOf("{")))).toMatchObject({
    error: "BAD_REQUEST",
    details: "this is not an HTTP request",
  });
  const huge = await sendRaw(service.url, `GET / HTTP/1.1\r\nx: ${"y".repeat(20_000)}\r\n\r\n`);
  expect(huge).toMatch(/^HTTP\/1\.1 431 /);
});

test("a request without a host, one with two, and an unknown expectation are refused with an id, a body and a log line", async () => {
  await using service = await serve();
  const id = randomUUID();
  const own = `x-request-id: ${id}\r\nconnection: close\r\n\r\n`;
  const json = "content-type: application/json\r\ncontent-length: 2\r\n";
  const cases = [
    { head: `GET /things/5 HTTP/1.1\r\n${own}`, status: 400, details: /needs the header Host/ },
    { head: `GET /nowhere HTTP/1.1\r\n${own}`, status: 400, details: /needs the header Host/ },
    ...["host: here\r\nhost: there", "Host: here\r\nHOST: here"].map((hosts) => ({
      head: `GET /things/5 HTTP/1.1\r\n${hosts}\r\n${own}`,
      status: 400,
      details: /Host once, not twice/,
    })),
    {
      head: `POST /things HTTP/1.1\r\nhost: here\r\nexpect: a-miracle\r\n${json}${own}{}`,
      status: 417,
      details: /100-continue/,
    },
  ];
  const everywhere = [service.url, atOther(service.url)].flatMap((url) =>
    cases.map((each) => ({ ...each, url })),
  );
  for (const { url, head, status, details } of everywhere) {
    const answer = await sendRaw(url, head);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(`\r\nx-request-id: ${id}\r\n`);
    expect(answer).toContain("\r\nx-content-type-options: nosniff\r\n");
    expect(JSON.parse(answer.slice(answer.indexOf("{")))).toEqual({
      error: "BAD_REQUEST",
      details: expect.stringMatching(details),
      requestId: id,
      code: "BAD_REQUEST",
      httpRequestId: id,
    });
    expect(service.log).toContainEqual(
      expect.objectContaining({ requestId: id, statusCode: status }),
    );
  }
  const older = await sendRaw(service.url, "GET /things/5 HTTP/1.0\r\n\r\n");
  expect(older).toMatch(/^HTTP\/1\.1 200 /);
  const willing = `host: here\r\nexpect: 100-continue\r\n${json}${own}{}`;
  const continued = await sendRaw(service.url, `POST /things HTTP/1.1\r\n${willing}`);
  expect(continued).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
});

test("the first page lists the interfaces, unless a part has its own page", async () => {
  await using service = await serve();
  expect(await (await fetch(service.url)).json()).toEqual({
    service: "holderbook",
    version: "1.2.3",
    paths: {
      "/things/{id}": "things",
      "/health": "how far behind the chain the data are",
      "/ready": "whether requests can be answered",
      "/metrics": "figures for Prometheus",
    },
  });
  const page: Part = {
    name: "web",
    paths: [],
    home: async () => ({ status: 200, contentType: "text/html", body: "a page" }),
  };
  await using other = await serve({ parts: [page] });
  const headers = { accept: "text/html" };
  expect(await (await fetch(other.url, { headers })).text()).toBe("a page");
  expect(await (await fetch(other.url)).json()).toMatchObject({ service: "holderbook" });
});

test("ready is 200, or 503 with a reason that does not come from the driver", async () => {
  const ask = async (unready: () => Promise<string | null>) => {
    await using service = await serve({ unready });
    const response = await fetch(`${service.url}/ready`);
    return { status: response.status, body: await response.json() };
  };
  expect(await ask(async () => null)).toEqual({
    status: 200,
    body: { ready: true, version: "1.2.3" },
  });
  expect(await ask(async () => "migrations are missing")).toEqual({
    status: 503,
    body: { ready: false, version: "1.2.3", reason: "migrations are missing" },
  });
  const lost = await ask(() => Promise.reject(new Error("connect ECONNREFUSED 10.0.0.5:5432")));
  expect(lost).toEqual({
    status: 503,
    body: { ready: false, version: "1.2.3", reason: "the database does not answer" },
  });
});

test("an unknown figure is absent, rather than a 0 that would mean being caught up", async () => {
  await using health = watchHealth({
    progress: async () => ({ pipelines: [], reader: { next: null, mark: null, tip: null } }),
    version: "1.2.3",
    onError: () => undefined,
  });
  const { body } = await createMetrics(health).text();
  const shown = body.split("\n").filter((line) => /^holderbook_(reader|source)_/.test(line));
  expect(shown).toEqual(["holderbook_reader_stalled 0"]);
});

test("every held coin is counted, the first ten have an age, and a released one has none", async () => {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  let held = Array.from({ length: 12 }, (_, n) => ({
    coinType: `0x${n}::c::C`,
    from: 5n,
    reason: "a test",
    since,
  }));
  await using health = watchHealth({
    progress: async () => ({
      pipelines: [
        { pipeline: "one", next: 8n, goal: 8n, mark: null, quarantined: held },
        { pipeline: "two", next: 8n, goal: 8n, mark: null },
      ],
      reader: { next: 8n, mark: null, tip: null },
      incomplete: held.slice(0, 1),
    }),
    version: "1.2.3",
    onError: () => undefined,
    observeEveryMs: 0,
  });
  const metrics = createMetrics(health);
  const shown = async (name: string) =>
    (await metrics.text()).body
      .split("\n")
      .filter((line) => line.startsWith(`holderbook_quarantined_${name}{`));
  expect(await shown("coins")).toEqual([
    'holderbook_quarantined_coins{pipeline="one"} 12',
    'holderbook_quarantined_coins{pipeline="two"} 0',
    'holderbook_quarantined_coins{pipeline="completeness"} 1',
  ]);
  const coins = Array.from({ length: 10 }, (_, n) => ["one", n] as const);
  expect(await shown("seconds")).toEqual(
    [...coins, ["completeness", 0] as const].map(([pipeline, n]) =>
      expect.stringMatching(
        `^holderbook_quarantined_seconds{pipeline="${pipeline}",coin="0x${n}::c::C"} 36[0-5]\\d(\\.\\d+)?$`,
      ),
    ),
  );
  held = [];
  // Figures are up to a second old.
  await expect
    .poll(() => shown("coins"), { timeout: 5_000 })
    .toEqual([
      'holderbook_quarantined_coins{pipeline="one"} 0',
      'holderbook_quarantined_coins{pipeline="two"} 0',
      'holderbook_quarantined_coins{pipeline="completeness"} 0',
    ]);
  expect(await shown("seconds")).toEqual([]);
});

test("unrouted requests share one label, however many paths and methods were tried", async () => {
  await using service = await serve();
  for (const method of ["DELETE", "PUT", "PATCH"]) {
    for (const path of ["/health", "/nowhere", "/things"]) {
      await fetch(`${service.url}${path}`, { method });
    }
  }
  const refused = async () =>
    (await (await fetch(`${service.url}/metrics`)).text())
      .split("\n")
      .filter((line) => /duration_seconds_count.*status="40[45]"/.test(line));
  await expect
    .poll(refused)
    .toEqual([
      'holderbook_http_request_duration_seconds_count{method="any",route="refused",status="405"} 6',
      'holderbook_http_request_duration_seconds_count{method="any",route="unknown",status="404"} 3',
    ]);
});

test("operational paths answer other methods with 405", async () => {
  await using service = await serve();
  for (const path of ["/", "/health", "/ready", "/metrics"]) {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const { status, headers } = await fetch(service.url + path, { method });
      expect([method, path, status, headers.get("allow")]).toEqual([
        method,
        path,
        405,
        "GET, HEAD",
      ]);
    }
  }
});

test("figures are computed at most once a second, however often they are requested", async () => {
  let looks = 0;
  await using service = await serve({
    unready: async () => {
      looks += 1;
      return null;
    },
  });
  const texts = await Promise.all(
    Array.from({ length: 20 }, async () => (await fetch(`${service.url}/metrics`)).text()),
  );
  expect(new Set(texts).size).toBeLessThan(4);
  await Promise.all(Array.from({ length: 20 }, () => fetch(`${service.url}/ready`)));
  expect(looks).toBeLessThan(4);
});

test("metrics count requests by route and show the progress of each part", async () => {
  await using service = await serve();
  await fetch(`${service.url}/things/1`);
  await fetch(`${service.url}/things/2`);
  await fetch(`${service.url}/nowhere/${randomUUID()}`);
  const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
  await expect
    .poll(metrics)
    .toContain('duration_seconds_count{method="GET",route="/things/:id",status="200"} 2');
  const text = await metrics();
  expect(text).toContain('route="unknown",status="404"} 1');
  expect(text).toContain('holderbook_pipeline_checkpoint{pipeline="token_activity"} 7');
  expect(text).toContain('holderbook_pipeline_lag_checkpoints{pipeline="token_activity"} 2');
  expect(text).toContain('holderbook_pipeline_age_seconds{pipeline="token_activity"} 10');
  expect(text).toContain('holderbook_pipeline_stalled{pipeline="token_activity"} 0');
  expect(text).toContain("holderbook_reader_checkpoint 9");
  expect(text).toContain("holderbook_reader_lag_checkpoints 0");
  expect(text).toContain("holderbook_database_up 1");
  expect(text).toContain("process_resident_memory_bytes");
});
