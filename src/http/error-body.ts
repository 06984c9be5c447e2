/**
 * The error body outside GraphQL (specification, interface C, "Errors"), and what it may disclose.
 */
import { databaseRemedy } from "../database/database-error.ts";
import { HttpError } from "./http-error.ts";

type ErrorName = "BAD_REQUEST" | "UNAUTHORIZED" | "FORBIDDEN" | "NOT_FOUND" | "INTERNAL_ERROR";

type ErrorBody = {
  readonly error: ErrorName;
  readonly details: string;
  /** UUID; the log line of the request carries the same. */
  readonly requestId: string;
};

export type Answer = {
  readonly statusCode: number;
  readonly details: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** Every other 4xx (405, 413, 415, 422, 429) is a bad request. */
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

export const internalDetails = (requestId: string): string =>
  `something went wrong on our side; quote request id ${requestId} when you report it`;

/** Seconds a database restart takes. */
const AWAY_SECONDS = 5;

/** As `answerTo`, but a transient database error is 503, to be retried. */
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
 * Discloses the message of an `HttpError` and of the framework's refusals, of other errors nothing.
 */
const answerTo = (error: unknown, requestId: string): Answer => {
  if (error instanceof HttpError) {
    return { statusCode: error.statusCode, details: error.message, headers: error.headers };
  }
  const refusal = frameworkRefusal(error);
  if (refusal !== undefined) return { ...refusal, headers: {} };
  return { statusCode: 500, details: internalDetails(requestId), headers: {} };
};

/** The framework's own refusals carry a code and a 4xx status; other errors never carry both. */
const frameworkRefusal = (
  error: unknown,
): { readonly statusCode: number; readonly details: string } | undefined => {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  const { statusCode } = error;
  if (typeof statusCode !== "number" || statusCode < 400 || statusCode > 499) return undefined;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  // The client went away within its body: not our error.
  if (code === "ECONNRESET") return { statusCode, details: "the request ended before its body" };
  // Fastify's message repeats the path, which may hold a wallet.
  if (code === "FST_ERR_BAD_URL") return { statusCode, details: "the path is not a valid URL" };
  if (!code.startsWith("FST_ERR_") && !(error instanceof SyntaxError)) return undefined;
  return { statusCode, details: error.message };
};
