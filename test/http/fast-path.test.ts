/** What is answered on the fast path, what is not, and that both paths leave the same behind. */
import { expect, test } from "vitest";
import { z } from "zod";
import { HttpError } from "../../src/http/http-error.ts";
import type { Part } from "../../src/http/part.ts";
import { type Answer, type Reply, route } from "../../src/http/route.ts";
import { anyone } from "../../src/http/who.ts";
import { sendRaw, serve } from "./service.ts";

const text: Answer<Reply> = {
  status: 200,
  description: "What was asked.",
  content: {},
  toReply: (reply) => reply,
};

const shown = (body: string, headers = {}): Reply => ({
  status: 200,
  headers,
  contentType: "text/plain",
  body,
});

const posted = route({
  method: "POST",
  path: "/asked",
  isFast: true,
  who: anyone(),
  operationId: "post",
  summary: "Posted",
  query: z.looseObject({}),
  body: {
    limitBytes: 1_000,
    described: { required: true, schema: {} },
    read: ({ body }) => `${body}`,
  },
  answer: text,
  handle: async ({ body, visit }) => {
    if (body === '"broken"') throw new Error("not for the caller");
    return shown(body, { "x-seen": visit.remoteAddress });
  },
});

const listed = route({
  method: "GET",
  path: "/asked",
  isFast: true,
  who: anyone(),
  operationId: "get",
  summary: "Listed",
  query: z.looseObject({}),
  answer: text,
  handle: async ({ query, visit }) => {
    visit.addFields({ "x-counted": "yes" });
    if (query.a === "broken") throw new HttpError(418, "not now", { "retry-after": "1" });
    const { protocol, host } = visit.origin();
    return shown(`${protocol} ${host} ${JSON.stringify(query)}`);
  },
});

const part: Part = {
  name: "rest",
  paths: [],
  routes: [posted, listed],
  bodies: "text",
  refusalOf: (error) =>
    error instanceof HttpError
      ? { status: error.statusCode, headers: error.headers, body: { said: error.message } }
      : { status: 500, headers: {}, body: { said: "refused" } },
  // Of the framework alone.
  register: (app) =>
    void app.addHook("onRequest", async (_request, reply) => {
      reply.header("x-way", "framework");
    }),
};

const wayOf = (answer: string) => (/^x-way: framework\r$/m.test(answer) ? "framework" : "fast");

/** Status, path taken, then the body, of a request whose connection ends with it. */
const ask = async (url: string, head: string, body: string) => {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const answer = await sendRaw(url, `${head}\r\n${length}\r\nConnection: close\r\n\r\n${body}`);
  return shortly(answer);
};

const shortly = (answer: string) => {
  const [top = "", ...rest] = answer.split("\r\n\r\n");
  return `${top.split(" ")[1]} ${wayOf(top)} ${rest.join("")}`;
};

const PLAIN = "POST /asked HTTP/1.1\r\nHost: here\r\nContent-Type: application/json";

test("a complete JSON POST takes the fast path; anything else goes through the framework", async () => {
  await using service = await serve({ parts: [part] });
  const { url } = service;
  expect(await ask(url, PLAIN, '{"a":"ö"}')).toBe('200 fast {"a":"ö"}');
  expect(await ask(url, `${PLAIN}; charset=UTF-8`, "1")).toBe("200 fast 1");
  expect(await ask(url, PLAIN.replace("/asked", "/asked?x=1"), "1")).toBe("200 framework 1");
  expect(await ask(url, `${PLAIN}; profile=x`, "1")).toBe("200 framework 1");
  expect(await ask(url, PLAIN, `"${"x".repeat(2_000)}"`)).toMatch(/^500 framework/);
  expect(await ask(url, PLAIN, "")).toMatch(/^\d+ framework/);
  expect(await ask(url, PLAIN.replace("application/json", "image/png"), "1")).toMatch(
    /^\d+ framework/,
  );
  expect(await ask(url, `${PLAIN}\r\nHost: there`, "1")).toMatch(/^400 .*Host once/);
  expect(await ask(url, PLAIN.replace("Host: here\r\n", ""), "1")).toMatch(/^400 .*needs.*Host/);
  expect(await ask(url, `${PLAIN}\r\nExpect: a-miracle`, "1")).toMatch(/^417 /);
  expect(await ask(url, PLAIN.replace("POST", "PUT"), "1")).toMatch(/^405 /);
  expect(await ask(url, PLAIN, '"broken"')).toBe('500 fast {"said":"refused"}');
});

test("a GET takes the fast path with a query string that needs no decoding, and without a body", async () => {
  await using service = await serve({ parts: [part] });
  const askFor = async (path: string, fields = "") => {
    const head = `GET ${path} HTTP/1.1\r\nHost: here\r\n${fields}Connection: close\r\n\r\n`;
    return shortly(await sendRaw(service.url, head));
  };
  expect(await askFor("/asked")).toBe("200 fast http here {}");
  expect(await askFor("/asked?a=1&b_c=")).toBe('200 fast http here {"a":"1","b_c":""}');
  const others = ["?", "?a", "?a=1&", "?a=%31", "?a=1&a=2", "?a=-1", "?__proto__=1", "?A=1"];
  for (const query of others) {
    expect(await askFor(`/asked${query}`), query).toMatch(/^200 framework /);
  }
  for (const path of ["/asked/", "/%61sked"]) {
    expect(await askFor(path)).toBe("200 framework http here {}");
  }
  expect(await askFor("/asked", "Content-Length: 0\r\n")).toBe("200 framework http here {}");
  expect(await askFor("/asked", "Host: there\r\n")).toMatch(/^400 .*Host once/);
  expect(await askFor("/asked", "Expect: a-miracle\r\n")).toMatch(/^417 /);
});

test("header fields added to an answer are kept even if it becomes a refusal", async () => {
  await using service = await serve({ parts: [part] });
  for (const query of ["?a=broken", "?a=%62roken"]) {
    const answer = await fetch(`${service.url}/asked${query}`);
    const { status, headers } = answer;
    expect(status).toBe(418);
    expect(Object.fromEntries(headers)).toMatchObject({ "x-counted": "yes", "retry-after": "1" });
    expect(await answer.json()).toEqual({ said: "not now" });
  }
});

test("both paths leave the same fields, log line and count behind", async () => {
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
    const { date: _, "x-way": __, ...fields } = Object.fromEntries(response.headers);
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
