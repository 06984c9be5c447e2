import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type JsonValue, signRequest } from "../../client/index.ts";
import { type Api, startApi } from "./api.ts";
import { bodyOf, WALLET } from "./submissions.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const WHITELIST = "/api/v1/investor/whitelist";
const KYC = "/api/v1/investor/kyc";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const rows = async (investorId: string) => [
  ...(await api.database.sql<Record<string, unknown>[]>`
    select kind, status, wallet, verified_status from ta_requests
    where investor_id = ${investorId} order by sequence`),
];

test("a signed whitelist request is accepted and queued", async () => {
  const reply = await api.post(
    WHITELIST,
    bodyOf(
      { id: "w-1", blockchain_wallet: "0xAB" },
      { verifiedStatus: false, verifiedAt: "2026-01-02T04:04:05+01:00", unknown: [1.5, null] },
    ),
  );
  expect(reply.status).toBe(201);
  expect(reply.json).toEqual({
    requestId: expect.stringMatching(UUID),
    status: "QUEUED",
    message: expect.any(String),
  });
  expect(await rows("w-1")).toEqual([
    {
      kind: "whitelist",
      status: "QUEUED",
      wallet: `0x${"ab".padStart(64, "0")}`,
      verified_status: false,
    },
  ]);
  const stored = await api.vault.open(String(reply.json.requestId), "test");
  expect(stored).toMatchObject({ verifiedStatus: false, verifiedAt: "2026-01-02T03:04:05.000Z" });
});

test("a signed KYC request is accepted, verified now unless it says otherwise", async () => {
  const before = Date.now();
  const reply = await api.post(KYC, bodyOf({ id: "k-1" }, { verifiedStatus: null }));
  expect(reply.status).toBe(201);
  const { verifiedStatus, verifiedAt } = await api.vault.open(String(reply.json.requestId), "test");
  expect(verifiedStatus).toBe(true);
  expect(Date.parse(verifiedAt)).toBeGreaterThanOrEqual(before - 1000);
});

test("the date and outcome of an investor's verification are sealed, except what whitelisting needs", async () => {
  const when = { verifiedStatus: false, verifiedAt: "2019-07-01T00:00:00Z" };
  await api.post(KYC, bodyOf({ id: "at-rest" }, when));
  await api.post(WHITELIST, bodyOf({ id: "at-rest" }, when));
  const found = await rows("at-rest");
  expect(found.map((row) => row.verified_status)).toEqual([null, false]);
  const [row] = await api.database.sql`
    select to_json(r)::text as text from ta_requests r where kind = 'kyc' and investor_id = 'at-rest'`;
  expect(row?.text).not.toMatch(/2019|false/);
});

test("the signature covers the canonical body, so the body may be written in any way", async () => {
  const body = bodyOf({ id: "c-1", first_name: "Zoë \u{1f600}" });
  const { headers } = signRequest({ secretKey: api.keys.secretKey, body });
  const text = JSON.stringify(body, null, 3).replace("ë", "\\u00eb");
  expect((await api.send(WHITELIST, { method: "POST", body: text, headers })).status).toBe(201);
});

test("a wrong, missing or foreign signature and an unknown key are 401, before anything is validated", async () => {
  const body = { investor: {} };
  const good = signRequest({ secretKey: api.keys.secretKey, body });
  const other = await api.newKeys("acme-sui");
  const foreign = signRequest({ secretKey: other.secretKey, body });
  const sent = (headers: Readonly<Record<string, string>>) =>
    api.send(WHITELIST, { method: "POST", body: good.body, headers });
  const { "x-request-sig-b64": _signature, ...unsigned } = good.headers;
  const { "x-api-key": _key, ...keyless } = good.headers;
  for (const headers of [
    unsigned,
    keyless,
    { ...good.headers, "x-request-sig-b64": foreign.headers["x-request-sig-b64"] ?? "" },
    { ...good.headers, "x-request-sig-b64": "AAAA" },
    { ...good.headers, "x-request-sig-b64": "*" },
    { ...good.headers, "x-api-key": "AAAA" },
    { ...good.headers, "x-api-key": Buffer.alloc(32, 7).toString("base64") },
  ]) {
    const reply = await sent(headers);
    expect(reply.status).toBe(401);
    expect(reply.json).toEqual({
      error: "UNAUTHORIZED",
      details: expect.any(String),
      requestId: reply.headers.get("x-request-id"),
      code: expect.stringMatching(/^(KEY|SIGNATURE)_/),
      param: expect.stringMatching(/^X-/),
      httpRequestId: reply.headers.get("x-request-id"),
    });
  }
  expect((await sent(good.headers)).status).toBe(400);
});

test("a body that is not I-JSON is 400 before its signature is checked", async () => {
  const { headers } = signRequest({ secretKey: api.keys.secretKey, body: {} });
  for (const body of [
    '{"a":1,"a":1}',
    '{"a":9007199254740993}',
    '{"a":1e400}',
    '{"a":"\\ud800"}',
    "",
    "{",
  ]) {
    const reply = await api.send(WHITELIST, { method: "POST", body, headers });
    expect([reply.status, reply.json.error], body).toEqual([400, "BAD_REQUEST"]);
  }
});

