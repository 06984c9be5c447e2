/** Verifies callbacks the way Standard Webhooks describes its asymmetric signatures. */
import { publicKeyOf, strictBase64, verifyBytes } from "./ed25519.mjs";
import { parseExactly } from "./exact-json.mjs";

/** Older than this, or this far in the future, is refused unless the caller says otherwise. */
const TOLERANCE_SECONDS = 300;

/** More signatures than keys ever overlap; a longer list only costs time. */
const MOST_SIGNATURES = 16;

/** A header that every callback has is missing or not of its form. Answer 400. */
export class CallbackMalformedError extends Error {
  name = "CallbackMalformedError";
  remedy = "stop";
}

/** No signature fits any of the keys: not from Holderbook, or changed on its way. Answer 401. */
export class CallbackSignatureError extends Error {
  name = "CallbackSignatureError";
  remedy = "stop";
}

/** Signed properly, but not now: an old message played again, or a clock that is wrong. Answer 400. */
export class CallbackTooOldError extends Error {
  name = "CallbackTooOldError";
  remedy = "stop";
}

export const verifyCallback = ({
  headers,
  body,
  publicKeys,
  toleranceSeconds = TOLERANCE_SECONDS,
  now = new Date(),
}) => {
  checkClock(toleranceSeconds, now);
  const bytes = bytesOf(body);
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  // Without dots the three parts of what is signed cannot run into one another.
  if (!/^[A-Za-z0-9_-]{1,200}$/.test(id))
    throw new CallbackMalformedError("webhook-id is malformed");
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new CallbackMalformedError("webhook-timestamp is not a number of seconds");
  }
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), bytes]);

  const keys = keysOf(publicKeys);
  const signatures = signaturesIn(header(headers, "webhook-signature"));
  const fits = signatures.some((signature) =>
    keys.some((key) => verifyBytes(signed, signature, key)),
  );
  if (!fits) {
    throw new CallbackSignatureError(
      `callback ${id}: none of ${signatures.length} signatures fits any of ${keys.length} public keys`,
    );
  }
  // After the signature: an unsigned timestamp says nothing.
  const signedAt = new Date(Number(timestamp) * 1_000);
  const age = Math.trunc((now.getTime() - signedAt.getTime()) / 1_000);
  if (Math.abs(age) > toleranceSeconds) {
    throw new CallbackTooOldError(
      `callback ${id} was signed ${age} s ago; ${toleranceSeconds} s either way are accepted`,
    );
  }
  return { id, signedAt, body: text, json: () => parseExactly(text) };
};

export const verifyBodySignature = ({ signature, body, publicKeys }) => {
  const signed = bytesOf(body);
  const decoded = typeof signature === "string" ? strictBase64(signature) : undefined;
  if (decoded === undefined) throw new CallbackMalformedError("the signature is not base64");
  if (!keysOf(publicKeys).some((key) => verifyBytes(signed, decoded, key))) {
    throw new CallbackSignatureError("the signature of the body fits none of the public keys");
  }
};

/** A comparison with NaN is never true: without this a wrong tolerance would accept any age. */
const checkClock = (toleranceSeconds, now) => {
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0) {
    throw new TypeError(`toleranceSeconds is ${String(toleranceSeconds)}, not a number of seconds`);
  }
  if (!(now instanceof Date) || Number.isNaN(now.getTime())) {
    throw new TypeError("now is not a valid Date");
  }
};

const bytesOf = (body) => {
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError(
    "body must be the text or bytes as received, not parsed: the signature is over them",
  );
};

/** One key, several, or the whole answer of `callback_pk`. */
const keysOf = (given) => {
  // An array has `keys`, too: a method.
  const all = Array.isArray(given?.keys) ? given.keys : given;
  const list = Array.isArray(all) ? all : [all];
  if (list.length === 0) throw new CallbackMalformedError("no public key was given");
  return list.map((key) => {
    const text = typeof key === "string" ? key : key?.publicKey;
    if (typeof text !== "string") {
      throw new TypeError(
        "publicKeys must be keys in base64, or what GET /api/v1/callback_pk answers",
      );
    }
    return publicKeyOf(text);
  });
};

/** `v1a,<base64>` each; other versions (v1 is a shared secret) are not for us. */
const signaturesIn = (text) => {
  const parts = text.split(" ").slice(0, MOST_SIGNATURES);
  const signatures = parts
    .filter((part) => part.startsWith("v1a,"))
    .map((part) => strictBase64(part.slice("v1a,".length)))
    .filter((signature) => signature !== undefined);
  if (signatures.length === 0) {
    throw new CallbackMalformedError("webhook-signature holds no v1a signature in base64");
  }
  return signatures;
};

/** Of `Headers`, of Node's `IncomingHttpHeaders`, or of a plain object in any letter case. */
const header = (headers, name) => {
  if (headers === null || typeof headers !== "object") {
    throw new TypeError("headers must be those of the request");
  }
  const found =
    typeof headers.get === "function"
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const value = Array.isArray(found) && found.length === 1 ? found[0] : found;
  if (typeof value !== "string" || value === "") {
    throw new CallbackMalformedError(`the header ${name} is missing`);
  }
  return value;
};
