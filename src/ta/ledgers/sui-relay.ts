/** Relay for Sui assets: one programmable transaction per order, over a full node's gRPC. */
import { ChannelCredentials } from "@grpc/grpc-js";
import { type GrpcTypes, SuiGrpcClient } from "@mysten/sui/grpc";
import { Transaction, TransactionDataBuilder } from "@mysten/sui/transactions";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import { RpcError, type RpcOptions, type UnaryCall } from "@protobuf-ts/runtime-rpc";
import { followingAbort } from "../../waiting/following-abort.ts";
import {
  type Executed,
  type Relay,
  RelayUnavailableError,
  type Resource,
  SubmissionRefusedError,
  type WhitelistOrder,
} from "./relay.ts";
import type { SuiSigner } from "./signer.ts";

/** A full node, shared by the relays of all its assets. */
export type SuiNode = {
  readonly client: SuiGrpcClient;
  close(): void;
};

/** Connects on the first call. */
export const openSuiNode = (settings: {
  /** Name or address with port. */
  readonly host: string;
  readonly tls: boolean;
  /** Sent with every call, such as an API key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Intervals of pings that detect a dead connection, ms; replaced by tests. */
  readonly pings?: { readonly everyMs: number; readonly answerMs: number };
}): SuiNode => {
  const { everyMs, answerMs } = settings.pings ?? { everyMs: 30_000, answerMs: 10_000 };
  const transport = new GrpcTransport({
    host: settings.host,
    channelCredentials: settings.tls
      ? ChannelCredentials.createSsl()
      : ChannelCredentials.createInsecure(),
    meta: { ...settings.headers },
    clientOptions: {
      // Processing counts the attempts.
      "grpc.enable_retries": 0,
      "grpc.max_reconnect_backoff_ms": 5_000,
      // Otherwise a connection that a firewall forgot is used until the system gives it up, in a quarter of an hour.
      "grpc.keepalive_time_ms": everyMs,
      "grpc.keepalive_timeout_ms": answerMs,
    },
  });
  const client = new SuiGrpcClient({ network: "as-configured", transport });
  return { client, close: () => transport.close() };
};

type SuiRelaySettings = {
  readonly node: SuiNode;
  readonly signer: SuiSigner;
  /** Canonical. */
  readonly coinType: string;
  /** Newest version of the security-token package; called for each transaction. */
  readonly packageId: () => Promise<string>;
  /** Id of the coin type's `ControlledTreasury`; undefined while not on the ledger. */
  readonly treasuryId: () => Promise<string | undefined>;
  /** Highest cost of one transaction, MIST; smaller coins are not used. */
  readonly gasBudget: bigint;
};

const ANSWER_MS = 10_000;
/** The node answers once the transaction is final: half a second on a network. */
const EXECUTION_MS = 20_000;
const MOST_COINS = 200;
/** Coins per page; a node may return fewer. */
const PAGE_COINS = 1_000;
/** An address with more small coins must merge them. */
const MOST_PAGES = 10;
const GAS_COIN = "0x2::coin::Coin<0x2::sui::SUI>";

/** Statuses of permanent refusals. */
const REFUSED: ReadonlySet<string> = new Set([
  "INVALID_ARGUMENT",
  "FAILED_PRECONDITION",
  "OUT_OF_RANGE",
]);

