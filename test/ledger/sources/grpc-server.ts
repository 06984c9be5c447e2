import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import { GrpcTypes } from "@mysten/sui/grpc";
import type { ServiceInfo } from "@protobuf-ts/runtime-rpc";
import { getCheckpoint, subscribeCheckpoints } from "../../../src/ledger/sources/grpc-messages.ts";
import { sampleCheckpoint } from "./sample-checkpoint.ts";

/** How a call fails. */
export type Fault = {
  readonly code: status;
  readonly details?: string;
  readonly metadata?: Metadata;
};

/** What a test may change while the server runs. */
export type NodeState = {
  chainId: string;
  /** Newest checkpoint it has; -1n: none. */
  newest: bigint;
  firstAvailable: bigint;
  /** As a message, or encoded. */
  checkpoint: (sequence: bigint) => GrpcTypes.Checkpoint | Uint8Array;
  decimals: Map<string, number>;
  /** The checkpoints of packages; undefined: a node that tells of neither objects nor transactions. */
  published: ReadonlyMap<string, bigint> | undefined;
  /** Answers to GetCheckpoint: a fault, a delay, or nothing for the checkpoint itself. */
  onCheckpoint: (sequence: bigint) => Fault | undefined | Promise<Fault | undefined>;
  onInfo: () => Fault | undefined | Promise<Fault | undefined>;
  /** A fault refuses the subscription; `"silent"` accepts it and then says nothing. */
  onSubscribe: () => Fault | "silent" | undefined;
};

type CheckpointAnswer = { checkpoint?: GrpcTypes.Checkpoint | Uint8Array };

type Subscriber = ServerWritableStream<
  GrpcTypes.SubscribeCheckpointsRequest,
  CheckpointAnswer & { cursor?: bigint }
>;

/** Handlers by method. */
type Calls = Readonly<Record<string, UntypedHandleCall>>;

/**
 * A full node's gRPC services over real HTTP/2, with @mysten/sui's own messages and services.
 *
 * @param ledgerCalls further calls of the ledger service, or others than its own
 * @param stateCalls likewise of the state service
 */
