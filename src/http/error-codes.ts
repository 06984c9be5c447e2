/**
 * `code` of error answers outside GraphQL: finer than `error`, and never renamed. Those of a status come
 * first in each group; a new cause gets a code of its own.
 */
const CODES = {
  BAD_REQUEST: [400, "Malformed in a way that has no code of its own."],
  INVALID_JSON: [400, "The body is not I-JSON (RFC 7493)."],
  MISSING_MEMBER: [400, "The body lacks a member, which `param` names."],
  INVALID_MEMBER: [400, "A member of the body, which `param` names, is wrong."],
  INVALID_PARAMETER: [400, "A parameter of the path or the query, which `param` names, is wrong."],
  UNKNOWN_PARAMETER: [400, "There is no such parameter."],
  INVALID_HEADER: [400, "A header field, which `param` names, is malformed."],
  INVALID_REQUEST: [400, "A file object lacks a member, or has a malformed one."],
  INVALID_DATA: [400, "A file's data are not base64, or not of its `contentType`."],
  SIZE_MISMATCH: [400, "A file's `size` is not its decoded size."],
  UNAUTHORIZED: [401, "Not authenticated, in a way that has no code of its own."],
  KEY_MISSING: [401, "There is no key in the header field that `param` names."],
  KEY_INVALID: [401, "The key is malformed, unknown, expired or revoked."],
  SIGNATURE_MISSING: [401, "There is no signature."],
  SIGNATURE_INVALID: [401, "The signature is malformed, or not of this request by this key."],
  BOUND_SIGNATURE_REQUIRED: [401, "The key accepts bound signatures only."],
  TIMESTAMP_INVALID: [401, "The time that is signed is missing or malformed."],
  TIMESTAMP_OUT_OF_RANGE: [401, "The time that is signed is too far from the service's."],
  FORBIDDEN: [403, "Not allowed, in a way that has no code of its own."],
  KEY_NOT_ALLOWED: [403, "The key is of another interface, or what it is for is not served here."],
  NOT_FOUND: [404, "There is no such path or thing, or it is not yours."],
  METHOD_NOT_ALLOWED: [405, "The path has other methods; `Allow` lists them."],
  REQUEST_TIMEOUT: [408, "The request arrived too slowly. Send it again."],
  CONFLICT: [409, "Not possible in the present state; `details` says what has to change."],
  QUARANTINED: [409, "The token is in quarantine. Ask again after its release."],
  GONE: [410, "Removed after its retention time, or a path of a former version."],
  BODY_TOO_LARGE: [413, "The body is over the limit that `details` names."],
  FILE_TOO_LARGE: [413, "A file is over the limit that `details` names."],
  UNSUPPORTED_MEDIA_TYPE: [415, "The body is not uncompressed JSON in UTF-8."],
  IDEMPOTENCY_KEY_REUSED: [422, "The `Idempotency-Key` was used with another body."],
  RATE_LIMITED: [429, "Over a limit. Wait as long as `Retry-After` says."],
  INTERNAL_ERROR: [500, "A fault of the service. Report `httpRequestId`."],
  UNAVAILABLE: [503, "Overloaded, starting, or without its database. Wait as `Retry-After` says."],
} as const satisfies Readonly<Record<string, readonly [status: number, meaning: string]>>;

export type ErrorCode = keyof typeof CODES;

/** Each with its status and what it means. */
export const ERROR_CODES: Readonly<Record<ErrorCode, readonly [status: number, meaning: string]>> =
  CODES;

const BY_STATUS = new Map<number, ErrorCode>();
for (const code of Object.keys(CODES) as ErrorCode[]) {
  const [status] = CODES[code];
  if (!BY_STATUS.has(status)) BY_STATUS.set(status, code);
}

/** The code of an error of which only the status is known. */
export const codeOfStatus = (status: number): ErrorCode =>
  BY_STATUS.get(status) ?? (status >= 500 ? "INTERNAL_ERROR" : "BAD_REQUEST");
