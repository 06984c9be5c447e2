import type { Remedy } from "../waiting/remedy.ts";

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

  constructor(
    statusCode: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    error?: "QUARANTINED",
  ) {
    // Without a stack: building one takes longer than many a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.statusCode = statusCode;
    this.headers = headers;
    this.error = error;
    // Only 429 and 503 may pass on a retry.
    this.remedy = statusCode === 429 || statusCode === 503 ? "retry" : "stop";
  }
}