test("every missing member is named in one answer", async () => {
  const reply = await api.post(WHITELIST, { investor: { first_name: null, last_name: " " } });
  expect(reply.status).toBe(400);
  for (const member of [
    "id",
    "first_name",
    "last_name",
    "email",
    "dob",
    "full_address.street",
    "full_address.city",
    "full_address.countryCode",
    "full_address.postalCode",
    "blockchain_wallet",
    "primary_phone",
  ]) {
    expect(reply.json.details).toContain(`investor.${member} is missing`);
  }
});

test("an optional member may not be an empty text, but may be null", async () => {
  const optional: readonly [string, string][] = [
    ["tin", "must not be empty; leave it out or send null"],
    ["accreditation", "must be accredited, non_accredited or pending"],
    ["ssn", "must not be empty; leave it out or send null"],
    ["passportNumber", "must not be empty; leave it out or send null"],
    ["identityDocumentCountry", "must be an ISO 3166-1 alpha-2 code in capitals"],
    ["identityDocument", "must be a file object"],
    ["proofOfAddress", "must be a file object"],
  ];
  for (const blank of ["", " \t"]) {
    for (const [member, fault] of optional) {
      const reply = await api.post(KYC, bodyOf({ [member]: blank }));
      expect([reply.status, reply.json.details]).toEqual([400, `investor.${member} ${fault}`]);
      const file = member === "identityDocument" || member === "proofOfAddress";
      expect(reply.json.code).toBe(file ? "INVALID_REQUEST" : "INVALID_MEMBER");
    }
  }
  const none = Object.fromEntries(optional.map(([member]) => [member, null]));
  expect((await api.post(KYC, bodyOf({ id: "nulls", ...none }))).status).toBe(201);
});

test("malformed members are refused by name, and no answer repeats what was sent", async () => {
  const cases: readonly [string, Record<string, string | number>][] = [
    ["investor.email", { email: "not-an-email" }],
    ["investor.dob", { dob: "2021-02-29" }],
    ["investor.dob", { dob: "2999-01-01" }],
    ["investor.primary_phone", { primary_phone: "6701234567" }],
    ["investor.blockchain_wallet", { blockchain_wallet: "0xzz" }],
    ["investor.identityDocumentCountry", { identityDocumentCountry: "qz" }],
    ["investor.accreditation", { accreditation: "perhaps" }],
    ["investor.id", { id: 42 }],
  ];
  for (const [member, changes] of cases) {
    const reply = await api.post(KYC, bodyOf(changes));
    expect(reply.status, member).toBe(400);
    expect(reply.json.details).toContain(member);
    expect(reply.json.details).not.toContain(String(Object.values(changes)[0]));
  }
  const others = await api.post(
    KYC,
    bodyOf({}, { verifiedStatus: "yes", verifiedAt: "2999-01-01T00:00:00Z" }),
  );
  expect(others.json.details).toBe(
    "verifiedStatus must be true or false; verifiedAt must not be in the future",
  );
});

test("each faulty member is named once, with its first fault", async () => {
  const DATE_TIME =
    "verifiedAt must be an ISO 8601 date-time with offset, such as 2026-11-20T12:00:00Z";
  const file = (size: number) => ({
    fileName: "a.txt",
    contentType: "text/plain",
    size,
    data: "YQ==",
  });
  const cases: readonly [string, JsonValue][] = [
    [DATE_TIME, bodyOf({}, { verifiedAt: "" })],
    [DATE_TIME, bodyOf({}, { verifiedAt: "2026-01-01T00:00:60Z" })],
    ["investor.proofOfAddress.size must not be negative", bodyOf({ proofOfAddress: file(-1) })],
    [
      "investor.blockchain_wallet must not be the zero address",
      bodyOf({ blockchain_wallet: "0x0" }),
    ],
    ["investor.dob must not be before 1875", bodyOf({ dob: "0000-01-01" })],
    ["investor.dob must not be before 1875", bodyOf({ dob: "1874-12-31" })],
    [
      "investor.email must be an e-mail address with at most 64 characters before the @",
      bodyOf({ email: `${"g".repeat(65)}@example.org` }),
    ],
  ];
  for (const [details, body] of cases) {
    const reply = await api.post(KYC, body);
    expect([reply.status, reply.json.details]).toEqual([400, details]);
  }
  const bounds = { dob: "1875-01-01", email: `${"g".repeat(64)}@example.org`, id: "bounds" };
  expect((await api.post(KYC, bodyOf(bounds))).status).toBe(201);
});

test("text of a whole body's length is refused for its length, by member", async () => {
  const long = { email: `${"a.".repeat(4_000_000)}@x.y`, first_name: "b".repeat(1_000_000) };
  const reply = await api.post(KYC, bodyOf(long));
  expect(reply.status).toBe(400);
  expect(reply.json.details).toBe(
    "investor.first_name must be at most 200 characters; investor.email must be at most 254 characters",
  );
  const verifiedAt = `2026-01-01T00:00:00.${"0".repeat(1_000_000)}Z`;
  const late = await api.post(KYC, bodyOf({}, { verifiedAt }));
  expect(late.status).toBe(400);
  expect(late.json.details).toContain("verifiedAt must be an ISO 8601");
});

