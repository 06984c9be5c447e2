import type { Remedy } from "../waiting/remedy.ts";

/**
 * A request that is answered with an error on purpose: its message is for the caller, unlike that of
 * any other error, which goes to the log. Each part of the server chooses the body around it.
 */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly remedy: Remedy;
  /** HTTP status, 400 to 599. */
  readonly statusCode: number;
  /** Header fields that belong to the answer, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(statusCode: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    // Where it was thrown is of no interest, and finding that out takes longer than many a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.statusCode = statusCode;
    this.headers = headers;
    // 429 and 503 pass by themselves; anything else stays wrong however often it is sent.
    this.remedy = statusCode === 429 || statusCode === 503 ? "retry" : "stop";
  }
}
