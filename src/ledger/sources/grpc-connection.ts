import { highest } from "../../values/bigints.ts";
import { Setback } from "./fetch-attempts.ts";
import {
  type GrpcBounds,
  GrpcMessageTooLargeError,
  type GrpcNode,
  isNotOffered,
  openGrpcCalls,
} from "./grpc-calls.ts";
import {
  getCheckpoint,
  readMaskOf,
  type StreamedCheckpoint,
  subscribeCheckpoints,
} from "./grpc-messages.ts";
import { CheckpointTooLargeError } from "./source-errors.ts";

export type NodeInfo = {
  /** Base58 digest of the genesis checkpoint. */
  readonly chainId: string;
  /** Newest executed checkpoint. */
  readonly newest: bigint;
  /** First checkpoint available with its objects. */
  readonly firstAvailable: bigint;
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

/** @param certificates whether to request the validators' signatures */
export const connectGrpc = (
  { certificates, ...node }: GrpcNode & { readonly certificates: boolean },
  bounds: GrpcBounds,
): GrpcConnection => {
  const { description } = node;
  const { transport, client, ask, failed } = openGrpcCalls(node, bounds);
  const readMask = readMaskOf(certificates);

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
