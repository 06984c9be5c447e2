/** What is answered the short way, what is not, and that both leave the same behind. */
import { expect, test } from "vitest";
import type { Direct } from "../../src/http/direct.ts";
import { HttpError } from "../../src/http/http-error.ts";
import type { Part } from "../../src/http/part.ts";
import { sendRaw, serve } from "./service.ts";

const direct: Direct = {
  method: "POST",
  path: "/asked",
  bodyLimit: 1_000,
  answer: async ({ body, remoteAddress }) => {
    if (body === '"broken"') throw new Error("not for the caller");
    return {
      status: 200,
      headers: { "x-seen": remoteAddress },
      contentType: "text/plain",
      body: `short ${body}`,
    };
  },
  refusal: () => ({ status: 500, headers: {}, contentType: "text/plain", body: "refused" }),
};

const listed: Direct = {
  method: "GET",
  path: "/asked",
  answer: async ({ query, asked, tell }) => {
    tell({ "x-counted": "yes" });
    if (query.a === "broken") throw new HttpError(418, "not now", { "retry-after": "1" });
    const { protocol, host } = asked();
    const body = `short ${protocol} ${host} ${JSON.stringify(query)}`;
    return { status: 200, headers: {}, contentType: "text/plain", body };
  },
};

const part: Part = {
  name: "rest",
  paths: [],
  direct: [direct, listed],
  register: (app) => {
    app.get("/asked", async (request) => `long ${JSON.stringify(request.query)}`);
    app.post("/asked", async (request, reply) =>
      reply
        .type("text/plain")
        .header("x-seen", request.ip)
        .send(`long ${JSON.stringify(request.body)}`),
    );
  },
};

/** Status, then the body, of a request whose connection ends with it. */
const ask = async (url: string, head: string, body: string) => {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const answer = await sendRaw(url, `${head}\r\n${length}\r\nConnection: close\r\n\r\n${body}`);
  const [top = "", ...rest] = answer.split("\r\n\r\n");
  return `${top.split(" ")[1]} ${rest.join("")}`;
};

const PLAIN = "POST /asked HTTP/1.1\r\nHost: here\r\nContent-Type: application/json";

test("a POST of JSON that arrived whole goes the short way; whatever is not plain goes the long one", async () => {
  await using service = await serve({ parts: [part] });
  const { url } = service;
  expect(await ask(url, PLAIN, '{"a":"ö"}')).toBe('200 short {"a":"ö"}');
  expect(await ask(url, `${PLAIN}; charset=UTF-8`, "1")).toBe("200 short 1");
  expect(await ask(url, PLAIN.replace("/asked", "/asked?x=1"), "1")).toBe("200 long 1");
  expect(await ask(url, `${PLAIN}; profile=x`, "1")).toBe("200 long 1");
  expect(await ask(url, PLAIN, `"${"x".repeat(2_000)}"`)).toMatch(/^200 long/);
  expect(await ask(url, PLAIN, "")).toMatch(/^400 /);
  expect(await ask(url, PLAIN.replace("application/json", "image/png"), "1")).toMatch(/^415 /);
  expect(await ask(url, `${PLAIN}\r\nHost: there`, "1")).toMatch(/^400 .*Host once/);
  expect(await ask(url, PLAIN.replace("Host: here\r\n", ""), "1")).toMatch(/^400 .*needs.*Host/);
  expect(await ask(url, `${PLAIN}\r\nExpect: a-miracle`, "1")).toMatch(/^417 /);
  expect(await ask(url, PLAIN.replace("POST", "PUT"), "1")).toMatch(/^404 /);
  expect(await ask(url, PLAIN, '"broken"')).toBe("500 refused");
});

test("a GET goes the short way with a query string that needs no decoding, and without a body", async () => {
  await using service = await serve({ parts: [part] });
  const askFor = async (path: string, fields = "") => {
    const head = `GET ${path} HTTP/1.1\r\nHost: here\r\n${fields}Connection: close\r\n\r\n`;
    const [top = "", ...rest] = (await sendRaw(service.url, head)).split("\r\n\r\n");
    return `${top.split(" ")[1]} ${rest.join("")}`;
  };
  expect(await askFor("/asked")).toBe("200 short http here {}");
  expect(await askFor("/asked?a=1&b_c=")).toBe('200 short http here {"a":"1","b_c":""}');
  const long = ["?", "?a", "?a=1&", "?a=%31", "?a=1&a=2", "?a=-1", "?__proto__=1", "?A=1"];
  for (const query of long) expect(await askFor(`/asked${query}`), query).toMatch(/^200 long /);
  for (const path of ["/asked/", "/%61sked"]) expect(await askFor(path)).toBe("200 long {}");
  expect(await askFor("/asked", "Content-Length: 0\r\n")).toBe("200 long {}");
  expect(await askFor("/asked", "Host: there\r\n")).toMatch(/^400 .*Host once/);
  expect(await askFor("/asked", "Expect: a-miracle\r\n")).toMatch(/^417 /);
});

test("what was told of a request is in its answer, also where that is a refusal", async () => {
  await using service = await serve({ parts: [part] });
  const answer = await fetch(`${service.url}/asked?a=broken`);
  const { status, headers } = answer;
  expect(status).toBe(418);
  expect(Object.fromEntries(headers)).toMatchObject({ "x-counted": "yes", "retry-after": "1" });
  expect(await answer.json()).toEqual({
    error: "BAD_REQUEST",
    details: "not now",
    requestId: headers.get("x-request-id"),
  });
});

test("both ways leave the same fields, line of log and count behind", async () => {
  await using service = await serve({ parts: [part], trustProxy: true });
  const id = "00000000-0000-4000-8000-000000000001";
  const seen = [];
  for (const path of ["/asked", "/asked?long"]) {
    const response = await fetch(service.url + path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-request-id": id,
        "x-forwarded-for": "203.0.113.9, 198.51.100.1",
      },
      body: "1",
    });
    const { date: _, "content-length": __, ...fields } = Object.fromEntries(response.headers);
    seen.push([response.status, fields]);
  }
  expect(seen[0]).toEqual(seen[1]);
  const lines = () => service.log.filter(({ msg }) => msg === "request");
  await expect.poll(lines).toHaveLength(2);
  const [short, long] = lines().map(({ time: _, ms: __, ...line }) => line);
  expect(short).toEqual(long);
  expect(short).toMatchObject({ requestId: id, route: "/asked", remoteAddress: "203.0.113.9" });
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toContain(
    'holderbook_http_request_duration_seconds_count{method="POST",route="/asked",status="200"} 2',
  );
});
