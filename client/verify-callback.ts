/** Verifies callbacks by the asymmetric signatures of Standard Webhooks. */
import { publicKeyOf, strictBase64, verifyBytes } from "./ed25519.ts";
import { type Amounts, parseAmounts } from "./exact-json.ts";
import { isPlain } from "./forms.ts";

/** Default limit of age, and of time in the future. */
const TOLERANCE_SECONDS = 300;

/** More than there are keys at a time; bounds the work. */
const MOST_SIGNATURES = 16;

/** A header that every callback has is missing or not of its form. Answer 400; stop. */
export class CallbackMalformedError extends Error {
  override readonly name = "CallbackMalformedError";
  readonly remedy = "stop";
}

/** No signature fits any of the keys: not from Holderbook, or changed on its way. Answer 401; stop. */
export class CallbackSignatureError extends Error {
  override readonly name = "CallbackSignatureError";
  readonly remedy = "stop";
}

/** Signed properly, but not now: an old message replayed, or a wrong clock. Answer 400; stop. */
export class CallbackTooOldError extends Error {
  override readonly name = "CallbackTooOldError";
  readonly remedy = "stop";
}

/** `Headers`, Node's `request.headers`, or a plain object; names in any letter case. */
export type CallbackHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Base64 of 32 bytes, with or without `whpk_`; or an entry of `keys` of `GET /api/v1/callback_pk`. */
export type PublicKey = string | { readonly publicKey: string };

/** One key, several, or the answer of `GET /api/v1/callback_pk`. */
export type PublicKeys = PublicKey | readonly PublicKey[] | { readonly keys: readonly PublicKey[] };

export type VerifiedCallback = {
  /** `webhook-id`: constant across redeliveries. Act once per id. */
  readonly id: string;
  /** When this delivery was signed. */
  readonly signedAt: Date;
  /** The signed body. */
  readonly body: string;
  /**
   * The parsed body; integers beyond 2^53 are `bigint`, so that no amount is rounded. With `amounts:
   * "bigint"` every amount is.
   */
  json(options?: { readonly amounts?: Amounts }): unknown;
};

/**
 * Verifies a callback by its `webhook-signature` (Standard Webhooks, Ed25519).
 * `body`: exactly as received, before any parsing. `publicKeys`: cache those of `GET
 * /api/v1/callback_pk`, and refetch when none fits. `toleranceSeconds` (300): the limit between the
 * signature's time and `now`, either way.
 * @throws CallbackMalformedError a header is missing or malformed
 * @throws CallbackSignatureError no signature fits any key
 * @throws CallbackTooOldError the signature's time is outside the tolerance
 * @throws KeyFormatError a public key is malformed
 * @throws TypeError an argument has the wrong type, such as a parsed body
 */
export const verifyCallback = ({
  headers,
  body,
  publicKeys,
  toleranceSeconds = TOLERANCE_SECONDS,
  now = new Date(),
}: {
  readonly headers: CallbackHeaders;
  readonly body: string | Uint8Array;
  readonly publicKeys: PublicKeys;
  readonly toleranceSeconds?: number;
  readonly now?: Date;
}): VerifiedCallback => {
  checkClock(toleranceSeconds, now);
  const bytes = bytesOf(body);
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  // Dots separate the signed parts: without dots in the id they are unambiguous.
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
  // After the signature: an unsigned timestamp proves nothing.
  const signedAt = new Date(Number(timestamp) * 1_000);
  const age = Math.trunc((now.getTime() - signedAt.getTime()) / 1_000);
  if (Math.abs(age) > toleranceSeconds) {
    throw new CallbackTooOldError(
      `callback ${id} was signed ${age} s ago; ${toleranceSeconds} s either way are accepted`,
    );
  }
  return { id, signedAt, body: text, json: ({ amounts } = {}) => parseAmounts(text, amounts) };
};

/**
 * Verifies only `X-Request-Sig-B64`, the signature over the body. It does not detect old or
 * repeated bodies; prefer `verifyCallback`.
 * @throws CallbackMalformedError the signature is not base64
 * @throws CallbackSignatureError it fits no key
 */
export const verifyBodySignature = ({
  signature,
  body,
  publicKeys,
}: {
  /** Value of the header `X-Request-Sig-B64`. */
  readonly signature: string;
  readonly body: string | Uint8Array;
  readonly publicKeys: PublicKeys;
}): void => {
  const signed = bytesOf(body);
  const decoded = typeof signature === "string" ? strictBase64(signature) : undefined;
  if (decoded === undefined) throw new CallbackMalformedError("the signature is not base64");
  if (!keysOf(publicKeys).some((key) => verifyBytes(signed, decoded, key))) {
    throw new CallbackSignatureError("the signature of the body fits none of the public keys");
  }
};

/** A NaN tolerance would accept any age: comparisons with it are false. */
const checkClock = (toleranceSeconds: number, now: unknown) => {
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0) {
    throw new TypeError(`toleranceSeconds is ${String(toleranceSeconds)}, not a number of seconds`);
  }
  if (!(now instanceof Date) || Number.isNaN(now.getTime())) {
    throw new TypeError("now is not a valid Date");
  }
};

const bytesOf = (body: unknown) => {
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError(
    "body must be the text or bytes as received, not parsed: the signature is over them",
  );
};

const keysOf = (given: unknown) => {
  // `keys` of an array is a method.
  const all = isPlain(given) && Array.isArray(given.keys) ? given.keys : given;
  const list: readonly unknown[] = Array.isArray(all) ? all : [all];
  if (list.length === 0) throw new CallbackMalformedError("no public key was given");
  return list.map((key) => {
    const text = isPlain(key) ? key.publicKey : key;
    if (typeof text !== "string") {
      throw new TypeError(
        "publicKeys must be keys in base64, or what GET /api/v1/callback_pk answers",
      );
    }
    return publicKeyOf(text);
  });
};

/** `v1a,<base64>` each; skips other versions (v1 is a shared secret). */
const signaturesIn = (text: string) => {
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

const header = (headers: CallbackHeaders, name: string) => {
  if (headers === null || typeof headers !== "object") {
    throw new TypeError("headers must be those of the request");
  }
  const found: unknown =
    typeof headers.get === "function"
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const value: unknown = Array.isArray(found) && found.length === 1 ? found[0] : found;
  if (typeof value !== "string" || value === "") {
    throw new CallbackMalformedError(`the header ${name} is missing`);
  }
  return value;
};
