/** Signs requests to the transfer agent API. */
import { createHash, createPublicKey } from "node:crypto";
import { canonicalJson } from "./canonical-json.mjs";
import { publicTextOf, secretKeyOf, signBytes } from "./ed25519.mjs";

export const signRequest = (request) => {
  const privateKey = secretKeyOf(request.secretKey);
  const apiKey = publicTextOf(createPublicKey(privateKey));
  const signatureOf = (signed) => signBytes(signed, privateKey);
  const { path, now = new Date() } = request;
  const timestamp = Math.floor(now.getTime() / 1_000);
  if (!("body" in request)) {
    const method = request.method.toUpperCase();
    return {
      headers: {
        "x-api-key": apiKey,
        "x-request-timestamp": String(timestamp),
        "x-request-sig-b64": signatureOf(readContent({ method, path, timestamp })),
      },
    };
  }
  const body = canonicalJson(request.body);
  const headers = { "content-type": "application/json", "x-api-key": apiKey };
  const bytes = Buffer.from(body);
  if (path === undefined) {
    return { body, headers: { ...headers, "x-request-sig-b64": signatureOf(bytes) } };
  }
  const { method = "POST", idempotencyKey } = request;
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
};

export const readContent = ({ method, path, timestamp }) =>
  Buffer.from(canonicalJson({ method, path, timestamp }));

export const boundContent = ({ method, path, timestamp, idempotencyKey = null, body }) => {
  const bodySha256 = createHash("sha256").update(body).digest("hex");
  return Buffer.from(canonicalJson({ method, path, timestamp, idempotencyKey, bodySha256 }));
};
