/** Calls to a full node over one HTTP/2 connection, and what their failures mean. */
import { ChannelCredentials } from "@grpc/grpc-js";
import { SuiGrpcClient } from "@mysten/sui/grpc";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import type { RpcOptions, UnaryCall } from "@protobuf-ts/runtime-rpc";
import { followingAbort } from "../../waiting/following-abort.ts";
import { Setback } from "./fetch-attempts.ts";
import { retryDelayMs } from "./grpc-messages.ts";
import { SourceRefusedError } from "./source-errors.ts";

export type GrpcNode = {
  /** For messages. */
  readonly description: string;
  /** Name or address with port. */
  readonly host: string;
  readonly tls: boolean;
  /** Sent with every call, such as a provider's key; never logged. */
  readonly headers: Readonly<Record<string, string>>;
};

export type GrpcBounds = {
  /** Timeout of one answer, ms. */
  readonly answerMs: number;
  readonly maxMessageBytes: number;
};

export type GrpcCalls = {
  readonly transport: GrpcTransport;
  readonly client: SuiGrpcClient;
  /** Runs one call within `answerMs`. */
  ask<Answer extends object>(
    call: (options: RpcOptions) => UnaryCall<object, Answer>,
    signal: AbortSignal,
  ): Promise<Answer>;
  /**
   * What to throw for a failed call: the reason of `signal`, or as `grpcFailure`; null: not there.
   * @param wanted for messages
   */
  failed(error: unknown, wanted: string, signal: AbortSignal): unknown;
};

/** Bytes; HTTP/2's default of 64 KiB would wait for a round trip each. */
const FLOW_CONTROL_WINDOW = 16 * 1024 * 1024;

/** Contacts nothing yet. Close its transport. */
export const openGrpcCalls = (
  { description, host, tls, headers }: GrpcNode,
  { answerMs, maxMessageBytes }: GrpcBounds,
): GrpcCalls => {
  const transport = new GrpcTransport({
    host,
    channelCredentials: tls ? ChannelCredentials.createSsl() : ChannelCredentials.createInsecure(),
    meta: { ...headers },
    clientOptions: {
      "grpc.max_receive_message_length": maxMessageBytes,
      "grpc-node.flow_control_window": FLOW_CONTROL_WINDOW,
      // Detects a dead connection within 40 s, also under a silent stream.
      "grpc.keepalive_time_ms": 30_000,
      "grpc.keepalive_timeout_ms": 10_000,
      "grpc.initial_reconnect_backoff_ms": 250,
      "grpc.max_reconnect_backoff_ms": 10_000,
      // Retries are counted and logged in fetch-attempts.ts.
      "grpc.enable_retries": 0,
    },
  });
  return {
    transport,
    client: new SuiGrpcClient({ network: "as-configured", transport }),
    // With an abort signal of its own, because the transport never detaches.
    ask: async (call, signal) => {
      using own = followingAbort(signal);
      own.signal.throwIfAborted();
      return await call({ abort: own.signal, timeout: answerMs }).response;
    },
    failed: (error, wanted, signal) =>
      signal.aborted ? signal.reason : grpcFailure(error, description, wanted),
  };
};

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
const grpcFailure = (error: unknown, source: string, wanted: string): unknown => {
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

/** The code of a failed call, also as the cause of a refusal; undefined for other errors. */
export const grpcCodeOf = (error: unknown): string | undefined => {
  const failure = error instanceof SourceRefusedError ? error.cause : error;
  return isRpcFailure(failure) ? failure.code : undefined;
};

/** Whether the node does not offer the call. */
export const isNotOffered = (error: unknown): boolean =>
  error instanceof SourceRefusedError && grpcCodeOf(error) === "UNIMPLEMENTED";

const pauseOf = ({ meta }: RpcFailure): number => {
  const details = meta["grpc-status-details-bin"];
  const delay = typeof details === "string" ? retryDelayMs(details) : null;
  return delay === null || Number.isNaN(delay) ? 0 : Math.min(LONGEST_PAUSE_MS, Math.max(0, delay));
};
