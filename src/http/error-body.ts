/**
 * The error body of everything that is not GraphQL (specification, interface C, "Errors"), and what
 * a caller may be told of an error.
 */
import { databaseRemedy } from "../database/database-error.ts";
import { HttpError } from "./http-error.ts";

/** Values of the member `error`. */
export type ErrorName =
  | "BAD_REQUEST"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "INTERNAL_ERROR";

export type ErrorBody = {
  readonly error: ErrorName;
  readonly details: string;
  /** UUID; the log line of the request carries the same. */
  readonly requestId: string;
};

/** What the caller is told. */
export type Answer = {
  readonly statusCode: number;
  readonly details: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** `error` for an HTTP status: every other 4xx (405, 413, 415, 422, 429) is a bad request. */
export const errorName = (statusCode: number): ErrorName => {
  if (statusCode >= 500) return "INTERNAL_ERROR";
  if (statusCode === 401) return "UNAUTHORIZED";
  if (statusCode === 403) return "FORBIDDEN";
  if (statusCode === 404 || statusCode === 410) return "NOT_FOUND";
  return "BAD_REQUEST";
};

export const errorBody = (statusCode: number, details: string, requestId: string): ErrorBody => ({
  error: errorName(statusCode),
  details,
  requestId,
});

/** Shown in place of an error that was not meant for the caller. */
export const internalDetails = (requestId: string): string =>
  `something went wrong on our side; quote request id ${requestId} when you report it`;

/** Seconds; a database that restarts takes some. */
const AWAY_SECONDS = 5;

/**
 * As `answerTo`, where an error of the database that passes is one of the answers: 503, to be sent
 * again.
 */
export const answerOrLater = (error: unknown, requestId: string): Answer => {
  const answer = answerTo(error, requestId);
  if (answer.statusCode !== 500 || databaseRemedy(error) !== "retry") return answer;
  return {
    statusCode: 503,
    details: "the database does not answer in time; send this again in a few seconds",
    headers: { "retry-after": String(AWAY_SECONDS) },
  };
};

/**
 * What to answer to an error that reached the edge: its own words when it is an `HttpError`, or the
 * framework's refusal of a request (too large, not JSON, unsupported type); nothing of any other.
 */
const answerTo = (error: unknown, requestId: string): Answer => {
  if (error instanceof HttpError) {
    return { statusCode: error.statusCode, details: error.message, headers: error.headers };
  }
  const refusal = frameworkRefusal(error);
  if (refusal !== undefined) return { ...refusal, headers: {} };
  return { statusCode: 500, details: internalDetails(requestId), headers: {} };
};

/**
 * Fastify marks its own refusals with a code and a 4xx status; a body that is no JSON is a
 * SyntaxError marked with 400, an aborted body an ECONNRESET marked with 400. An error from elsewhere
 * never carries both.
 */
const frameworkRefusal = (
  error: unknown,
): { readonly statusCode: number; readonly details: string } | undefined => {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  const { statusCode } = error;
  if (typeof statusCode !== "number" || statusCode < 400 || statusCode > 499) return undefined;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  // The client went away inside its body: the answer is not read, and it is no error of ours.
  if (code === "ECONNRESET") return { statusCode, details: "the request ended before its body" };
  // The framework repeats the path, which may hold a wallet.
  if (code === "FST_ERR_BAD_URL") return { statusCode, details: "the path is not a valid URL" };
  if (!code.startsWith("FST_ERR_") && !(error instanceof SyntaxError)) return undefined;
  return { statusCode, details: error.message };
};
