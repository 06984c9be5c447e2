/** Errors as callers of the API see them: with `extensions.code`, internal ones masked. */
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { isDatabaseTrouble, isStatementTimeout } from "../database/database-error.ts";
import { HttpError } from "../http/http-error.ts";
import { internalDetails } from "../http/refusal.ts";
import type { Moment } from "../log/between.ts";
import { GrantIndexBehindError } from "../projections/balance-progress.ts";
import { QuarantinedError } from "../projections/held-coins.ts";
import {
  BeforeLogError,
  BetweenReadError,
  NotYetIndexedError,
  RebuildingError,
} from "../projections/past.ts";
import type { RequestScope } from "./request.ts";

/** Values of `extensions.code`. */
export const ERROR_CODES = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "BAD_USER_INPUT",
  /** No document is kept under its hash: send both together. */
  "PERSISTED_QUERY_NOT_FOUND",
  "GRANT_INDEX_BEHIND",
  "NOT_YET_INDEXED",
  /** A pipeline that the field needs is being rebuilt from the log. */
  "REBUILDING",
  /** A fact of the coin could not be applied: the rows that the field needs lack it and those after it. */
  "QUARANTINED",
  "RATE_LIMITED",
  "OVERLOADED",
  "INTERNAL",
  /** A subscription's events were not read in time. */
  "SLOW_CONSUMER",
  /** The service ends; another process continues the subscription. */
  "RECONNECT",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** Values of `extensions.reason`, for the argument named by `extensions.argument`. */
export const INPUT_REASONS = [
  /** It does not have the form of its kind: no address, number, cursor or type. */
  "MALFORMED",
  /** Too small, too large, too long or too many. */
  "OUT_OF_RANGE",
  /** Not one of the possible values. */
  "UNKNOWN_VALUE",
  /** Another argument rules it out; `extensions.conflictsWith` names it. */
  "CONFLICTS_WITH",
  /** It is needed beside another one. */
  "MISSING",
] as const;

/** What is wrong with which argument. */
export type WrongArgument = {
  readonly argument: string;
  readonly reason: (typeof INPUT_REASONS)[number];
  readonly conflictsWith?: string;
};

/** An invalid request; the message says what is valid. */
export const badInput = (message: string, wrong?: WrongArgument): GraphQLError =>
  new GraphQLError(message, { extensions: { code: "BAD_USER_INPUT", ...wrong } });

/** As `badInput`, for a request that is refused before any of it runs: HTTP 400 if the caller accepts that. */
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
type PublicError = {
  readonly message: string;
  readonly extensions: Readonly<Record<string, unknown>>;
};

/** Called with an error that is masked, and where in the answer it happened. */
type Unforeseen = (cause: unknown, path: GraphQLError["path"]) => void;

/** Logs the error, unless the caller hung up: statements are then cancelled on purpose. */
export const reportTo =
  ({ log, signal }: RequestScope): Unforeseen =>
  (cause, path) => {
    if (signal?.aborted) return;
    log.error({ err: cause, path: path?.join(".") }, "a query failed");
  };

/**
 * Refuses the whole request, as the other interfaces do, when a part of it failed for want of the database: it can be
 * sent again. A statement that took too long would again.
 * @throws the failure
 */
export const throwDatabaseTrouble = (errors: readonly GraphQLError[]): void => {
  const causes = errors.map(rootCause);
  const trouble = causes.find((cause) => isDatabaseTrouble(cause) && !isStatementTimeout(cause));
  if (trouble !== undefined) throw trouble;
};

/** Moments between two checkpoints that were read, for which a part of the request failed. */
export const askedIn = (errors: readonly GraphQLError[]): readonly Moment[] =>
  errors.flatMap((error) => {
    const cause = rootCause(error);
    return cause instanceof BetweenReadError ? [cause.asked] : [];
  });

/** The error to publish: with one of our codes, or masked. */
export const published = (
  error: GraphQLError,
  requestId: string,
  unforeseen: Unforeseen,
): GraphQLError => {
  const { message, extensions } = publicError(error, requestId, unforeseen);
  const { http } = error.extensions;
  return new GraphQLError(message, {
    nodes: error.nodes,
    source: error.source,
    positions: error.positions,
    path: error.path,
    extensions: { ...extensions, ...(http !== undefined && { http }) },
  });
};

/** As `published`, in printed form: errors of compiled queries have locations and no nodes. */
export const printed = (
  error: GraphQLError,
  requestId: string,
  unforeseen: Unforeseen,
): GraphQLFormattedError => {
  const { message, extensions } = publicError(error, requestId, unforeseen);
  const { locations, path } = error;
  return { message, ...(locations && { locations }), ...(path && { path }), extensions };
};

/**
 * The result of a request that is refused as a whole, or that ends a subscription.
 * @param after where to continue, if that is known
 */
export const errorsBody = (cause: Error, scope: RequestScope, after?: string): string => {
  const error = new GraphQLError(cause.message, { originalError: cause });
  const shown = printed(error, scope.requestId, reportTo(scope));
  const extensions = { ...shown.extensions, ...(after !== undefined && { after }) };
  return JSON.stringify({ errors: [{ ...shown, extensions }] });
};

const publicError = (
  error: GraphQLError,
  requestId: string,
  unforeseen: Unforeseen,
): PublicError => {
  const cause = rootCause(error);
  const as = (
    code: ErrorCode,
    message: string,
    more: Readonly<Record<string, unknown>> = {},
  ): PublicError => ({ message, extensions: { code, ...more } });

  if (cause instanceof GrantIndexBehindError) return as("GRANT_INDEX_BEHIND", cause.message);
  if (cause instanceof RebuildingError) {
    const { pipeline, checkpoint, target } = cause;
    const where = { checkpoint: checkpoint?.toString() ?? null, target: target.toString() };
    return as("REBUILDING", cause.message, { pipeline, ...where });
  }
  if (cause instanceof QuarantinedError) {
    const { coinType, pipeline, checkpoint, reason } = cause;
    const where = { coinType, pipeline, checkpoint: checkpoint.toString(), reason };
    return as("QUARANTINED", cause.message, where);
  }
  if (cause instanceof NotYetIndexedError) return as("NOT_YET_INDEXED", cause.message);
  if (cause instanceof BeforeLogError) return as("BAD_USER_INPUT", cause.message);
  if (cause instanceof HttpError) return as(codeOfStatus(cause.statusCode), cause.message);
  if (cause instanceof GraphQLError && !isOurFault(cause, error)) {
    return as(ownCode(cause) ?? "BAD_USER_INPUT", cause.message, wrongArgument(cause));
  }
  unforeseen(cause, error.path);
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

const wrongArgument = ({ extensions }: GraphQLError) => {
  const { argument, reason, conflictsWith } = extensions ?? {};
  if (argument === undefined) return {};
  return { argument, reason, ...(conflictsWith !== undefined && { conflictsWith }) };
};

const ownCode = ({ extensions }: Pick<GraphQLError, "extensions">): ErrorCode | undefined =>
  ERROR_CODES.find((code) => code === extensions?.code);

/**
 * GraphQL's own errors are about the request, except those below the queries: only queries have arguments,
 * so there a value of ours does not fit its type.
 */
const isOurFault = (cause: GraphQLError, seen: GraphQLError): boolean =>
  ownCode(cause) === undefined && (seen.path?.length ?? 0) > 1;
