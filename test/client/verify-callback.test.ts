import { createPrivateKey, sign } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CallbackMalformedError,
  CallbackSignatureError,
  CallbackTooOldError,
  generateKeyPair,
  KeyFormatError,
  signRequest,
  verifyBodySignature,
  verifyCallback,
} from "../../client/index.ts";

/** Signs by node:crypto alone, so that the client is not checked against itself. */
const signed = (secretKey: string, text: string) => {
  const key = createPrivateKey({
    key: Buffer.concat([
      Buffer.from("302e020100300506032b657004220420", "hex"),
      Buffer.from(secretKey, "base64"),
    ]),
    format: "der",
    type: "pkcs8",
  });
  return sign(null, Buffer.from(text), key).toString("base64");
};

const keys = generateKeyPair();
const other = generateKeyPair();
const body = '{"amount":123456789012345678901234567890,"id":7}';
const now = new Date("2026-03-01T12:00:00.500Z");
const seconds = "1772366400";

const headers = (signatures = [`v1a,${signed(keys.secretKey, `msg_1.${seconds}.${body}`)}`]) => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": seconds,
  "webhook-signature": signatures.join(" "),
});

test("a callback signed by the key is accepted, and its amounts are exact", () => {
  const verified = verifyCallback({ headers: headers(), body, publicKeys: keys.publicKey, now });
  expect(verified.id).toBe("msg_1");
  expect(verified.signedAt.toISOString()).toBe("2026-03-01T12:00:00.000Z");
  expect(verified.body).toBe(body);
  expect(verified.json()).toEqual({ amount: 123456789012345678901234567890n, id: 7 });
});

test("headers may be a Headers object, Node's headers or any letter case; the body text or bytes", () => {
  const upper = Object.fromEntries(
    Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), [value]]),
  );
  for (const form of [new Headers(headers()), headers(), upper]) {
    for (const received of [body, new TextEncoder().encode(body)]) {
      const callback = { headers: form, body: received, publicKeys: keys.publicKey, now };
      expect(verifyCallback(callback).body).toBe(body);
    }
  }
});

test("while two keys overlap, a receiver that knows either accepts", () => {
  const both = headers([
    `v1a,${signed(keys.secretKey, `msg_1.${seconds}.${body}`)}`,
    `v1a,${signed(other.secretKey, `msg_1.${seconds}.${body}`)}`,
    "v1,c29tZXRoaW5nIGVsc2U=",
  ]);
  for (const publicKeys of [
    keys.publicKey,
    `whpk_${other.publicKey}`,
    [generateKeyPair().publicKey, other.publicKey],
    [{ keyId: "k1", publicKey: keys.publicKey, notBefore: "", notAfter: null }],
  ]) {
    expect(verifyCallback({ headers: both, body, publicKeys, now }).id).toBe("msg_1");
  }
});

test("a callback with any change is refused", () => {
  const changed = [
    { headers: headers(), body: body.replace("7", "8") },
    { headers: { ...headers(), "webhook-id": "msg_2" }, body },
    { headers: { ...headers(), "webhook-timestamp": String(Number(seconds) + 1) }, body },
    { headers: headers([`v1a,${signed(other.secretKey, `msg_1.${seconds}.${body}`)}`]), body },
    { headers: headers(["v1a,AAAA"]), body },
  ];
  for (const callback of changed) {
    expect(() => verifyCallback({ ...callback, publicKeys: keys.publicKey, now })).toThrow(
      CallbackSignatureError,
    );
  }
  const signature = Buffer.from(signed(keys.secretKey, `msg_1.${seconds}.${body}`), "base64");
  fc.assert(
    fc.property(fc.nat(511), (bit) => {
      const flipped = Buffer.from(signature);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const callback = { headers: headers([`v1a,${flipped.toString("base64")}`]), body, now };
      expect(() => verifyCallback({ ...callback, publicKeys: keys.publicKey })).toThrow(
        CallbackSignatureError,
      );
    }),
  );
});

test("a callback signed too long ago or too far ahead is refused, with the difference", () => {
  const at = (offsetSeconds: number, toleranceSeconds?: number) => () =>
    verifyCallback({
      headers: headers(),
      body,
      publicKeys: keys.publicKey,
      now: new Date(now.getTime() + offsetSeconds * 1_000),
      ...(toleranceSeconds !== undefined && { toleranceSeconds }),
    });
  expect(at(300)).not.toThrow();
  expect(at(-300)).not.toThrow();
  expect(at(301)).toThrow(CallbackTooOldError);
  expect(at(301)).toThrow(/msg_1 was signed 301 s ago; 300 s/);
  expect(at(-302)).toThrow(CallbackTooOldError);
  expect(at(60, 30)).toThrow(CallbackTooOldError);
});

