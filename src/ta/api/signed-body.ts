/** Parts of a signed request: header fields, and an I-JSON body with its canonical form. */
import type { IncomingMessage } from "node:http";
import { canonicalJson, type JsonValue } from "../../../client/index.ts";
import { codedError } from "../../http/http-error.ts";
import { headerOf } from "../../http/who.ts";
import { parseStrictJson } from "../../settings/strict-json.ts";

export type SignedBody = {
  readonly value: JsonValue;
  /** RFC 8785; signatures cover this. */
  readonly canonical: Uint8Array;
};

/**
 * @throws StrictJsonError (400): a body that is not I-JSON has no canonical form, so no signature
 */
export const parseSignedBody = (bytes: Uint8Array): SignedBody => {
  const value = parseStrictJson(bytes);
  return { value, canonical: Buffer.from(canonicalJson(value)) };
};

/** Parameter of the content type. */
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/** @throws HttpError 415 unless the body is uncompressed UTF-8 */
export const requirePlainBody = (request: IncomingMessage): void => {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    throw codedError(
      "UNSUPPORTED_MEDIA_TYPE",
      "send the body as it is, uncompressed and without Content-Encoding",
      { param: "Content-Encoding" },
    );
  }
  const [, charset = "utf-8"] = CHARSET.exec(request.headers["content-type"] ?? "") ?? [];
  if (!/^utf-?8$/i.test(charset)) {
    throw codedError(
      "UNSUPPORTED_MEDIA_TYPE",
      "send the body in UTF-8, with Content-Type: application/json",
      { param: "Content-Type" },
    );
  }
};

const LONGEST_KEY = 255;

/** @throws HttpError 400 for an invalid key */
export const idempotencyKeyOf = (request: IncomingMessage): string | undefined => {
  const key = headerOf(request, "idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > LONGEST_KEY) {
    throw codedError(
      "INVALID_HEADER",
      `Idempotency-Key must be 1 to ${LONGEST_KEY} visible ASCII characters without spaces`,
      { param: "Idempotency-Key" },
    );
  }
  return key;
};
