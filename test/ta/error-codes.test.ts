/** `code` and `param` of the transfer agent's errors, and what a repetition says. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ERROR_CODES, type ErrorCode } from "../../src/http/error-codes.ts";
import { createKey } from "../../src/http/keys.ts";
import { type Api, type KeyPair, type Reply, startApi } from "./api.ts";
import { bodyOf } from "./submissions.ts";

let api: Api;
let bound: KeyPair;

beforeAll(async () => {
  api = await startApi({ fileBytes: 8 });
  bound = await api.newKeys("acme-sui", { requireBound: true });
});
afterAll(() => api[Symbol.asyncDispose]());

const KYC = "/api/v1/investor/kyc";

const file = (changes: Readonly<Record<string, string | number>>) => ({
  fileName: "a.txt",
  contentType: "text/plain",
  size: 5,
  data: "SGVsbG8=",
  ...changes,
});

const refused: readonly (readonly [
  what: string,
  code: ErrorCode,
  param: string | undefined,
  send: () => Promise<Reply>,
])[] = [
  ["no key", "KEY_MISSING", "X-Api-Key", () => api.send("/api/v1/requests", {})],
  [
    "an unknown key",
    "KEY_INVALID",
    "X-Api-Key",
    () => api.send("/api/v1/requests", { headers: { "x-api-key": "AAAA" } }),
  ],
  [
    "a key of another interface",
    "KEY_NOT_ALLOWED",
    "X-Api-Key",
    async () => {
      const { secret } = await createKey(api.database, { kind: "graphql" });
      return await api.send("/api/v1/requests", { headers: { "x-api-key": secret } });
    },
  ],
  [
    "no signature",
    "SIGNATURE_MISSING",
    "X-Request-Sig-B64",
    () => api.send("/api/v1/requests", { headers: { "x-api-key": api.keys.publicKey } }),
  ],
  [
    "another key's signature",
    "SIGNATURE_INVALID",
    "X-Request-Sig-B64",
    () => api.post(KYC, bodyOf(), { headers: { "x-api-key": bound.publicKey, ...at() } }),
  ],
  [
    "a signature of the body alone by a key that is to bind it",
    "BOUND_SIGNATURE_REQUIRED",
    "X-Request-Timestamp",
    () => api.post(KYC, bodyOf(), { keys: bound }),
  ],
  [
    "an old signature",
    "TIMESTAMP_OUT_OF_RANGE",
    "X-Request-Timestamp",
    () => api.get("/api/v1/requests", api.keys, new Date(0)),
  ],
  [
    "no time",
    "TIMESTAMP_INVALID",
    "X-Request-Timestamp",
    () => api.post(KYC, bodyOf(), { headers: { "x-request-timestamp": "now" } }),
  ],
  [
    "a compressed body",
    "UNSUPPORTED_MEDIA_TYPE",
    "Content-Encoding",
    () => api.post(KYC, bodyOf(), { headers: { "content-encoding": "gzip" } }),
  ],
  [
    "a malformed Idempotency-Key",
    "INVALID_HEADER",
    "Idempotency-Key",
    () => api.post(KYC, bodyOf(), { headers: { "idempotency-key": "a b" } }),
  ],
  [
    "a missing member",
    "MISSING_MEMBER",
    "investor.full_address.city",
    () =>
      api.post(KYC, bodyOf({ full_address: { street: "R", countryCode: "AT", postalCode: "1" } })),
  ],
  [
    "a wrong member",
    "INVALID_MEMBER",
    "investor.email",
    () => api.post(KYC, bodyOf({ email: "nobody" })),
  ],
  [
    "a wrong member and a wrong file",
    "SIZE_MISMATCH",
    "investor.proofOfAddress.size",
    () => api.post(KYC, bodyOf({ email: "nobody", proofOfAddress: file({ size: 4 }) })),
  ],
  [
    "a file that is too large",
    "FILE_TOO_LARGE",
    "investor.proofOfAddress.data",
    () => api.post(KYC, bodyOf({ proofOfAddress: file({ size: 9, data: "SGVsbG9IZWxs" }) })),
  ],
  [
    "a malformed wallet",
    "INVALID_PARAMETER",
    "wallet_address",
    () =>
      api.send("/api/v1/investor/whitelist_status/alice", {
        headers: { "x-api-key": api.keys.publicKey },
      }),
  ],
  [
    "another's request",
    "NOT_FOUND",
    undefined,
    () => api.get("/api/v1/requests/00000000-0000-4000-8000-000000000000"),
  ],
  [
    "a method that is not served",
    "METHOD_NOT_ALLOWED",
    undefined,
    () => api.send("/api/v1/requests", { method: "DELETE" }),
  ],
  [
    "a former path",
    "GONE",
    undefined,
    () => api.send("/transfer_agent_api/v1/get_nonce", { method: "POST" }),
  ],
];

const at = () => ({ "x-request-timestamp": `${Math.floor(Date.now() / 1000)}` });

for (const [what, code, param, send] of refused) {
  test(`${what} is ${code}${param === undefined ? "" : `, and names ${param}`}`, async () => {
    const { status, json, headers, text } = await send();
    expect(text).toContain('"error"');
    expect(json).toMatchObject({ code, requestId: json.httpRequestId });
    expect(json.param).toBe(param);
    expect(status).toBe(ERROR_CODES[code][0]);
    expect(json.httpRequestId).toBe(headers.get("x-request-id"));
  });
}

test("a repetition gets the first answer to the letter, and a header says that it is one", async () => {
  const body = bodyOf({ id: "repeated" });
  const first = await api.post(KYC, body);
  const again = await api.post(KYC, body);
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.text).toBe(first.text);
  expect(first.headers.get("idempotent-replayed")).toBeNull();
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  const key = { headers: { "idempotency-key": "k-1" } };
  const keyed = await api.post(KYC, bodyOf({ id: "keyed" }), key);
  expect(keyed.headers.get("idempotent-replayed")).toBeNull();
  const reused = await api.post(KYC, bodyOf({ id: "other" }), key);
  expect([reused.status, reused.json.code, reused.json.param]).toEqual([
    422,
    "IDEMPOTENCY_KEY_REUSED",
    "Idempotency-Key",
  ]);
});
