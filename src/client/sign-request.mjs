/** Signs requests to the transfer agent API. */
import { createPublicKey } from "node:crypto";
import { canonicalJson } from "./canonical-json.mjs";
import { publicTextOf, secretKeyOf, signBytes } from "./ed25519.mjs";

export const signRequest = (request) => {
  const privateKey = secretKeyOf(request.secretKey);
  const apiKey = publicTextOf(createPublicKey(privateKey));
  if ("body" in request) {
    const body = canonicalJson(request.body);
    return {
      body,
      headers: {
        "content-type": "application/json",
        "x-api-key": apiKey,
        "x-request-sig-b64": signBytes(Buffer.from(body), privateKey),
      },
    };
  }
  const { method, path, now = new Date() } = request;
  const timestamp = Math.floor(now.getTime() / 1_000);
  const signed = canonicalJson({ method: method.toUpperCase(), path, timestamp });
  return {
    headers: {
      "x-api-key": apiKey,
      "x-request-timestamp": String(timestamp),
      "x-request-sig-b64": signBytes(Buffer.from(signed), privateKey),
    },
  };
};
