/**
 * The three forms of `X-Request-Sig-B64`: over the canonical body; bound to method, path, time,
 * `Idempotency-Key` and body; over method, path and time of a request without a body.
 */
import { SIGNATURE_BYTES, strictBase64, verifyBytes } from "../../../client/ed25519.ts";
import type { JsonValue } from "../../../client/index.ts";
import { boundContent, readContent } from "../../../client/sign-request.ts";
import { codedError } from "../../http/http-error.ts";
import type { Caller } from "./caller.ts";
import type { SignedBody } from "./signed-body.ts";

/** The head's fields about the signature. */
export type SignedHead = {
  readonly method: string;
  /** With its query, as sent. */
  readonly path: string;
  /** `X-Request-Timestamp`; makes a POST's signature a bound one. */
  readonly timestamp: string | undefined;
  /** `Idempotency-Key`, as sent. */
  readonly idempotencyKey: string | undefined;
  readonly signature: string | undefined;
};

const SIGNATURE = { param: "X-Request-Sig-B64" };
const TIMESTAMP = { param: "X-Request-Timestamp" };

const BAD_SIGNATURE =
  "X-Request-Sig-B64 does not fit: it must be base64 of an Ed25519 signature by the key in X-Api-Key, over";

const BOUND_FORM =
  'the canonical form (RFC 8785) of {"method","path","timestamp","idempotencyKey","bodySha256"}';

/** @throws HttpError 401 for a missing or malformed signature */
export const requireSignatureForm = (signature: string | undefined): void => {
  if (signature === undefined) {
    throw codedError(
      "SIGNATURE_MISSING",
      "send the signature of the request in X-Request-Sig-B64",
      SIGNATURE,
    );
  }
  if (strictBase64(signature)?.length !== SIGNATURE_BYTES) {
    throw codedError("SIGNATURE_INVALID", `${BAD_SIGNATURE} what the request is`, SIGNATURE);
  }
};

/**
 * Checks what precedes the body: whether the key accepts this form of signature, and the time.
 * @throws HttpError 401
 */
export const requireBodyForm = (
  { requireBound }: Caller,
  { timestamp }: SignedHead,
  nowMs: number,
): void => {
  if (timestamp !== undefined) return void secondsOf(timestamp, nowMs);
  if (!requireBound) return;
  throw codedError(
    "BOUND_SIGNATURE_REQUIRED",
    `this key accepts only bound signatures: send X-Request-Timestamp, in unix seconds, and in X-Request-Sig-B64 the signature over ${BOUND_FORM}`,
    TIMESTAMP,
  );
};

/**
 * Checks a body's signature after `requireBodyForm`. Returns the content of a bound signature;
 * undefined where only the body is signed.
 * @throws HttpError 401
 */
export const requireBodySignature = (
  caller: Caller,
  { method, path, timestamp, idempotencyKey, signature }: SignedHead,
  { canonical, value }: SignedBody,
): Uint8Array | undefined => {
  if (timestamp === undefined) {
    requireSigned(caller, signature, canonical, "the canonical form (RFC 8785) of the body");
    if (isOtherForm(value)) {
      throw codedError(
        "SIGNATURE_INVALID",
        "this body is what another form of signature covers; send the body of the request itself",
        SIGNATURE,
      );
    }
    return undefined;
  }
  const seconds = Number(timestamp);
  const signed = boundContent({
    method,
    path,
    timestamp: seconds,
    idempotencyKey,
    body: canonical,
  });
  const fields = `${BOUND_FORM}, as of a request with X-Request-Timestamp`;
  requireSigned(caller, signature, signed, fields);
  return signed;
};

/**
 * Whether a body is the content of another form of signature: otherwise an intercepted signature
 * could be sent with its content as a body, and would be valid.
 */
const isOtherForm = (value: JsonValue): boolean =>
  typeof value === "object" &&
  value !== null &&
  OTHER_FORMS.includes(Object.keys(value).sort().join());

/** Sorted members of the other forms' contents. */
const OTHER_FORMS: readonly string[] = [
  "method,path,timestamp",
  "bodySha256,idempotencyKey,method,path,timestamp",
];

/** @throws HttpError 401 */
export const requireReadSignature = (
  caller: Caller,
  { method, path, timestamp, signature }: SignedHead,
  nowMs: number,
): void => {
  const signed = readContent({ method, path, timestamp: secondsOf(timestamp, nowMs) });
  requireSigned(caller, signature, signed, '{"method","path","timestamp"}');
};

const requireSigned = (
  { publicKey }: Caller,
  signature: string | undefined,
  signed: Uint8Array,
  what: string,
): void => {
  const bytes = signature === undefined ? undefined : strictBase64(signature);
  if (bytes === undefined || !verifyBytes(signed, bytes, publicKey)) {
    throw codedError("SIGNATURE_INVALID", `${BAD_SIGNATURE} ${what}`, SIGNATURE);
  }
};

/** Largest accepted difference from our clock, either way. */
const TOLERANCE_SECONDS = 300;

/** `X-Request-Timestamp`. @throws HttpError 401 when malformed or too far from now */
const secondsOf = (timestamp: string | undefined, nowMs: number): number => {
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) {
    throw codedError(
      "TIMESTAMP_INVALID",
      "send the time in X-Request-Timestamp, in unix seconds",
      TIMESTAMP,
    );
  }
  const seconds = Number(timestamp);
  if (Math.abs(nowMs / 1000 - seconds) > TOLERANCE_SECONDS) {
    throw codedError(
      "TIMESTAMP_OUT_OF_RANGE",
      `X-Request-Timestamp is more than ${TOLERANCE_SECONDS} s away from our time`,
      TIMESTAMP,
    );
  }
  return seconds;
};
