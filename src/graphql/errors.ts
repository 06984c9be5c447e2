/** Errors as callers of the API see them: `extensions.code`, and no word that was not meant for them. */
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { internalDetails } from "../http/error-body.ts";
import { HttpError } from "../http/http-error.ts";
import { GrantIndexBehindError } from "../projections/grant-lag.ts";
import { BeforeLogError, NotYetIndexedError, RebuildingError } from "../projections/past.ts";
import type { RequestScope } from "./request.ts";

/** Values of `extensions.code`. */
export const ERROR_CODES = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "BAD_USER_INPUT",
  "GRANT_INDEX_BEHIND",
  "NOT_YET_INDEXED",
  /** A pipeline that the field needs is rebuilt from the log, and has not come back to where it was. */
  "REBUILDING",
  "RATE_LIMITED",
  "OVERLOADED",
  "INTERNAL",
  /** Of subscriptions: the events were not read in time. */
  "SLOW_CONSUMER",
  /** Of subscriptions: the service ends, another process goes on. */
  "RECONNECT",
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

/** An error as a caller sees it. */
type Told = { readonly message: string; readonly extensions: Readonly<Record<string, unknown>> };

/** Called with an error that is masked, and where in the answer it happened. */
export type Unforeseen = (cause: unknown, path: GraphQLError["path"]) => void;

/** Logs it, unless the caller hung up: then statements end early, and there is nothing to report. */
export const reportTo =
  ({ log, signal }: RequestScope): Unforeseen =>
  (cause, path) => {
    if (signal?.aborted) return;
    log.error({ err: cause, path: path?.join(".") }, "a query failed");
  };

/** An error as it leaves: with one of our codes, or masked. */
export const published = (
  error: GraphQLError,
  requestId: string,
  unforeseen: Unforeseen,
): GraphQLError => {
  const { message, extensions } = told(error, requestId, unforeseen);
  const { http } = error.extensions;
  return new GraphQLError(message, {
    nodes: error.nodes,
    source: error.source,
    positions: error.positions,
    path: error.path,
    extensions: { ...extensions, ...(http !== undefined && { http }) },
  });
};

/** The same, as it is printed: for errors of compiled queries, which know their place and no nodes. */
export const printed = (
  error: GraphQLError,
  requestId: string,
  unforeseen: Unforeseen,
): GraphQLFormattedError => {
  const { message, extensions } = told(error, requestId, unforeseen);
  const { locations, path } = error;
  return { message, ...(locations && { locations }), ...(path && { path }), extensions };
};

/**
 * The same for what ended a subscription: a whole result.
 * @param after where to go on from, as far as that is known
 */
export const errorsBody = (cause: Error, scope: RequestScope, after?: string): string => {
  const error = new GraphQLError(cause.message, { originalError: cause });
  const shown = printed(error, scope.requestId, reportTo(scope));
  const extensions = { ...shown.extensions, ...(after !== undefined && { after }) };
  return JSON.stringify({ errors: [{ ...shown, extensions }] });
};

const told = (error: GraphQLError, requestId: string, unforeseen: Unforeseen): Told => {
  const cause = rootCause(error);
  const as = (
    code: ErrorCode,
    message: string,
    more: Readonly<Record<string, unknown>> = {},
  ): Told => ({ message, extensions: { code, ...more } });

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
  unforeseen(cause, error.path);
  if (isStatementTimeout(cause)) {
    const message = `the query took too long; ask for less at once (request id ${requestId})`;
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
