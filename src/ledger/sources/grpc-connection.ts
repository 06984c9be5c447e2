import { ChannelCredentials } from "@grpc/grpc-js";
import { SuiGrpcClient } from "@mysten/sui/grpc";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import type { RpcOptions, UnaryCall } from "@protobuf-ts/runtime-rpc";
import { highest } from "../../values/bigints.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import { Setback } from "./fetch-attempts.ts";
import {
  getCheckpoint,
  readMaskOf,
  retryDelayMs,
  type StreamedCheckpoint,
  subscribeCheckpoints,
} from "./grpc-messages.ts";
import { CheckpointTooLargeError, SourceRefusedError } from "./source-errors.ts";

export type NodeInfo = {
  /** Base58 digest of the genesis checkpoint. */
  readonly chainId: string;
  /** Newest executed checkpoint. */
  readonly newest: bigint;
  /** First checkpoint available with its objects. */
  readonly firstAvailable: bigint;
};

export type GrpcBounds = {
  /** Timeout of one answer, ms. */
  readonly answerMs: number;
  readonly maxMessageBytes: number;
};

/** Events of a subscription, until `ended` or abort. */
type StreamListener = {
  frame(frame: StreamedCheckpoint): void;
  /** `error` is absent after a regular end. */
  ended(error?: unknown): void;
};

/** Calls to a full node over one HTTP/2 connection. Failures are those of `grpcFailure`. */
export type GrpcConnection = {
  /** @throws Setback when chain or height is missing */
  info(signal: AbortSignal): Promise<NodeInfo>;
  /**
   * Bytes of a `sui.rpc.v2.Checkpoint`; null when the node does not have it.
   * @throws CheckpointTooLargeError (retry)
   */
  checkpoint(sequence: bigint, signal: AbortSignal): Promise<Uint8Array | null>;
  /** Subscribes until `signal` aborts. */
  subscribe(listener: StreamListener, signal: AbortSignal): void;
  /** The checkpoint that published a package; null when unknown. */
  publishedAt(address: string, signal: AbortSignal): Promise<{ checkpoint: bigint } | null>;
  /** Null without metadata. */
  coinDecimals(coinType: string, signal: AbortSignal): Promise<number | null>;
  close(): void;
};

/** Bytes; HTTP/2's default of 64 KiB would wait for a round trip each. */
const FLOW_CONTROL_WINDOW = 16 * 1024 * 1024;

/**
 * @param description for messages
 * @param host name or address with port
 * @param headers sent with every call, such as a provider's key
 */
export const connectGrpc = (
  {
    description,
    host,
    tls,
    headers,
    certificates,
  }: {
    readonly description: string;
    readonly host: string;
    readonly tls: boolean;
    readonly headers: Readonly<Record<string, string>>;
    /** Whether to request the validators' signatures. */
    readonly certificates: boolean;
  },
  { answerMs, maxMessageBytes }: GrpcBounds,
): GrpcConnection => {
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
  const readMask = readMaskOf(certificates);
  const client = new SuiGrpcClient({ network: "as-configured", transport });

  /** With an abort signal of its own, because the transport never detaches. */
  const ask = async <Answer extends object>(
    call: (options: RpcOptions) => UnaryCall<object, Answer>,
    signal: AbortSignal,
  ): Promise<Answer> => {
    using own = followingAbort(signal);
    own.signal.throwIfAborted();
    return await call({ abort: own.signal, timeout: answerMs }).response;
  };

  const failed = (error: unknown, wanted: string, signal: AbortSignal): unknown =>
    signal.aborted ? signal.reason : grpcFailure(error, description, wanted);

  return {
    info: async (signal) => {
      try {
        const answer = await ask(
          (options) => client.ledgerService.getServiceInfo({}, options),
          signal,
        );
        if (answer.chainId === undefined || answer.checkpointHeight === undefined) {
          throw new Setback("push-back", "its service info lacks the chain id or the height");
        }
        return {
          chainId: answer.chainId,
          newest: answer.checkpointHeight,
          firstAvailable: highest(
            answer.lowestAvailableCheckpoint ?? 0n,
            answer.lowestAvailableCheckpointObjects ?? 0n,
          ),
        };
      } catch (error) {
        throw failed(error, "its service info", signal) ?? error;
      }
    },
    checkpoint: async (sequence, signal) => {
      try {
        const request = {
          checkpointId: { oneofKind: "sequenceNumber", sequenceNumber: sequence } as const,
          readMask,
        };
        const answer = await ask(
          (options) => transport.unary(getCheckpoint, request, transport.mergeOptions(options)),
          signal,
        );
        return answer.checkpoint ?? null;
      } catch (error) {
        const failure = failed(error, `checkpoint ${sequence}`, signal);
        if (failure === null) return null;
        if (failure instanceof GrpcMessageTooLargeError) {
          throw new CheckpointTooLargeError(description, sequence, failure.message, {
            cause: failure,
          });
        }
        throw failure;
      }
    },
    subscribe: (listener, signal) => {
      const options = transport.mergeOptions({ abort: signal });
      const call = transport.serverStreaming(subscribeCheckpoints, { readMask }, options);
      call.responses.onMessage((frame) => listener.frame(frame));
      call.responses.onError((error) =>
        listener.ended(failed(error, "subscribing to checkpoints", signal) ?? error),
      );
      call.responses.onComplete(() => listener.ended());
    },
    publishedAt: async (address, signal) => {
      try {
        const { object } = await ask(
          (options) =>
            client.ledgerService.getObject(
              { objectId: address, readMask: { paths: ["previous_transaction"] } },
              options,
            ),
          signal,
        );
        const digest = object?.previousTransaction;
        if (digest === undefined) return null;
        const { transaction } = await ask(
          (options) =>
            client.ledgerService.getTransaction(
              { digest, readMask: { paths: ["checkpoint"] } },
              options,
            ),
          signal,
        );
        const { checkpoint } = transaction ?? {};
        return checkpoint === undefined ? null : { checkpoint };
      } catch (error) {
        const failure = failed(error, `the publication of ${address}`, signal);
        if (failure === null || isNotOffered(failure)) return null;
        throw failure;
      }
    },
    coinDecimals: async (coinType, signal) => {
      try {
        const answer = await ask(
          (options) => client.stateService.getCoinInfo({ coinType }, options),
          signal,
        );
        return answer.metadata?.decimals ?? null;
      } catch (error) {
        const failure = failed(error, `decimals of ${coinType}`, signal);
        if (failure === null) return null;
        throw failure;
      }
    },
    close: () => transport.close(),
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
class GrpcMessageTooLargeError extends Error {
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
