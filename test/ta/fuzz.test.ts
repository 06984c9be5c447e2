// @module-tag thorough
import { connect as connectSocket } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { secretKeyOf, signBytes } from "../../client/ed25519.ts";
import { canonicalJson, type JsonValue, signRequest } from "../../client/index.ts";
import { search } from "../random.ts";
import { type Api, type Reply, startApi } from "./api.ts";
import { bodyOf } from "./submissions.ts";

/** Small limits, so that bodies over them are cheap to make. */
const BODY_BYTES = 64 * 1024;

let api: Api;
beforeAll(async () => {
  api = await startApi({ bodyBytes: BODY_BYTES, fileBytes: 8 * 1024 });
});
afterAll(() => api[Symbol.asyncDispose]());

const PATHS = ["/api/v1/investor/whitelist", "/api/v1/investor/kyc"] as const;

/** Answers that a body may get: accepted, or refused for a reason of its own. */
const EXPECTED = new Set([201, 400, 401, 413, 415]);

const seen = new Map<number, number>();

const check = async (path: string, init: RequestInit): Promise<Reply> => {
  const reply = await api.send(path, { method: "POST", ...init });
  seen.set(reply.status, (seen.get(reply.status) ?? 0) + 1);
  expect(EXPECTED, reply.text).toContain(reply.status);
  if (reply.status !== 201) {
    expect(reply.json).toMatchObject({ error: expect.any(String), details: expect.any(String) });
  }
  return reply;
};

const NASTY_NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  "investor",
  "\u0000",
];

/** Any JSON value, small. */
const anything = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;

const nasty: fc.Arbitrary<JsonValue> = fc.oneof(
  anything,
  fc.constantFrom<JsonValue>(
    null,
    "",
    " ",
    0,
    -0,
    -1,
    1e308,
    5e-324,
    true,
    [],
    {},
    [[]],
    "\u0000",
    "\uffff",
  ),
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.integer({ min: 1_000, max: 30_000 }).map((length) => "x".repeat(length)),
  fc.integer({ min: 1, max: 60 }).map((depth) => nested(depth)),
);

const nested = (depth: number): JsonValue => {
  let value: JsonValue = 1;
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? [value] : { a: value };
  return value;
};

const MEMBERS = [
  ...Object.keys(bodyOf().investor),
  ...["tin", "accreditation", "ssn", "passportNumber", "identityDocumentCountry"],
  ...["identityDocument", "proofOfAddress"],
];

const file = fc.record(
  {
    fileName: fc.oneof(fc.string(), nasty),
    contentType: fc.oneof(fc.constantFrom("application/pdf", "text/plain", "image/png"), nasty),
    size: fc.oneof(fc.integer(), nasty),
    data: fc.oneof(fc.base64String({ maxLength: 12_000 }), fc.string(), nasty),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonValue>;

/** Date-times of any year that ISO 8601 can write, with any offset. */
const moment = fc
  .tuple(
    fc.date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
    fc.constantFrom("Z", "+00:00", "-23:59", "+23:59"),
  )
  .map(([date, offset]) => `${date.toISOString().slice(0, 19)}${offset}`);

/** Bodies near a good one: some members replaced, some added, some gone. */
const nearBody: fc.Arbitrary<JsonValue> = fc
  .record({
    changed: fc.dictionary(fc.constantFrom(...MEMBERS, ...NASTY_NAMES), fc.oneof(nasty, file), {
      maxKeys: 4,
    }),
    gone: fc.subarray(MEMBERS, { maxLength: 2 }),
    others: fc.dictionary(
      fc.constantFrom("verifiedStatus", "verifiedAt", "x", ...NASTY_NAMES.slice(0, 4)),
      fc.oneof(nasty, moment),
      { maxKeys: 3 },
    ),
    id: fc.uuid(),
  })
  .map(({ changed, gone, others, id }) => {
    const entries = Object.entries({ ...bodyOf({ id }).investor, ...changed });
    const investor = Object.fromEntries(entries.filter(([name]) => !gone.includes(name)));
    return { ...others, investor } as JsonValue;
  });

const headersFor = (canonical: string) => ({
  "content-type": "application/json",
  "x-api-key": api.keys.publicKey,
  "x-request-sig-b64": signBytes(Buffer.from(canonical), secretKeyOf(api.keys.secretKey)),
});

const path = fc.constantFrom(...PATHS);

/** Runs a property; eight requests are under way at a time. */
const fuzz = async <T>(
  bodies: fc.Arbitrary<T>,
  runs: number,
  send: (body: T) => Promise<unknown>,
) => {
  const batch = fc.array(bodies, { minLength: 8, maxLength: 8 });
  const all = fc.asyncProperty(batch, async (several) => {
    await Promise.all(several.map(send));
  });
  await search(all, runs / 8, { endOnFailure: true });
};

test("1,600 signed bodies close to valid ones are accepted or refused, never an internal error", async () => {
  await fuzz(fc.tuple(path, nearBody), 1_600, async ([to, body]) => {
    let canonical: string;
    try {
      canonical = canonicalJson(body);
    } catch {
      // A lone surrogate: it cannot be signed, so it is sent as it is below.
      return;
    }
    await check(to, { body: canonical, headers: headersFor(canonical) });
  });
  expect(seen.get(201), "some are good").toBeGreaterThan(30);
  expect(seen.get(400), "some are not").toBeGreaterThan(300);
});

test("400 texts that are not I-JSON, and bytes that are not text, are refused", async () => {
  const good = JSON.stringify(bodyOf());
  const damaged = fc
    .tuple(fc.nat(good.length - 1), fc.string({ unit: "binary", maxLength: 3 }), fc.nat(4))
    .map(([at, put, cut]) => good.slice(0, at) + put + good.slice(at + cut));
  const texts = fc.oneof(
    damaged,
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.constantFrom(
      '{"a":1,"a":2}',
      '{"\\u0061":1,"a":2}',
      '["\\ud800"]',
      "[1e999]",
      "[12345678901234567890]",
    ),
    fc.integer({ min: 40, max: 20_000 }).map((depth) => "[".repeat(depth)),
    fc.integer({ min: 40, max: 8_000 }).map((depth) => '{"a":'.repeat(depth)),
  );
  const bodies = fc.oneof(
    texts.map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 500 }),
  );
  await fuzz(fc.tuple(path, bodies), 400, ([to, body]) =>
    check(to, { body: new Uint8Array(body), headers: headersFor("{}") }),
  );
});