test("the whole answer of callback_pk is a list of keys, including the older ones", () => {
  const answer = {
    publicKey: other.publicKey,
    algorithm: "ed25519",
    keys: [{ publicKey: other.publicKey }, { publicKey: keys.publicKey }],
  };
  expect(verifyCallback({ headers: headers(), body, publicKeys: answer, now }).id).toBe("msg_1");
});

test("a call that could not detect an old message is refused", () => {
  const call = (change: object) => () =>
    Reflect.apply(verifyCallback, undefined, [
      { headers: headers(), body, publicKeys: keys.publicKey, ...change },
    ]);
  expect(call({ toleranceSeconds: Number.NaN })).toThrow(/toleranceSeconds is NaN/);
  expect(call({ toleranceSeconds: "5m" })).toThrow(/toleranceSeconds is 5m/);
  expect(call({ now: new Date("yesterday") })).toThrow(/now is not a valid Date/);
  expect(call({ now, body: JSON.parse(body) })).toThrow(/body must be the text or bytes/);
  expect(call({ now, publicKeys: undefined })).toThrow(/publicKeys must be keys/);
  expect(call({ now, headers: undefined })).toThrow(/headers must be those of the request/);
});

test("input that is not a callback is named as such", () => {
  const cases: [Record<string, string | undefined>, RegExp][] = [
    [{ "webhook-id": undefined }, /header webhook-id is missing/],
    [{ "webhook-id": "a.b" }, /webhook-id is malformed/],
    [{ "webhook-timestamp": "yesterday" }, /webhook-timestamp/],
    [{ "webhook-signature": "" }, /webhook-signature is missing/],
    [{ "webhook-signature": "v1a,not base64" }, /no v1a signature/],
    [{ "webhook-signature": "v2a,AAAA" }, /no v1a signature/],
  ];
  for (const [change, message] of cases) {
    const callback = {
      headers: { ...headers(), ...change },
      body,
      publicKeys: keys.publicKey,
      now,
    };
    expect(() => verifyCallback(callback)).toThrow(CallbackMalformedError);
    expect(() => verifyCallback(callback)).toThrow(message);
  }
  const callback = { headers: headers(), body, publicKeys: "c2hvcnQ=", now };
  expect(() => verifyCallback(callback)).toThrow(KeyFormatError);
});

test("a signed request carries its canonical body and a signature over it", () => {
  const request = signRequest({ secretKey: keys.secretKey, body: { b: [2, "x"], a: 1 } });
  expect(request.body).toBe('{"a":1,"b":[2,"x"]}');
  expect(request.headers["x-api-key"]).toBe(keys.publicKey);
  expect(request.headers["x-request-sig-b64"]).toBe(signed(keys.secretKey, '{"a":1,"b":[2,"x"]}'));
  const signature = request.headers["x-request-sig-b64"] ?? "";
  const check = { signature, body: request.body };
  expect(() => verifyBodySignature({ ...check, publicKeys: keys.publicKey })).not.toThrow();
  expect(() => verifyBodySignature({ ...check, publicKeys: other.publicKey })).toThrow(
    CallbackSignatureError,
  );
});

test("a bound request covers method, path with query, time, Idempotency-Key and the digest of its body", () => {
  const path = "/api/v1/investor/kyc?a=b";
  // By hand: the digest of {"a":1} and the five members in their order.
  const digest = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
  const text = (key: string) =>
    `{"bodySha256":"${digest}","idempotencyKey":${key},"method":"POST","path":"${path}","timestamp":${seconds}}`;
  const { secretKey } = keys;
  const plain = signRequest({ secretKey, path, body: { a: 1 }, now });
  expect(plain).toEqual({
    body: '{"a":1}',
    headers: {
      "content-type": "application/json",
      "x-api-key": keys.publicKey,
      "x-request-timestamp": seconds,
      "x-request-sig-b64": signed(secretKey, text("null")),
    },
  });
  const keyed = signRequest({ secretKey, path, body: { a: 1 }, idempotencyKey: "k1", now });
  expect(keyed.headers).toMatchObject({
    "idempotency-key": "k1",
    "x-request-sig-b64": signed(secretKey, text('"k1"')),
  });
});

test("a signed request without a body covers method, path with query, and time", () => {
  const path = "/api/v1/callbacks?since=2026-01-01T00:00:00Z&limit=5";
  const { headers: sent } = signRequest({
    secretKey: `whsk_${keys.secretKey}`,
    method: "get",
    path,
    now,
  });
  const text = `{"method":"GET","path":"${path}","timestamp":${seconds}}`;
  expect(sent).toEqual({
    "x-api-key": keys.publicKey,
    "x-request-timestamp": seconds,
    "x-request-sig-b64": signed(keys.secretKey, text),
  });
});

test("an invalid secret key is refused without being shown", () => {
  const attempt = () => signRequest({ secretKey: "c2VjcmV0IGJ1dCBzaG9ydA==", body: {} });
  expect(attempt).toThrow(KeyFormatError);
  expect(attempt).not.toThrow(/c2VjcmV0/);
});
