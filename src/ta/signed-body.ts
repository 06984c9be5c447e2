/** A signed body: I-JSON, and its canonical form, which is what was signed. */
import type { FastifyRequest } from "fastify";
import { canonicalJson, type JsonValue } from "../client/index.mjs";
import { HttpError } from "../http/http-error.ts";
import { headerOf } from "./header.ts";
import { parseStrictJson } from "./strict-json.ts";

export type SignedBody = {
  readonly value: JsonValue;
  /** What was signed. */
  readonly canonical: Uint8Array;
};

/** @throws StrictJsonError (400): without a canonical form there is no signature to check */
export const parseSignedBody = (bytes: Uint8Array): SignedBody => {
  const value = parseStrictJson(bytes);
  return { value, canonical: Buffer.from(canonicalJson(value)) };
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
