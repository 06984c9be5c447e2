/** Signs requests to the transfer agent API. */
import { createHash, createPublicKey } from "node:crypto";
import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import { publicTextOf, secretKeyOf, signBytes } from "./ed25519.ts";

/** Headers to send, names in lower case. */
export type SignedHeaders = Readonly<Record<string, string>>;

type WithBody = {
  readonly secretKey: string;
  readonly body: JsonValue;
  readonly path?: undefined;
};
type Bound = {
  readonly secretKey: string;
  readonly body: JsonValue;
  readonly path: string;
  /** POST unless given. */
  readonly method?: string;
  /** 1 to 255 visible ASCII characters. */
  readonly idempotencyKey?: string | undefined;
  readonly now?: Date;
};
type Read = {
  readonly secretKey: string;
  readonly method: string;
  readonly path: string;
  readonly now?: Date;
};
type SignedBody = { readonly body: string; readonly headers: SignedHeaders };

/**
 * Signs a request to the transfer agent API with the secret key of the pair whose public key is
 * registered for the asset.
 *
 * With `body` and `path` (POST): the signature is bound to the path, the time, the `Idempotency-Key`
 * and the body, and is good for 300 s. Send `body` of the result, byte for byte, with `headers`, which
 * hold the `Idempotency-Key` too; sign again before sending again. `path` is what the service gets: it
 * begins with `/` and includes the query, if any.
 *
 * With `body` alone: the older form, which covers the body and nothing else; a key made with
 * `--require-bound` does not take it.
 *
 * With `method` and `path` (GET of the request status and of the delivery log): as bound, without a body.
 *
 * @throws KeyFormatError the secret key is not base64 of 32 bytes
 * @throws NotCanonicalError the body has no canonical form
 */
export function signRequest(request: Bound): SignedBody;
export function signRequest(request: Omit<WithBody, "path">): SignedBody;
export function signRequest(request: Read): { readonly headers: SignedHeaders };
export function signRequest(
  request: Bound | WithBody | Read,
): SignedBody | { readonly headers: SignedHeaders } {
  const privateKey = secretKeyOf(request.secretKey);
  const apiKey = publicTextOf(createPublicKey(privateKey));
  const signatureOf = (signed: Uint8Array) => signBytes(signed, privateKey);
  const timestampOf = (now = new Date()) => Math.floor(now.getTime() / 1_000);
  if (!("body" in request)) {
    const timestamp = timestampOf(request.now);
    const signed = { method: request.method.toUpperCase(), path: request.path, timestamp };
    return {
      headers: {
        "x-api-key": apiKey,
        "x-request-timestamp": String(timestamp),
        "x-request-sig-b64": signatureOf(readContent(signed)),
      },
    };
  }
  const body = canonicalJson(request.body);
  const headers = { "content-type": "application/json", "x-api-key": apiKey };
  const bytes = Buffer.from(body);
  if (request.path === undefined) {
    return { body, headers: { ...headers, "x-request-sig-b64": signatureOf(bytes) } };
  }
  const { method = "POST", path, idempotencyKey } = request;
  const timestamp = timestampOf(request.now);
  const bound = { method: method.toUpperCase(), path, timestamp, idempotencyKey, body: bytes };
  return {
    body,
    headers: {
      ...headers,
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      "x-request-timestamp": String(timestamp),
      "x-request-sig-b64": signatureOf(boundContent(bound)),
    },
  };
}

/** What the signature of a request without a body covers; `timestamp` in unix seconds. */
export const readContent = ({
  method,
  path,
  timestamp,
}: {
  readonly method: string;
  readonly path: string;
  readonly timestamp: number;
}): Uint8Array => Buffer.from(canonicalJson({ method, path, timestamp }));

/** What a bound signature covers; `body` is the canonical form, `timestamp` in unix seconds. */
export const boundContent = ({
  method,
  path,
  timestamp,
  idempotencyKey,
  body,
}: {
  readonly method: string;
  readonly path: string;
  readonly timestamp: number;
  readonly idempotencyKey: string | undefined;
  readonly body: Uint8Array;
}): Uint8Array => {
  const bodySha256 = createHash("sha256").update(body).digest("hex");
  const key = idempotencyKey ?? null;
  return Buffer.from(canonicalJson({ method, path, timestamp, idempotencyKey: key, bodySha256 }));
};
