/** Reading a signed body: I-JSON, its canonical form, and the caller's signature over that. */
import type { FastifyRequest } from "fastify";
import { canonicalJson, type JsonValue } from "../client/index.mjs";
import { HttpError } from "../http/http-error.ts";
import type { RateLimit } from "../http/rate-limit.ts";
import { countFailures, headerOf } from "./admission.ts";
import { type Caller, requireSignature } from "./authenticate.ts";
import { parseStrictJson } from "./strict-json.ts";

/** A body whose signature fits. */
export type SignedBody = {
  readonly value: JsonValue;
  /** What was signed. */
  readonly canonical: Uint8Array;
};

/**
 * @throws StrictJsonError (400) before the signature can be checked
 * @throws HttpError 401 when it does not fit
 */
export const readSignedBody = (
  request: FastifyRequest,
  caller: Caller,
  attempts: RateLimit,
): SignedBody => {
  const bytes = request.body instanceof Uint8Array ? request.body : new Uint8Array();
  const value = parseStrictJson(bytes);
  const canonical = Buffer.from(canonicalJson(value));
  countFailures(attempts, request.ip, () =>
    requireSignature(caller, headerOf(request, "x-request-sig-b64"), canonical),
  );
  return { value, canonical };
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
