import {
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { GrpcTypes } from "@mysten/sui/grpc";
import { canonicalAddress } from "../../../src/values/move-type.ts";
import { type Fault, type NodeState, startGrpcServer } from "../sources/grpc-server.ts";
import { HONEST, type Lies, lyingLedger } from "./lies.ts";
import {
  type Frame,
  type Lane,
  LIMITS,
  type ListLimits,
  ListRefusal,
  scanList,
} from "./list-scan.ts";
import type { ListedLedger } from "./listed-ledger.ts";

export type ListState = {
  limits: ListLimits;
  lies: Lies;
  /** Fails a list request; `"unimplemented"`: a node without the lists. */
  onList: () => Fault | "unimplemented" | undefined;
};

/** A full node that serves a ledger whole and lists its transactions, over real HTTP/2. */
export const startListServer = async (
  ledger: ListedLedger,
  lists: Partial<ListState> = {},
  node: Partial<NodeState> = {},
) => {
  const state: ListState = {
    limits: LIMITS,
    lies: HONEST,
    onList: () => undefined,
    ...lists,
  };
  const seen = {
    requests: 0,
    frames: 0,
    items: 0,
    checkpointBytes: 0,
    objects: 0,
    /** Batches of too many objects. */
    refused: 0,
    transactions: 0,
  };
  const told = () => lyingLedger(ledger, state.lies);

  const list =
    <Request extends GrpcTypes.ListTransactionsRequest | GrpcTypes.ListCheckpointsRequest>(
      lane: Lane,
      asMessage: (frame: Frame) => object,
    ) =>
    async (call: ServerWritableStream<Request, object>) => {
      seen.requests += 1;
      const fault = state.onList();
      if (fault !== undefined) {
        const refused = { code: status.UNIMPLEMENTED, details: "the ledger history index is off" };
        call.emit("error", fault === "unimplemented" ? refused : fault);
        return;
      }
      try {
        const frames = scanList(told(), lane, call.request, state.limits);
        for (const frame of state.lies.frames(frames)) {
          if (call.cancelled) return;
          if (frame === "broken") {
            call.emit("error", { code: status.UNAVAILABLE, details: "connection reset" });
            return;
          }
          if (frame === "silent") return;
          seen.frames += 1;
          if (frame.item !== undefined) seen.items += 1;
          if (!call.write({ ...asMessage(frame), ...progressOf(frame) })) await drained(call);
        }
        call.end();
      } catch (error) {
        if (!(error instanceof ListRefusal)) throw error;
        call.emit("error", { code: status[error.code], details: error.message });
      }
    };

  const server = await startGrpcServer(
    {
      chainId: ledger.chainId,
      newest: ledger.newest(),
      checkpoint: (sequence) => {
        const bytes = ledger.checkpoint(sequence);
        seen.checkpointBytes += bytes.length;
        return bytes;
      },
      onCheckpoint: (sequence) =>
        state.lies.withheld.has(sequence)
          ? { code: status.NOT_FOUND, details: `no checkpoint ${sequence}` }
          : undefined,
      ...node,
    },
    {
      ListTransactions: list<GrpcTypes.ListTransactionsRequest>("transactions", ({ item }) =>
        item === undefined
          ? {}
          : {
              transaction: GrpcTypes.ExecutedTransaction.create({
                digest: item.digest,
                checkpoint: item.checkpoint,
                transactionIndex: BigInt(item.index),
              }),
            },
      ),
      ListCheckpoints: list<GrpcTypes.ListCheckpointsRequest>("checkpoints", ({ item }) =>
        item === undefined
          ? {}
          : { checkpoint: GrpcTypes.Checkpoint.create({ sequenceNumber: item.checkpoint }) },
      ),
      GetTransaction: (
        {
          request: { digest = "" },
        }: ServerUnaryCall<GrpcTypes.GetTransactionRequest, GrpcTypes.GetTransactionResponse>,
        callback: sendUnaryData<GrpcTypes.GetTransactionResponse>,
      ) => {
        seen.transactions += 1;
        const place = told().placeOf(digest);
        if (place === undefined) return callback({ code: status.NOT_FOUND, details: digest });
        const { checkpoint } = place;
        callback(null, { transaction: { digest, checkpoint, signatures: [], balanceChanges: [] } });
      },
      GetObject: (
        {
          request: { objectId = "0x0" },
        }: ServerUnaryCall<GrpcTypes.GetObjectRequest, GrpcTypes.GetObjectResponse>,
        callback: sendUnaryData<GrpcTypes.GetObjectResponse>,
      ) => {
        seen.objects += 1;
        const object = objectOf(told(), objectId);
        if (object === null) return callback({ code: status.NOT_FOUND, details: objectId });
        callback(null, { object });
      },
      BatchGetObjects: (
        {
          request: { requests },
        }: ServerUnaryCall<GrpcTypes.BatchGetObjectsRequest, GrpcTypes.BatchGetObjectsResponse>,
        callback: sendUnaryData<GrpcTypes.BatchGetObjectsResponse>,
      ) => {
        if (requests.length > state.limits.objects) {
          seen.refused += 1;
          const details = `number of unversioned batch requests exceeds limit of ${state.limits.objects}`;
          return callback({ code: status.INVALID_ARGUMENT, details });
        }
        seen.objects += requests.length;
        callback(null, {
          objects: requests.map(({ objectId = "0x0" }) => {
            const object = objectOf(told(), objectId);
            if (object !== null) return { result: { oneofKind: "object", object } };
            const error = { code: status.NOT_FOUND, message: objectId, details: [] };
            return { result: { oneofKind: "error", error } };
          }),
        });
      },
      GetEpoch: (
        { request }: ServerUnaryCall<GrpcTypes.GetEpochRequest, GrpcTypes.GetEpochResponse>,
        callback: sendUnaryData<GrpcTypes.GetEpochResponse>,
      ) => {
        const epoch = request.epoch ?? 0n;
        const last = ledger.epochEnd(epoch);
        if (last === undefined && epoch > 0n && ledger.epochEnd(epoch - 1n) === undefined) {
          return callback({ code: status.NOT_FOUND, details: `no epoch ${epoch}` });
        }
        callback(null, { epoch: { epoch, ...(last !== undefined && { lastCheckpoint: last }) } });
      },
    },
    {
      GetCoinInfo: (
        { request }: ServerUnaryCall<GrpcTypes.GetCoinInfoRequest, GrpcTypes.GetCoinInfoResponse>,
        callback: sendUnaryData<GrpcTypes.GetCoinInfoResponse>,
      ) => {
        const id = ledger.metadataOf(request.coinType ?? "");
        if (id === undefined) return callback({ code: status.NOT_FOUND, details: "no such coin" });
        callback(null, { metadata: { id } });
      },
    },
  );
  return Object.assign(server, { lists: state, listed: seen });
};

const objectOf = (ledger: ListedLedger, id: string): GrpcTypes.Object | null => {
  const objectId = canonicalAddress(id);
  const head = ledger.headOf(objectId);
  return head === undefined ? null : GrpcTypes.Object.create({ objectId, ...head });
};

const progressOf = ({ cursor, covered, end }: Frame) => ({
  watermark: { cursor, ...(covered !== undefined && { checkpoint: covered }) },
  ...(end !== undefined && { end: { reason: end } }),
});

const drained = (call: ServerWritableStream<object, object>): Promise<void> =>
  new Promise((resolve) => {
    const events = ["drain", "cancelled", "close"];
    const done = () => {
      for (const event of events) call.off(event, done);
      resolve();
    };
    for (const event of events) call.on(event, done);
  });