export const suiRelay = (settings: SuiRelaySettings): Relay => {
  const { node, signer, coinType, packageId, gasBudget } = settings;
  const { ledgerService, stateService, transactionExecutionService } = node.client;
  let treasury: { readonly id: string; readonly sharedSince: string } | undefined;

  const findTreasury = async (signal: AbortSignal) => {
    if (treasury !== undefined) return treasury;
    const id = await settings.treasuryId();
    if (id === undefined)
      throw new RelayUnavailableError(`the treasury of ${coinType} is not on the ledger yet`);
    const { object } = await ask(signal, (options) =>
      ledgerService.getObject({ objectId: id, readMask: { paths: ["owner"] } }, options),
    );
    const version = object?.owner?.version;
    if (version === undefined) throw new RelayUnavailableError(`object ${id} is not shared`);
    treasury = { id, sharedSince: String(version) };
    return treasury;
  };

  /** The signer's coins, until there are enough, no more, or `MOST_PAGES` were read. */
  const gasCoins = async (
    isEnough: (found: readonly GrpcTypes.Object[]) => boolean,
    signal: AbortSignal,
  ) => {
    const coins: GrpcTypes.Object[] = [];
    let pageToken: Uint8Array | undefined;
    for (let pages = 0; pages < MOST_PAGES && !isEnough(coins); pages += 1) {
      const { objects, nextPageToken } = await ask(signal, (options) =>
        stateService.listOwnedObjects(
          {
            owner: signer.address,
            objectType: GAS_COIN,
            pageSize: PAGE_COINS,
            ...(pageToken !== undefined && { pageToken }),
            readMask: { paths: ["object_id", "version", "balance"] },
          },
          options,
        ),
      );
      coins.push(...objects);
      pageToken = nextPageToken?.length ? nextPageToken : undefined;
      if (pageToken === undefined) return { coins, isAll: true };
    }
    return { coins, isAll: false };
  };

  return {
    payer: `sui:${signer.address}`,

    tip: async (signal) => {
      const info = await ask(signal, (options) => ledgerService.getServiceInfo({}, options));
      if (info.checkpointHeight === undefined) throw new RelayUnavailableError("no checkpoint yet");
      return info.checkpointHeight;
    },

    resources: async (signal) => {
      const { coins, isAll } = await gasCoins(
        (found) => payingCoins(found, gasBudget).length >= MOST_COINS,
        signal,
      );
      const resources = payingCoins(coins, gasBudget);
      if (resources.length === 0) {
        throw new RelayUnavailableError(
          `${signer.address} has no coin of ${gasBudget} MIST or more to pay gas with` +
            (isAll ? "" : ` among its first ${coins.length} coins: merge them`),
        );
      }
      return resources.slice(0, MOST_COINS);
    },

    transactionsLeft: async (signal) => {
      const { coins } = await gasCoins(() => false, signal);
      // A coin without a stated balance counts for one.
      const each = coins.map(({ balance = gasBudget }) => balance / gasBudget);
      return each.reduce((sum, some) => sum + some, 0n);
    },

    prepare: async (order, resource, signal) => {
      const shared = await findTreasury(signal);
      const objectId = resource.slice("sui:".length);
      const readMask = { paths: ["version", "digest"] };
      const [{ object: coin }, { epoch }] = await Promise.all([
        ask(signal, (options) => ledgerService.getObject({ objectId, readMask }, options)),
        ask(signal, (options) =>
          ledgerService.getEpoch({ readMask: { paths: ["reference_gas_price"] } }, options),
        ),
      ]);
      const price = epoch?.referenceGasPrice;
      if (coin?.version === undefined || coin.digest === undefined || price === undefined) {
        throw new RelayUnavailableError("the node's answer lacks the coin or the gas price");
      }
      const on = { packageId: await packageId(), coinType, shared };
      const transaction = transactionOf(order, on);
      transaction.setSender(signer.address);
      transaction.setGasOwner(signer.address);
      transaction.setGasPrice(price);
      transaction.setGasBudget(gasBudget);
      const { version, digest } = coin;
      transaction.setGasPayment([{ objectId, version: String(version), digest }]);
      const data = await transaction.build();
      const about = { asset: order.asset, requestId: order.requestId };
      const txId = TransactionDataBuilder.getDigestFromBytes(data);
      return {
        sign: async (signing) => {
          const signature = Buffer.from(await signer.sign(data, about, signing), "base64");
          return { txId, signed: pack(data, signature) };
        },
      };
    },

    submit: async (signed, signal) => {
      const { data, signature } = unpack(signed);
      try {
        await ask(
          signal,
          (options) =>
            transactionExecutionService.executeTransaction(
              {
                transaction: { bcs: { name: "TransactionData", value: data } },
                signatures: [
                  {
                    bcs: { name: "UserSignatureBytes", value: signature },
                    signature: { oneofKind: undefined },
                  },
                ],
                readMask: { paths: ["effects.status"] },
              },
              options,
            ),
          EXECUTION_MS,
        );
      } catch (error) {
        const cause = error instanceof RelayUnavailableError ? error.cause : undefined;
        if (cause instanceof RpcError && REFUSED.has(cause.code)) {
          throw new SubmissionRefusedError(decoded(cause.message), { cause });
        }
        throw error;
      }
    },

    lookUp: async (digest, signal) => {
      try {
        const readMask = { paths: ["digest", "effects.status", "checkpoint"] };
        const { transaction } = await ask(signal, (options) =>
          ledgerService.getTransaction({ digest, readMask }, options),
        );
        return transaction === undefined ? null : executedOf(transaction);
      } catch (error) {
        const cause = error instanceof RelayUnavailableError ? error.cause : undefined;
        if (cause instanceof RpcError && cause.code === "NOT_FOUND") return null;
        throw error;
      }
    },
  };
};

