/** A signed body: I-JSON, and its canonical form, which is what signatures go by. */
import type { FastifyRequest } from "fastify";
import { canonicalJson, type JsonValue } from "../../client/index.mjs";
import { HttpError } from "../../http/http-error.ts";
import { parseStrictJson } from "../../settings/strict-json.ts";
import { headerOf } from "./header.ts";

export type SignedBody = {
  readonly value: JsonValue;
  readonly canonical: Uint8Array;
};

/** @throws StrictJsonError (400): without a canonical form there is no signature to check */
export const parseSignedBody = (bytes: Uint8Array): SignedBody => {
  const value = parseStrictJson(bytes);
  return { value, canonical: Buffer.from(canonicalJson(value)) };
};

/** The parameter `charset` of a content type. */
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/**
 * Whether a body comes as it is signed: as UTF-8, and not compressed.
 * @throws HttpError 415 naming what to send
 */
export const requirePlainBody = (request: FastifyRequest): void => {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    throw new HttpError(415, "send the body as it is, uncompressed and without Content-Encoding");
  }
  const [, charset = "utf-8"] = CHARSET.exec(request.headers["content-type"] ?? "") ?? [];
  if (!/^utf-?8$/i.test(charset)) {
    throw new HttpError(415, "send the body in UTF-8, with Content-Type: application/json");
  }
};

/** Longest `Idempotency-Key`. */
const LONGEST_KEY = 255;

/** `Idempotency-Key`, when there is one. @throws HttpError 400 for one that cannot be kept */
export const idempotencyKeyOf = (request: FastifyRequest): string | undefined => {
  const key = headerOf(request, "idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > LONGEST_KEY) {
    throw new HttpError(
      400,
      `Idempotency-Key must be 1 to ${LONGEST_KEY} visible ASCII characters without spaces`,
    );
  }
  return key;
};
