/** What became of an HTTP request that brought no answer, told apart by what helps against it. */
import { HttpRequestError, ResponseBodyTooLargeError } from "viem";
import { retryAfterMs } from "../../waiting/retry-after.ts";
import { RpcUnavailableError } from "./errors.ts";

/** Status and `Retry-After` of a response; empty while there was none. */
export type Answered = { readonly status?: number; readonly retryAfter?: string | null };

/** The client's error without what it quotes: the URL, which may hold a key, and the request. */
export const unavailable = (
  label: string,
  error: unknown,
  answered: Answered,
): RpcUnavailableError => {
  const { status } = answered;
  if (status === 429) return rateLimited(label, answered.retryAfter);
  if (error instanceof ResponseBodyTooLargeError || status === 413) {
    return new RpcUnavailableError(label, "too large", "the answer is larger than is taken");
  }
  const retryAfter = retryAfterMs(answered.retryAfter);
  if (status === 408 || status === 504 || status === 524) {
    return new RpcUnavailableError(label, "timeout", `HTTP ${status}`, retryAfter);
  }
  if (status !== undefined && (status < 200 || status >= 300)) {
    const reason =
      status === 401 || status === 403
        ? "failure"
        : status >= 400 && status < 500 && status !== 404
          ? "bad request"
          : "status";
    return new RpcUnavailableError(label, reason, `HTTP ${status}`, retryAfter);
  }
  const details = error instanceof HttpRequestError ? causeOf(error) : "the answer is not JSON";
  const reason = status !== undefined || CUT.test(details) ? "cut" : "failure";
  return new RpcUnavailableError(label, reason, details, retryAfter);
};

/** Codes of a connection that ended after it was had, by the system and by Node's client. */
const CUT = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

export const rateLimited = (
  label: string,
  retryAfter: string | null | undefined,
  why = "HTTP 429",
) =>
  new RpcUnavailableError(
    label,
    "rate limit",
    `asks for fewer requests (${why.slice(0, 200)})`,
    retryAfterMs(retryAfter),
  );

/** In place of an answer while the endpoint is to be left alone for so many milliseconds. */
export const leftAlone = (label: string, ms: number) =>
  new RpcUnavailableError(label, "rate limit", "asked for fewer requests and is left alone", ms);

/** Codes and words by which providers refuse for now; -32005 is also used for too many results. */
export const isRateLimit = (code: number, message: string) =>
  code === 429 ||
  code === -32029 ||
  /rate.?limit|too many requests|compute units per second|request limit|throughput/i.test(message);

/** The innermost code (`ECONNREFUSED`) or message of a failed connection. */
const causeOf = (error: Error): string => {
  let innermost: unknown = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  if (innermost === error || !(innermost instanceof Error)) return "the connection failed";
  return "code" in innermost && typeof innermost.code === "string"
    ? innermost.code
    : innermost.message;
};