test("the same request again gets the first answer, whatever Idempotency-Key accompanies a signed body", async () => {
  const body = bodyOf({ id: "again" });
  const first = await api.post(WHITELIST, body);
  expect((await api.post(WHITELIST, body)).json).toEqual(first.json);
  expect((await api.post(KYC, body)).json.requestId).not.toBe(first.json.requestId);
  const keyed = (key: string, sent: JsonValue = body) =>
    api.post(WHITELIST, sent, { headers: { "idempotency-key": key } });
  // Nothing signs it: a caller with the signed body could write any.
  expect((await keyed("one")).json).toEqual(first.json);
  const other = bodyOf({ id: "again", first_name: "Other" });
  const second = await keyed("two", other);
  expect(second.json.requestId).not.toBe(first.json.requestId);
  for (const key of ["two", "three"]) expect((await keyed(key, other)).json).toEqual(second.json);
  expect((await api.post(WHITELIST, other)).json).toEqual(second.json);
  expect(await rows("again")).toHaveLength(3);
});

test("an Idempotency-Key already used with another body is 422, before that body is validated", async () => {
  const body = bodyOf({ id: "reused" });
  const keyed = (key: string, sent: JsonValue) =>
    api.post(WHITELIST, sent, { headers: { "idempotency-key": key } });
  expect((await keyed("used", body)).status).toBe(201);
  const reused = await keyed("used", bodyOf({ id: "other" }));
  expect([reused.status, reused.json.error]).toEqual([422, "BAD_REQUEST"]);
  // Also when that body could not have been accepted by itself; a forged one learns nothing.
  expect((await keyed("used", { investor: { id: 42 } })).status).toBe(422);
  expect((await keyed("unused", { investor: { id: 42 } })).status).toBe(400);
  const forged = await api.post(WHITELIST, body, {
    headers: {
      "idempotency-key": "used",
      "x-request-sig-b64": Buffer.alloc(64).toString("base64"),
    },
  });
  expect(forged.status).toBe(401);
  expect(await rows("reused")).toHaveLength(1);
});

test("a tin that is the platform's sentinel is stored as absent", async () => {
  const stored = async (tin: string) => {
    const { json } = await api.post(KYC, bodyOf({ id: "tin", tin }));
    return (await api.vault.open(String(json.requestId), "test")).investor.tin;
  };
  expect(await stored("PLATFORM00")).toBe(null);
  expect(await stored(" PLATFORM00 ")).toBe(null);
  expect(await stored("123-45-6789")).toBe("123-45-6789");
});

test("wallets have the form of the asset's ledger; on EVM a mixed-case one needs a valid checksum", async () => {
  const keys = await api.newKeys("acme-evm");
  const sent = (wallet: string, id: string) =>
    api.post(WHITELIST, bodyOf({ id, blockchain_wallet: wallet }), { keys });
  const checksummed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  expect((await sent(checksummed, "e-1")).status).toBe(201);
  expect((await sent(checksummed.toLowerCase(), "e-2")).status).toBe(201);
  expect((await sent(checksummed.replace("aA", "Aa"), "e-3")).status).toBe(400);
  expect((await sent(WALLET, "e-4")).status).toBe(400);
  expect((await sent(`0x${"0".repeat(40)}`, "e-5")).status).toBe(400);
  expect(await rows("e-1")).toMatchObject([{ wallet: checksummed.toLowerCase() }]);
});

test("a compressed body, or one in another charset, is 415 with what to send", async () => {
  const { headers, body } = signRequest({ secretKey: api.keys.secretKey, body: bodyOf() });
  const sent = (bytes: string | Uint8Array<ArrayBuffer>, others: Record<string, string>) =>
    api.send(WHITELIST, { method: "POST", body: bytes, headers: { ...headers, ...others } });
  const gzip = await sent(Uint8Array.from(gzipSync(body)), { "content-encoding": "gzip" });
  expect([gzip.status, gzip.json.details]).toEqual([
    415,
    "send the body as it is, uncompressed and without Content-Encoding",
  ]);
  const latin = { "content-type": 'application/json; charset="iso-8859-1"' };
  const foreign = await sent(Uint8Array.from(Buffer.from(body, "latin1")), latin);
  expect([foreign.status, foreign.json.details]).toEqual([
    415,
    "send the body in UTF-8, with Content-Type: application/json",
  ]);
  const plain = {
    "content-type": "application/json; charset=UTF-8",
    "content-encoding": "identity",
  };
  expect((await sent(body, plain)).status).toBe(201);
});

test("the log contains nothing that was sent about a person", async () => {
  await api.post(WHITELIST, bodyOf({ id: "log-1", ssn: "078-05-1120", first_name: "Logfried" }));
  await api.post(WHITELIST, bodyOf({ id: "log-1", ssn: "078-05-1120", email: "broken" }));
  expect(api.log.length).toBeGreaterThan(0);
  expect(api.log.join("")).not.toMatch(/078-05-1120|Logfried|Muster|grete@|log-1/);
});