test("200 bodies with odd headers are refused", async () => {
  const { body, headers } = signRequest({ secretKey: api.keys.secretKey, body: bodyOf() });
  const value = fc.oneof(
    fc.base64String({ maxLength: 120 }),
    fc.stringMatching(/^[\x21-\x7e]{0,200}$/),
    fc.constantFrom(
      "application/json",
      "text/plain",
      "application/json; charset=latin1",
      "multipart/form-data",
    ),
  );
  const odd = fc.record(
    { "content-type": value, "x-api-key": value, "x-request-sig-b64": value },
    { requiredKeys: [] },
  );
  await fuzz(odd, 200, (changes) => check(PATHS[0], { body, headers: { ...headers, ...changes } }));
});

test("bodies over the limit are refused, with or without a stated length", async () => {
  const long = canonicalJson(bodyOf({ last_name: "x".repeat(BODY_BYTES) }));
  expect((await check(PATHS[0], { body: long, headers: headersFor(long) })).status).toBe(413);
  const chunked = new ReadableStream({
    start: (controller) => {
      for (let i = 0; i < 8; i += 1)
        controller.enqueue(Buffer.from(long.slice(i * 10_000, (i + 1) * 10_000)));
      controller.close();
    },
  });
  const init = { body: chunked, headers: headersFor(long), duplex: "half" as const };
  expect((await check(PATHS[0], init)).status).toBe(413);
});

test("an endless body delays no other request, and goes with its connection", async () => {
  const { hostname, port } = new URL(api.url);
  const body = JSON.stringify(bodyOf());
  const head = [
    `POST ${PATHS[0]} HTTP/1.1`,
    `Host: ${hostname}`,
    `Content-Length: ${body.length}`,
    ...Object.entries(headersFor("{}")).map(([name, value]) => `${name}: ${value}`),
  ].join("\r\n");
  const sockets = Array.from({ length: 50 }, () => connectSocket(Number(port), hostname));
  for (const socket of sockets) {
    socket.on("error", () => undefined);
    socket.write(`${head}\r\n\r\n${body.slice(0, 20)}`);
  }
  const started = performance.now();
  expect((await api.post(PATHS[1], bodyOf({ id: "beside" }))).status).toBe(201);
  expect(performance.now() - started).toBeLessThan(30_000);
  for (const socket of sockets) socket.destroy();
});

test("afterwards every stored request is intact", async () => {
  const [counted] = await api.database.sql<Record<string, number>[]>`
    select (select count(*) from ta_requests)::int4 as requests,
           (select count(*) from ta_requests r where exists (
              select 1 from ta_pii_records p where p.request_id = r.id))::int4 as records,
           (select count(*) from ta_requests r where exists (
              select 1 from ta_request_history h where h.request_id = r.id))::int4 as histories,
           (select count(*) from ta_answers)::int4 as answers,
           (select sum(arrivals) from ta_lanes)::int4 as arrivals`;
  const { requests } = counted ?? {};
  expect(requests).toBeGreaterThan(30);
  expect(counted).toEqual({
    requests,
    records: requests,
    histories: requests,
    answers: requests,
    arrivals: requests,
  });
  expect(api.log.filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
});