export const startGrpcServer = async (
  initial: Partial<NodeState> = {},
  ledgerCalls: Calls = {},
  stateCalls: Calls = {},
) => {
  const state: NodeState = {
    chainId: "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S",
    newest: -1n,
    firstAvailable: 0n,
    checkpoint: (sequence) => sampleCheckpoint(sequence),
    decimals: new Map(),
    published: undefined,
    onCheckpoint: () => undefined,
    onInfo: () => undefined,
    onSubscribe: () => undefined,
    ...initial,
  };
  const subscribers = new Set<Subscriber>();
  const seen = {
    checkpointCalls: [] as bigint[],
    readMasks: new Set<string>(),
    underWay: 0,
    mostUnderWay: 0,
    subscriptions: 0,
    headers: [] as Metadata[],
  };

  const server = new Server({ "grpc.max_send_message_length": -1 });

  const fail = (callback: sendUnaryData<never>, fault: Fault) =>
    callback({ details: "", ...fault });

  addService(server, GrpcTypes.LedgerService, {
    GetServiceInfo: async (
      call: ServerUnaryCall<object, GrpcTypes.GetServiceInfoResponse>,
      callback: sendUnaryData<GrpcTypes.GetServiceInfoResponse>,
    ) => {
      seen.headers.push(call.metadata);
      const fault = await state.onInfo();
      if (fault !== undefined) return fail(callback, fault);
      callback(null, {
        chainId: state.chainId,
        checkpointHeight: state.newest,
        lowestAvailableCheckpoint: state.firstAvailable,
        lowestAvailableCheckpointObjects: state.firstAvailable,
      });
    },
    GetCheckpoint: async (
      { request }: ServerUnaryCall<GrpcTypes.GetCheckpointRequest, CheckpointAnswer>,
      callback: sendUnaryData<CheckpointAnswer>,
    ) => {
      if (request.checkpointId.oneofKind !== "sequenceNumber") {
        return fail(callback, { code: status.INVALID_ARGUMENT, details: "by number only" });
      }
      const sequence = request.checkpointId.sequenceNumber;
      seen.checkpointCalls.push(sequence);
      seen.readMasks.add(request.readMask?.paths.join(",") ?? "");
      seen.underWay += 1;
      seen.mostUnderWay = Math.max(seen.mostUnderWay, seen.underWay);
      const fault = await state.onCheckpoint(sequence);
      seen.underWay -= 1;
      if (fault !== undefined) return fail(callback, fault);
      if (sequence > state.newest || sequence < state.firstAvailable) {
        return fail(callback, { code: status.NOT_FOUND, details: `no checkpoint ${sequence}` });
      }
      callback(null, { checkpoint: state.checkpoint(sequence) });
    },
    ...(state.published !== undefined && {
      // Digests stand for themselves here.
      GetObject: (
        { request }: ServerUnaryCall<GrpcTypes.GetObjectRequest, GrpcTypes.GetObjectResponse>,
        callback: sendUnaryData<GrpcTypes.GetObjectResponse>,
      ) => {
        const { objectId = "" } = request;
        if (!state.published?.has(objectId)) return fail(callback, { code: status.NOT_FOUND });
        callback(null, { object: { objectId, previousTransaction: `by ${objectId}` } });
      },
      GetTransaction: (
        {
          request,
        }: ServerUnaryCall<GrpcTypes.GetTransactionRequest, GrpcTypes.GetTransactionResponse>,
        callback: sendUnaryData<GrpcTypes.GetTransactionResponse>,
      ) => {
        const { digest = "" } = request;
        const checkpoint = state.published?.get(digest.slice("by ".length));
        if (checkpoint === undefined) return fail(callback, { code: status.NOT_FOUND });
        callback(null, { transaction: { digest, checkpoint, signatures: [], balanceChanges: [] } });
      },
    }),
    ...ledgerCalls,
  });
  addService(server, GrpcTypes.SubscriptionService, {
    SubscribeCheckpoints: (call: Subscriber) => {
      seen.subscriptions += 1;
      seen.readMasks.add(call.request.readMask?.paths.join(",") ?? "");
      const answer = state.onSubscribe();
      if (answer === "silent") return;
      if (answer !== undefined) {
        call.emit("error", answer);
        return;
      }
      subscribers.add(call);
      call.on("cancelled", () => subscribers.delete(call));
      call.on("close", () => subscribers.delete(call));
    },
  });
  addService(server, GrpcTypes.StateService, {
    GetCoinInfo: (
      { request }: ServerUnaryCall<GrpcTypes.GetCoinInfoRequest, GrpcTypes.GetCoinInfoResponse>,
      callback: sendUnaryData<GrpcTypes.GetCoinInfoResponse>,
    ) => {
      const coinType = request.coinType ?? "";
      const decimals = state.decimals.get(coinType);
      if (decimals === undefined) {
        return fail(callback, { code: status.NOT_FOUND, details: `no coin ${coinType}` });
      }
      callback(null, { coinType, metadata: { decimals } });
    },
    ...stateCalls,
  });

  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );

  /** Sends one frame to every subscriber; the checkpoint of that number unless told otherwise. */
  const announce = (sequence: bigint, checkpoint = state.checkpoint(sequence)) => {
    for (const subscriber of subscribers) subscriber.write({ cursor: sequence, checkpoint });
  };

  return {
    host: `127.0.0.1:${port}`,
    state,
    seen,
    subscribers,
    announce,
    /** The chain moves on: `count` new checkpoints, announced to the subscribers. */
    produce: (count = 1) => {
      for (let i = 0; i < count; i += 1) {
        state.newest += 1n;
        announce(state.newest);
      }
    },
    /** Breaks every stream with an error, or ends it without one. */
    breakStreams: (fault?: Fault) => {
      for (const subscriber of subscribers) {
        if (fault === undefined) subscriber.end();
        else subscriber.emit("error", fault);
      }
      subscribers.clear();
    },
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
};

/** Registers handlers for methods of a generated service. */
const addService = (server: Server, service: ServiceInfo, handlers: Calls) => {
  const definition: ServiceDefinition = Object.fromEntries(
    service.methods
      .filter(({ name }) => handlers[name] !== undefined)
      .map((method) => [
        method.name,
        {
          path: `/${service.typeName}/${method.name}`,
          requestStream: false,
          responseStream: method.serverStreaming,
          requestSerialize: (value: object) => Buffer.from(method.I.toBinary(value)),
          requestDeserialize: (bytes: Buffer) => method.I.fromBinary(bytes),
          responseSerialize: (value: object) =>
            Buffer.from(
              encodedAnswer(method.name, value) ?? method.O.toBinary(method.O.create(value)),
            ),
          responseDeserialize: (bytes: Buffer) => method.O.fromBinary(bytes),
        },
      ]),
  );
  server.addService(definition, handlers);
};

/** An answer with an encoded checkpoint; null for any other. */
const encodedAnswer = (method: string, value: object): Uint8Array | null => {
  if (!("checkpoint" in value && value.checkpoint instanceof Uint8Array)) return null;
  const { checkpoint } = value;
  if (method === "GetCheckpoint") return getCheckpoint.O.toBinary({ checkpoint });
  const cursor =
    "cursor" in value && typeof value.cursor === "bigint" ? { cursor: value.cursor } : {};
  return subscribeCheckpoints.O.toBinary({ checkpoint, ...cursor });
};
