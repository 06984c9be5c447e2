/**
 * The demo ledger as a full node for senders: the gRPC calls for building, submitting and looking
 * up transactions, on loopback, with the network's messages.
 *
 * A transaction enters the next checkpoint with its signed bytes. The answer comes once that
 * checkpoint was read, as a real node answers after finality.
 */
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import { GrpcTypes } from "@mysten/sui/grpc";
import type { ServiceInfo } from "@protobuf-ts/runtime-rpc";
import { digestOf } from "../src/ledger/decode/digest.ts";
import { base58 } from "../src/values/base58.ts";
import { canonicalAddress } from "../src/values/move-type.ts";
import { GAS_PRICE } from "./chain/execute.ts";
import { coinBalance, type LiveObject } from "./chain/state.ts";
import { RejectedTransactionError, type TransactionReceipt } from "./issuer/submissions.ts";
import { currentGasCoin, readSigned } from "./signed-transaction.ts";
import type { DemoSource } from "./source.ts";

export type DemoNode = AsyncDisposable & {
  /** `127.0.0.1:port` */
  readonly host: string;
};

const MOST_ON_PAGE = 50;

class Refused extends Error {
  readonly code: status;

  constructor(code: status, details: string) {
    super(details);
    this.code = code;
  }
}

/** Starts the node on a free loopback port. The source must be read meanwhile. */
export const startDemoNode = async (source: DemoSource): Promise<DemoNode> => {
  const closed = new AbortController();
  const chainId = await source.chainId(closed.signal);
  const treasuries = new Map(source.coinTypes.map((coin) => [coin.coinType, coin.treasuryId]));
  /** Pending transactions by digest: one sent twice is one transaction. */
  const underWay = new Map<string, Promise<TransactionReceipt>>();

  const execute = async (request: GrpcTypes.ExecuteTransactionRequest) => {
    const data = request.transaction?.bcs?.value;
    const signatures = request.signatures.map(({ bcs }) => bcs?.value ?? new Uint8Array());
    if (data === undefined)
      throw new Refused(status.INVALID_ARGUMENT, "transaction.bcs is missing");
    const digest = base58(digestOf("TransactionData", data));
    const known = source.receipt(digest);
    if (known !== undefined) return known;
    const waiting = underWay.get(digest);
    if (waiting !== undefined) return await waiting;
    const read = readSigned(data, signatures, {
      packages: source.packages,
      treasuryOf: (coinType) => treasuries.get(coinType),
    });
    if ("wrong" in read) throw new Refused(status.INVALID_ARGUMENT, read.wrong);
    const gas = currentGasCoin(read.signed, read.sender, source.object);
    if ("wrong" in gas) throw new Refused(status.FAILED_PRECONDITION, gas.wrong);
    const submitted = source.submit(read);
    underWay.set(digest, submitted);
    try {
      return await submitted;
    } finally {
      underWay.delete(digest);
    }
  };

  const server = new Server();
  addService(server, GrpcTypes.TransactionExecutionService, {
    ExecuteTransaction: answer(async (request: GrpcTypes.ExecuteTransactionRequest) => ({
      transaction: executed(await execute(request)),
    })),
  });
  addService(server, GrpcTypes.LedgerService, {
    GetServiceInfo: answer(async () => ({
      chainId,
      // A due checkpoint that was not made has not been executed.
      checkpointHeight: source.newestRead() ?? undefined,
      lowestAvailableCheckpoint: 0n,
      lowestAvailableCheckpointObjects: 0n,
    })),
    GetEpoch: answer(async () => ({
      epoch: { epoch: source.epoch(), referenceGasPrice: GAS_PRICE },
    })),
    GetObject: answer(async ({ objectId = "0x0" }: GrpcTypes.GetObjectRequest) => {
      const object = source.object(canonicalAddress(objectId));
      if (object === undefined) throw new Refused(status.NOT_FOUND, `no object ${objectId}`);
      return { object: asMessage(object) };
    }),
    GetTransaction: answer(async ({ digest = "" }: GrpcTypes.GetTransactionRequest) => {
      const receipt = source.receipt(digest);
      if (receipt === undefined) throw new Refused(status.NOT_FOUND, `no transaction ${digest}`);
      return { transaction: executed(receipt) };
    }),
  });
  addService(server, GrpcTypes.StateService, {
    // SUI coins only.
    ListOwnedObjects: answer(
      async ({ owner = "0x0", pageSize, pageToken }: GrpcTypes.ListOwnedObjectsRequest) => {
        const after = pageToken === undefined ? "" : Buffer.from(pageToken).toString();
        const rest = source
          .gasCoinsOf(canonicalAddress(owner))
          .filter(({ id }) => id > after)
          .toSorted((one, other) => (one.id < other.id ? -1 : 1));
        const page = rest.slice(0, Math.min(pageSize ?? MOST_ON_PAGE, MOST_ON_PAGE));
        const last = page.at(-1);
        return {
          objects: page.map((coin) => ({
            ...asMessage(coin),
            balance: coinBalance(coin.contents),
          })),
          ...(rest.length > page.length && last && { nextPageToken: Buffer.from(last.id) }),
        };
      },
    ),
  });

  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return {
    host: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      closed.abort();
      server.forceShutdown();
    },
  };
};

const executed = ({ digest, checkpoint, error }: TransactionReceipt) => ({
  digest,
  checkpoint,
  effects: {
    transactionDigest: digest,
    status: error === null ? { success: true } : { success: false, error: { description: error } },
  },
});

const asMessage = ({ id, version, digest, owner, type }: LiveObject) => ({
  objectId: id,
  version,
  digest: base58(digest),
  objectType: type,
  owner:
    owner.kind === "shared"
      ? { kind: GrpcTypes.Owner_OwnerKind.SHARED, version: owner.initialSharedVersion }
      : owner.kind === "address"
        ? { kind: GrpcTypes.Owner_OwnerKind.ADDRESS, address: owner.address }
        : { kind: GrpcTypes.Owner_OwnerKind.OWNER_KIND_UNKNOWN },
});

/** Handles a call; errors become a status. */
const answer =
  <Request, Answer extends object>(handle: (request: Request) => Promise<Answer>) =>
  async ({ request }: ServerUnaryCall<Request, Answer>, callback: sendUnaryData<Answer>) => {
    try {
      callback(null, await handle(request));
    } catch (error) {
      const details = error instanceof Error ? error.message : String(error);
      callback({ code: codeOf(error), details });
    }
  };

const codeOf = (error: unknown): status => {
  if (error instanceof Refused) return error.code;
  if (error instanceof RejectedTransactionError) return status.FAILED_PRECONDITION;
  return status.UNAVAILABLE;
};

const addService = (
  server: Server,
  service: ServiceInfo,
  handlers: Readonly<Record<string, UntypedHandleCall>>,
) => {
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
            Buffer.from(method.O.toBinary(method.O.create(value))),
          responseDeserialize: (bytes: Buffer) => method.O.fromBinary(bytes),
        },
      ]),
  );
  server.addService(definition, handlers);
};
