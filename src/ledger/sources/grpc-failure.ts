import { Setback } from "./fetch-attempts.ts";
import { retryDelayMs } from "./grpc-messages.ts";
import { SourceRefusedError } from "./source-errors.ts";

/** Maximum pause that a node can request, ms. */
const LONGEST_PAUSE_MS = 15 * 60_000;

/** Not there, or not yet. */
const ABSENT: ReadonlySet<string> = new Set(["NOT_FOUND", "OUT_OF_RANGE"]);

/** Retrying gives the same answer. */
const REFUSED: ReadonlySet<string> = new Set([
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
  "INVALID_ARGUMENT",
  "FAILED_PRECONDITION",
  "UNIMPLEMENTED",
]);

/** A failed call of `@protobuf-ts`. */
type RpcFailure = Error & { readonly code: string; readonly meta: Record<string, unknown> };

const isRpcFailure = (error: unknown): error is RpcFailure =>
  error instanceof Error &&
  "code" in error &&
  typeof error.code === "string" &&
  "meta" in error &&
  typeof error.meta === "object" &&
  error.meta !== null;

/** Larger than our limit; the library reports RESOURCE_EXHAUSTED. */
export class GrpcMessageTooLargeError extends Error {
  override readonly name = "GrpcMessageTooLargeError";
}

/**
 * Classifies a failed call: null for "not there (yet)", `Setback` (retry) with the pause requested,
 * `SourceRefusedError` (stop), or `GrpcMessageTooLargeError`. Other errors are returned unchanged.
 *
 * @param wanted for messages
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
  // Transient: overload, a broken connection or an unwell node.
  return new Setback("push-back", answer, pauseOf(error), error);
};

/** Whether the node does not offer the call. */
export const isNotOffered = (error: unknown): boolean =>
  error instanceof SourceRefusedError &&
  isRpcFailure(error.cause) &&
  error.cause.code === "UNIMPLEMENTED";

const pauseOf = ({ meta }: RpcFailure): number => {
  const details = meta["grpc-status-details-bin"];
  const delay = typeof details === "string" ? retryDelayMs(details) : null;
  return delay === null || Number.isNaN(delay) ? 0 : Math.min(LONGEST_PAUSE_MS, Math.max(0, delay));
};
