/** How the client waits: for a service that is away, and on a connection that says nothing. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBook } from "../../client/index.ts";
import { eventsOf } from "../../client/server-sent.ts";
import { createTransferEvents } from "../../client/transfer-events.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A service that is away for so many requests, and then has one event. */
const awayFor = (requests: number, headers: Readonly<Record<string, string>> = {}) => {
  const asked: number[] = [];
  const events = createTransferEvents({
    url: "https://book.example",
    key: "hb_project_x",
    fetch: async () => {
      asked.push(Date.now());
      return asked.length > requests
        ? new Response('[{"id":9007199254740993}]')
        : new Response("{}", { status: 503, headers });
    },
  });
  return { events, asked };
};

test("following transfer events waits for an absent service without limit; a list gives up", async () => {
  const { events, asked } = awayFor(20);
  const first = events.events({ follow: true })[Symbol.asyncIterator]().next();
  await vi.advanceTimersByTimeAsync(20 * 18_000);
  expect(await first).toEqual({ done: false, value: { id: 9007199254740993n } });
  expect(asked).toHaveLength(21);

  const listed = awayFor(20);
  const refused = expect(
    listed.events.events()[Symbol.asyncIterator]().next(),
  ).rejects.toMatchObject({ status: 503, remedy: "retry" });
  await vi.advanceTimersByTimeAsync(60_000);
  await refused;
  expect(listed.asked).toHaveLength(6);
});

/** Answers in order; the last one again and again. */
const answering = (...answers: readonly (() => Response)[]) => {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (_url, options) => {
    asked.push(String(options?.body ?? ""));
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (answer === undefined) throw new Error("nothing to answer");
    return answer();
  };
  return { asked, at: { url: "https://book.example", key: "hb_x", fetch } };
};

const page = () => new Response("<html>", { headers: { "content-type": "text/html" } });
const failed = () =>
  Response.json({ errors: [{ message: "failed", extensions: { code: "INTERNAL" } }] });
const streamOf = (...positions: readonly number[]) => {
  const events = positions.map(
    (position) => `event: next\ndata: {"data":{"tokenActivity":{"position":"${position}"}}}\n\n`,
  );
  return new Response(`${events.join("")}event: complete\ndata:\n\n`, {
    headers: { "content-type": "text/event-stream" },
  });
};

test("a proxy's page instead of an answer is an error that says so, and followers outlast it", async () => {
  const following = answering(page, page, () => new Response('[{"id":1}]'));
  const first = createTransferEvents(following.at)
    .events({ follow: true })
    [Symbol.asyncIterator]()
    .next();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await first).toEqual({ done: false, value: { id: 1 } });

  const listing = answering(page);
  const refused = expect(createBook(listing.at).meta()).rejects.toMatchObject({
    name: "BookError",
    code: "NO_ANSWER",
    message: "the answer is not from the service: something in front of it answered",
  });
  await vi.advanceTimersByTimeAsync(60_000);
  await refused;
});

test("followers resume after their last event when a proxy answers or the service fails, and request nothing else", async () => {
  const service = answering(
    () => streamOf(1, 2),
    page,
    failed,
    () => streamOf(3),
  );
  const events = createBook(service.at).tokenActivity({ coinType: "0x2::a::A" });
  const positions: unknown[] = [];
  const read = (async () => {
    for await (const { position } of events) if (positions.push(position) === 3) return;
  })();
  await vi.advanceTimersByTimeAsync(30_000);
  await read;
  expect(positions).toEqual([1n, 2n, 3n]);
  expect(service.asked.every((body) => body.includes("subscription"))).toBe(true);
  expect(service.asked.map((body) => JSON.parse(body).variables.after)).toEqual([
    "0",
    "2",
    "2",
    "2",
  ]);
});

test("a query on which the service fails is not repeated automatically, but may be", async () => {
  const service = answering(failed);
  await expect(createBook(service.at).meta()).rejects.toMatchObject({
    code: "INTERNAL",
    remedy: "retry",
  });
  expect(service.asked).toHaveLength(1);
});

test("a redirect is not followed with the key, and the error says what to do", async () => {
  vi.useRealTimers();
  const keys: (string | undefined)[] = [];
  const elsewhere = createServer(({ headers }, response) => {
    keys.push(String(headers["x-api-key"]));
    response.end("{}");
  });
  await using _elsewhere = await listening(elsewhere);
  const { port } = elsewhere.address() as AddressInfo;
  const target = `http://localhost:${port}/graphql`;
  const here = createServer((_request, response) => {
    response.writeHead(308, { location: target }).end();
  });
  await using _here = await listening(here);
  const url = `http://127.0.0.1:${(here.address() as AddressInfo).port}`;
  const book = createBook({ url, key: "hb_graphql_x" });
  await expect(book.meta()).rejects.toMatchObject({
    name: "BookError",
    message: `${url} redirects to ${target}, where no key is sent: give the client that address`,
    remedy: "stop",
  });
  expect(keys).toEqual([]);
});

const listening = async (server: Server): Promise<AsyncDisposable> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};

test("Retry-After is respected in seconds and as a date, and one of centuries is capped", async () => {
  for (const [after, least] of [
    ["7", 7_000],
    [() => new Date(Date.now() + 9_000).toUTCString(), 8_000],
    ["99999999999", 24 * 3_600_000],
  ] as const) {
    const { events, asked } = awayFor(1, {
      "retry-after": typeof after === "string" ? after : after(),
    });
    const ending = new AbortController();
    const first = events
      .events({ signal: ending.signal })
      [Symbol.asyncIterator]()
      .next()
      .catch(() => undefined);
    await vi.advanceTimersByTimeAsync(least - 1_000);
    expect([after, asked.length]).toEqual([after, 1]);
    ending.abort();
    await first;
  }
});

test("a silent connection is closed, and comments keep it open", async () => {
  let say: (text: string) => void = () => undefined;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      say = (text) => controller.enqueue(new TextEncoder().encode(text));
    },
  });
  const seen: unknown[] = [];
  const read = (async () => {
    for await (const event of eventsOf(body, { silentMs: 60_000 })) seen.push(event);
    return "ended";
  })();
  say("event: next\ndata: {}\n\n");
  for (let minute = 0; minute < 5; minute += 1) {
    await vi.advanceTimersByTimeAsync(50_000);
    say(":\n\n");
  }
  say("event: next\r\ndata: 1\r\ndata: 2\r\n\r\n");
  await vi.advanceTimersByTimeAsync(61_000);
  expect(await read).toBe("ended");
  expect(seen).toEqual([
    { event: "next", data: "{}" },
    { event: "next", data: "1\n2" },
  ]);
});
