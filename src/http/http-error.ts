import type { Remedy } from "../waiting/remedy.ts";
import { codeOfStatus, ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** What exactly is wrong. */
export type Cause = {
  readonly code: ErrorCode;
  /** The member, parameter or header field that is wrong, such as `investor.email`. */
  readonly param?: string | undefined;
};

/** A deliberate error answer: its message is for the caller; other errors go to the log only. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly remedy: Remedy;
  /** HTTP status, 400 to 599. */
  readonly statusCode: number;
  /** Further header fields, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;
  /** `error` of the common body; by the status if absent. */
  readonly error: "QUARANTINED" | undefined;
  readonly about: Cause;

  constructor(
    statusCode: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    error?: "QUARANTINED",
    about: Cause = { code: error ?? codeOfStatus(statusCode) },
  ) {
    // Without a stack: building one takes longer than many a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.statusCode = statusCode;
    this.headers = headers;
    this.error = error;
    this.about = about;
    // Only 429 and 503 may pass on a retry.
    this.remedy = statusCode === 429 || statusCode === 503 ? "retry" : "stop";
  }
}

/** An error with a code of its own, which decides the status. */
export const codedError = (
  code: ErrorCode,
  message: string,
  {
    param,
    headers,
  }: { readonly param?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): HttpError => new HttpError(ERROR_CODES[code][0], message, headers, undefined, { code, param });
