/** Errors as callers of the API see them: with `extensions.code`, internal ones masked. */
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { HttpError } from "../http/http-error.ts";
import { internalDetails } from "../http/refusal.ts";
import { GrantIndexBehindError } from "../projections/balance-progress.ts";
import { BeforeLogError, NotYetIndexedError, RebuildingError } from "../projections/past.ts";
import type { RequestScope } from "./request.ts";

/** Values of `extensions.code`. */
export const ERROR_CODES = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "BAD_USER_INPUT",
  "GRANT_INDEX_BEHIND",
  "NOT_YET_INDEXED",
  /** A pipeline that the field needs is being rebuilt from the log. */
  "REBUILDING",
  "RATE_LIMITED",
  "OVERLOADED",
  "INTERNAL",
  /** A subscription's events were not read in time. */
  "SLOW_CONSUMER",
  /** The service ends; another process continues the subscription. */
  "RECONNECT",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** An invalid request; the message says what is valid. */
export const badInput = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: "BAD_USER_INPUT" } });

/** The code for an HTTP status. */
const codeOfStatus = (statusCode: number): ErrorCode => {
  if (statusCode === 503) return "OVERLOADED";
  if (statusCode >= 500) return "INTERNAL";
  if (statusCode === 401) return "UNAUTHENTICATED";
  if (statusCode === 403) return "FORBIDDEN";
  return statusCode === 429 ? "RATE_LIMITED" : "BAD_USER_INPUT";
};

/** A body in GraphQL's form, for a request that did not reach GraphQL. */
export const errorResult = (statusCode: number, message: string, requestId: string) => {
  const code = codeOfStatus(statusCode);
  return {
    errors: [{ message, extensions: code === "INTERNAL" ? { code, requestId } : { code } }],
  };
};

type Result = {
  readonly data?: unknown;
  readonly errors?: readonly GraphQLError[] | undefined;
};

/** A result as the caller gets it: each error has one of our codes, internal ones are masked and logged. */
export const resultText = ({ data, errors }: Result, scope: RequestScope): string =>
  JSON.stringify(
    errors === undefined
      ? { data }
      : { errors: errors.map((error) => printed(error, scope)), data },
  );

/** The error to publish. Errors of compiled queries have locations, but no nodes for `toJSON`. */
const printed = (error: GraphQLError, scope: RequestScope): GraphQLFormattedError => {
  const { locations, path } = error;
  const { message, extensions } = publicError(error, scope);
  return { message, ...(locations && { locations }), ...(path && { path }), extensions };
};

/**
 * The result that ends a subscription with an error.
 * @param after where to continue, if that is known
 */
export const errorsBody = (cause: Error, scope: RequestScope, after?: string): string => {
  const error = new GraphQLError(cause.message, { originalError: cause });
  const shown = printed(error, scope);
  const extensions = { ...shown.extensions, ...(after !== undefined && { after }) };
  return JSON.stringify({ errors: [{ ...shown, extensions }] });
};

const publicError = (
  error: GraphQLError,
  { requestId, log, signal }: RequestScope,
): Required<Pick<GraphQLFormattedError, "message" | "extensions">> => {
  const cause = rootCause(error);
  const as = (code: ErrorCode, message: string, more: object = {}) => ({
    message,
    extensions: { code, ...more },
  });

  if (cause instanceof GrantIndexBehindError) return as("GRANT_INDEX_BEHIND", cause.message);
  if (cause instanceof RebuildingError) {
    const { pipeline, checkpoint, target } = cause;
    const where = { checkpoint: checkpoint?.toString() ?? null, target: target.toString() };
    return as("REBUILDING", cause.message, { pipeline, ...where });
  }
  if (cause instanceof NotYetIndexedError) return as("NOT_YET_INDEXED", cause.message);
  if (cause instanceof BeforeLogError) return as("BAD_USER_INPUT", cause.message);
  if (cause instanceof HttpError) return as(codeOfStatus(cause.statusCode), cause.message);
  if (cause instanceof GraphQLError && !isOurFault(cause, error)) {
    return as(ownCode(cause) ?? "BAD_USER_INPUT", cause.message);
  }
  // Statements of a caller that hung up are cancelled on purpose.
  if (!signal?.aborted) log.error({ err: cause, path: error.path?.join(".") }, "a query failed");
  if (isStatementTimeout(cause)) {
    const message = `the query took too long; ask for fewer fields or rows (request id ${requestId})`;
    return as("INTERNAL", message, { requestId });
  }
  return as("INTERNAL", internalDetails(requestId), { requestId });
};

/** GraphQL wraps what a resolver threw, sometimes more than once. */
export const rootCause = (error: GraphQLError): unknown => {
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError !== undefined) {
    cause = cause.originalError;
  }
  return cause;
};

const ownCode = ({ extensions }: Pick<GraphQLError, "extensions">): ErrorCode | undefined =>
  ERROR_CODES.find((code) => code === extensions?.code);

/**
 * GraphQL's own errors are about the request, except those below the queries: only queries have arguments,
 * so there a value of ours does not fit its type.
 */
const isOurFault = (cause: GraphQLError, seen: GraphQLError): boolean =>
  ownCode(cause) === undefined && (seen.path?.length ?? 0) > 1;

/** Postgres cancelled the statement (`query_canceled`); the query builder may have wrapped the error. */
const isStatementTimeout = (error: unknown): boolean => {
  let layer = error;
  for (let depth = 0; depth < 5 && layer instanceof Error; depth += 1) {
    if ("code" in layer && layer.code === "57014") return true;
    layer = layer.cause;
  }
  return false;
};
