/**
 * Turns an error thrown during a request into an answer. The error body outside GraphQL is that of
 * the specification (interface C, "Errors").
 */
import type { ServerResponse } from "node:http";
import { databaseRemedy } from "../database/database-error.ts";
import type { Logger } from "../logging/logger.ts";
import { codeOfStatus, type ErrorCode } from "./error-codes.ts";
import { type Cause, HttpError } from "./http-error.ts";
import { HungUpError, hasHungUp } from "./hung-up.ts";

type ErrorName =
  | "BAD_REQUEST"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "QUARANTINED"
  | "INTERNAL_ERROR";

type ErrorBody = {
  readonly error: ErrorName;
  readonly details: string;
  /** UUID; the log line of the request carries the same. */
  readonly requestId: string;
  readonly code: ErrorCode;
  readonly param?: string;
  /** `requestId` again: the transfer agent's answers call its own requests so. */
  readonly httpRequestId: string;
};

/** Every other 4xx (405, 413, 415, 422, 429) is a bad request. */
export const errorName = (statusCode: number): ErrorName => {
  if (statusCode >= 500) return "INTERNAL_ERROR";
  if (statusCode === 401) return "UNAUTHORIZED";
  if (statusCode === 403) return "FORBIDDEN";
  if (statusCode === 404 || statusCode === 410) return "NOT_FOUND";
  return "BAD_REQUEST";
};

export const errorBody = (
  statusCode: number,
  details: string,
  requestId: string,
  error = errorName(statusCode),
  { code, param }: Cause = { code: codeOfStatus(statusCode) },
): ErrorBody => ({
  error,
  details,
  requestId,
  code,
  ...(param !== undefined && { param }),
  httpRequestId: requestId,
});

export const internalDetails = (requestId: string): string =>
  `something went wrong on our side; quote request id ${requestId} when you report it`;

type Refused = {
  readonly requestId: string;
  readonly response: ServerResponse;
  readonly log: Pick<Logger, "error">;
};

export type Refusal = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
};

/** Turns an error into an answer, and logs what the answer hides. */
export type RefusalOf = (error: unknown, refused: Refused) => Refusal;

/** @param bodyOf form of an interface's errors; the common error body by default */
export const refusalOf = (
  error: unknown,
  { requestId, response, log }: Refused,
  bodyOf: (...made: Parameters<typeof errorBody>) => object = errorBody,
): Refusal => {
  const { status, details, headers = {} } = disclosed(error, requestId);
  const { error: name, about } = error instanceof HttpError ? error : NOT_OURS;
  const expected =
    error instanceof HttpError || error instanceof HungUpError || hasHungUp(response);
  if (status >= 500 && !expected) log.error({ err: error }, "unexpected error");
  return { status, headers, body: bodyOf(status, details, requestId, name, about) };
};

const NOT_OURS = { error: undefined, about: undefined };

type Disclosed = Pick<Refusal, "status"> &
  Partial<Pick<Refusal, "headers">> & { readonly details: string };

/** Seconds a database restart takes. */
const AWAY_SECONDS = "5";

/**
 * Discloses the message of an `HttpError` and of the framework's refusals, of other errors nothing.
 * A transient database error is 503, to be retried.
 */
const disclosed = (error: unknown, requestId: string): Disclosed => {
  if (error instanceof HttpError) {
    return { status: error.statusCode, details: error.message, headers: error.headers };
  }
  const refusal = frameworkRefusal(error);
  if (refusal !== undefined) return refusal;
  if (databaseRemedy(error) !== "retry")
    return { status: 500, details: internalDetails(requestId) };
  return {
    status: 503,
    details: "the database does not answer in time; send this again in a few seconds",
    headers: { "retry-after": AWAY_SECONDS },
  };
};

/** The framework's own refusals carry a code and a 4xx status; other errors never carry both. */
const frameworkRefusal = (error: unknown): Disclosed | undefined => {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  const { statusCode: status } = error;
  if (typeof status !== "number" || status < 400 || status > 499) return undefined;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  // The client went away within its body: not our error.
  if (code === "ECONNRESET") return { status, details: "the request ended before its body" };
  // Fastify's message repeats the path, which may hold a wallet.
  if (code === "FST_ERR_BAD_URL") return { status, details: "the path is not a valid URL" };
  if (!code.startsWith("FST_ERR_") && !(error instanceof SyntaxError)) return undefined;
  return { status, details: error.message };
};
