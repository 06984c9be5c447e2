import { createHash, createPublicKey } from "node:crypto";
import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import { publicTextOf, secretKeyOf, signBytes } from "./ed25519.ts";

/** Names are lower case. */
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
  /** Default: POST. */
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
 * Signs a transfer agent API request with the secret key registered for the asset.
 * `body` and `path` (POST): binds path, time, `Idempotency-Key` and body, for 300 s. Send the
 * returned `body` byte for byte with `headers`, which include the `Idempotency-Key`; sign again
 * before each resend. `path` begins with `/` and includes the query.
 * `body` alone: the older form, which covers only the body; `--require-bound` keys reject it.
 * `method` and `path` (GET of request status and delivery log): bound, without a body.
 * @throws KeyFormatError if the secret key is not base64 of 32 bytes
 * @throws NotCanonicalError if the body has no canonical form
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

/** The signed content of a request without a body; `timestamp` in unix seconds. */
export const readContent = ({
  method,
  path,
  timestamp,
}: {
  readonly method: string;
  readonly path: string;
  readonly timestamp: number;
}): Uint8Array => Buffer.from(canonicalJson({ method, path, timestamp }));

/** The signed content of a bound request; `body` is canonical, `timestamp` in unix seconds. */
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
