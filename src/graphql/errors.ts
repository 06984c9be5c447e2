/** Errors as callers of the API see them: `extensions.code`, and no word that was not meant for them. */
import { GraphQLError } from "graphql";
import { internalDetails } from "../http/error-body.ts";
import { HttpError } from "../http/http-error.ts";
import { GrantIndexBehindError } from "../projections/grant-lag.ts";

/** Values of `extensions.code`. */
export const ERROR_CODES = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "BAD_USER_INPUT",
  "GRANT_INDEX_BEHIND",
  "RATE_LIMITED",
  "INTERNAL",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** The caller asked for something that cannot be: the message names what can. */
export const badInput = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: "BAD_USER_INPUT" } });

/** As `badInput`, for a whole request that is refused before any of it runs: HTTP 400 where asked for. */
export const badRequest = (message: string): GraphQLError =>
  new GraphQLError(message, {
    extensions: { code: "BAD_USER_INPUT", http: { status: 400, spec: true } },
  });

/** The code for an HTTP status. */
export const codeOfStatus = (statusCode: number): ErrorCode => {
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

/**
 * An error as it leaves: with one of our codes, or masked.
 *
 * @param unforeseen is told of what is masked
 */
export const published = (
  error: GraphQLError,
  requestId: string,
  unforeseen: (error: unknown) => void,
): GraphQLError => {
  const cause = rootCause(error);
  const { http } = error.extensions;
  const as = (code: ErrorCode, message: string, more: Readonly<Record<string, unknown>> = {}) =>
    new GraphQLError(message, {
      nodes: error.nodes,
      source: error.source,
      positions: error.positions,
      path: error.path,
      extensions: { code, ...more, ...(http !== undefined && { http }) },
    });

  if (cause instanceof GrantIndexBehindError) return as("GRANT_INDEX_BEHIND", cause.message);
  if (cause instanceof HttpError) return as(codeOfStatus(cause.statusCode), cause.message);
  if (cause instanceof GraphQLError && !isOurFault(cause, error)) {
    return as(ownCode(cause) ?? "BAD_USER_INPUT", cause.message);
  }
  unforeseen(cause);
  if (isStatementTimeout(cause)) {
    const message = `the query took too long; ask for less at once (request id ${requestId})`;
    return as("INTERNAL", message, { requestId });
  }
  return as("INTERNAL", internalDetails(requestId), { requestId });
};

/** GraphQL wraps what a resolver threw, sometimes more than once. */
const rootCause = (error: GraphQLError): unknown => {
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError !== undefined) {
    cause = cause.originalError;
  }
  return cause;
};

const ownCode = ({ extensions }: GraphQLError): ErrorCode | undefined =>
  ERROR_CODES.find((code) => code === extensions.code);

/**
 * GraphQL's own errors are about the request, except those of a value below the queries: only queries
 * have arguments, so there it is a value of ours that does not fit its type.
 */
const isOurFault = (cause: GraphQLError, seen: GraphQLError): boolean =>
  ownCode(cause) === undefined && (seen.path?.length ?? 0) > 1;

/** Postgres cancelled the statement (`query_canceled`), perhaps below a wrapper of the query builder. */
const isStatementTimeout = (error: unknown): boolean => {
  let layer = error;
  for (let depth = 0; depth < 5 && layer instanceof Error; depth += 1) {
    if ("code" in layer && layer.code === "57014") return true;
    layer = layer.cause;
  }
  return false;
};