/** Status messages are percent-encoded, except by some nodes. */
export const decoded = (message: string): string => {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
};

/** Leaves out smaller coins, which any address may send and the node would refuse. */
export const payingCoins = (
  coins: readonly Pick<GrpcTypes.Object, "objectId" | "version" | "balance">[],
  gasBudget: bigint,
): readonly Resource[] =>
  coins.flatMap(({ objectId, version = "", balance }) =>
    objectId === undefined || (balance !== undefined && balance < gasBudget)
      ? []
      : [{ name: `sui:${objectId}`, version: String(version) }],
  );

const transactionOf = (
  { wallet, groupId, holderId }: WhitelistOrder,
  on: {
    readonly packageId: string;
    readonly coinType: string;
    readonly shared: { readonly id: string; readonly sharedSince: string };
  },
): Transaction => {
  const transaction = new Transaction();
  const treasury = transaction.sharedObjectRef({
    objectId: on.shared.id,
    initialSharedVersion: on.shared.sharedSince,
    mutable: true,
  });
  const typeArguments = [on.coinType];
  const target = (name: string) => `${on.packageId}::group_holder_config::${name}`;
  if (holderId !== null) {
    transaction.moveCall({
      target: target("add_holder_address"),
      typeArguments,
      arguments: [treasury, transaction.pure.u64(holderId), transaction.pure.address(wallet)],
    });
  }
  transaction.moveCall({
    target: target("set_address_group"),
    typeArguments,
    arguments: [treasury, transaction.pure.address(wallet), transaction.pure.u64(groupId)],
  });
  return transaction;
};

const executedOf = ({ effects, checkpoint }: GrpcTypes.ExecutedTransaction): Executed => {
  const { success, error } = effects?.status ?? {};
  if (success === undefined) {
    throw new RelayUnavailableError("the node's answer lacks the transaction's status");
  }
  return {
    place: checkpoint ?? null,
    error: success ? null : (error?.description ?? "the ledger gives no reason"),
  };
};

/** A failure becomes a RelayUnavailableError with the call's error as its cause. */
const ask = async <Answer extends object>(
  signal: AbortSignal,
  call: (options: RpcOptions) => UnaryCall<object, Answer>,
  timeout = ANSWER_MS,
): Promise<Answer> => {
  using own = followingAbort(signal);
  own.signal.throwIfAborted();
  try {
    return await call({ abort: own.signal, timeout }).response;
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const why = cause instanceof RpcError ? `${cause.code}: ${cause.message}` : String(cause);
    throw new RelayUnavailableError(`the ledger's node: ${why}`, { cause });
  }
};

/** The signature's length (one byte), the signature, the data. */
const pack = (data: Uint8Array, signature: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.of(signature.length), signature, data]);

const unpack = (signed: Uint8Array) => {
  const end = 1 + (signed[0] ?? 0);
  return { signature: signed.subarray(1, end), data: signed.subarray(end) };
};
