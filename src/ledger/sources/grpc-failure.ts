import { Setback } from "./fetch-attempts.ts";
import { retryDelayMs } from "./grpc-messages.ts";
import { SourceRefusedError } from "./source-errors.ts";

/** No node may make us wait longer than this at a time, milliseconds. */
const LONGEST_PAUSE_MS = 15 * 60_000;

/** The node does not have it, or not yet. */
const ABSENT: ReadonlySet<string> = new Set(["NOT_FOUND", "OUT_OF_RANGE"]);

/** Asking the same again gets the same answer. */
const REFUSED: ReadonlySet<string> = new Set([
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
  "INVALID_ARGUMENT",
  "FAILED_PRECONDITION",
  "UNIMPLEMENTED",
]);

/** A failed call, as `@protobuf-ts` reports it. */
type RpcFailure = Error & { readonly code: string; readonly meta: Record<string, unknown> };

const isRpcFailure = (error: unknown): error is RpcFailure =>
  error instanceof Error &&
  "code" in error &&
  typeof error.code === "string" &&
  "meta" in error &&
  typeof error.meta === "object" &&
  error.meta !== null;

/** The message is above our own limit, which the client library reports as RESOURCE_EXHAUSTED. */
export class GrpcMessageTooLargeError extends Error {
  override readonly name = "GrpcMessageTooLargeError";
}

/**
 * What a failed call means: null for "not there (yet)", else an error whose remedy says what to do:
 * `Setback` (retry) with the pause the node asked for, `SourceRefusedError` (stop),
 * `GrpcMessageTooLargeError`; anything that did not come from a call stays as it is.
 *
 * @param wanted what was asked for, for messages
 */
export const grpcFailure = (error: unknown, source: string, wanted: string): unknown => {
  if (!isRpcFailure(error)) return error;
  if (ABSENT.has(error.code)) return null;
  const answer = `${error.code}: ${error.message}`;
  if (REFUSED.has(error.code)) {
    return new SourceRefusedError(source, wanted, answer, { cause: error });
  }
  if (error.code === "RESOURCE_EXHAUSTED" && /larger than max/.test(error.message)) {
    return new GrpcMessageTooLargeError(error.message, { cause: error });
  }
  // UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED and what a broken connection or an
  // unwell node produces (INTERNAL, UNKNOWN, CANCELLED, DATA_LOSS): all of it may pass.
  return new Setback("push-back", answer, pauseOf(error), error);
};

/** Whether a refusal says that the node does not offer the call at all. */
export const isNotOffered = (error: unknown): boolean =>
  error instanceof SourceRefusedError &&
  isRpcFailure(error.cause) &&
  error.cause.code === "UNIMPLEMENTED";

const pauseOf = ({ meta }: RpcFailure): number => {
  const details = meta["grpc-status-details-bin"];
  const delay = typeof details === "string" ? retryDelayMs(details) : null;
  return delay === null || Number.isNaN(delay) ? 0 : Math.min(LONGEST_PAUSE_MS, Math.max(0, delay));
};
