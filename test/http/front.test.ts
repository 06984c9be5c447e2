/** The port before there is anything behind it. */
import { once } from "node:events";
import { connect } from "node:net";
import pino from "pino";
import { expect, test } from "vitest";
import { createFront } from "../../src/http/edge/front.ts";
import { ListenError } from "../../src/http/listen.ts";
import { sendRaw, serve } from "./service.ts";

const logger = pino({ level: "silent" });
const place = { port: 0, host: "127.0.0.1" };

test("until the service is up every request gets 503 with Retry-After, in its interface's form", async () => {
  await using front = createFront({ logger });
  const url = await front.listen(place);
  const json = { "content-type": "application/json" };
  for (const path of ["/health", "/ready", "/", "/r/api/v2/transfer_events", "/nowhere"]) {
    const id = "6f1c0d3e-0000-4000-8000-000000000001";
    const answer = await fetch(url + path, { headers: { "x-request-id": id } });
    expect([path, answer.status, answer.headers.get("x-request-id")]).toEqual([path, 503, id]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await answer.json()).toEqual({
      error: "INTERNAL_ERROR",
      details: expect.stringContaining("starting"),
      requestId: id,
      code: "UNAVAILABLE",
      httpRequestId: id,
    });
  }
  const graphql = await fetch(`${url}/graphql`, { method: "POST", headers: json, body: "{}" });
  expect([graphql.status, graphql.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await graphql.json()).toEqual({
    errors: [{ message: expect.stringContaining("starting"), extensions: { code: "OVERLOADED" } }],
  });
  expect(await sendRaw(url, "HELO example\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
});

test("once the service is up, the same port answers", async () => {
  const front = createFront({ logger });
  const url = await front.listen(place);
  expect((await fetch(`${url}/health`)).status).toBe(503);
  const service = await serve({ front, listens: false });
  expect((await fetch(`${url}/things/5`)).status).toBe(200);
  await service.server.close();
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

test("a connection without a request does not delay shutdown", async () => {
  const front = createFront({ logger });
  const { hostname, port } = new URL(await front.listen(place));
  const ahead = connect(Number(port), hostname);
  await once(ahead, "connect");
  const gone = once(ahead, "close");
  const beganMs = performance.now();
  await front.close();
  await gone;
  expect(performance.now() - beganMs).toBeLessThan(20_000);
});

test("a port in use and a foreign host are errors that name the setting", async () => {
  await using first = createFront({ logger });
  const port = Number(new URL(await first.listen(place)).port);
  await using second = createFront({ logger });
  const taken = second.listen({ ...place, port });
  await expect(taken).rejects.toThrow(ListenError);
  await expect(taken).rejects.toThrow(
    new RegExp(`^cannot listen on PORT ${port} of HOST 127\\.0\\.0\\.1 .*EADDRINUSE.*set PORT`),
  );
  await using third = createFront({ logger });
  await expect(third.listen({ port: 0, host: "192.0.2.1" })).rejects.toThrow(/HOST 192\.0\.2\.1/);
});
