/**
 * The relay for EVM assets: one `setTransferGroup` per order.
 *
 * `setAddressPermissions` would do it, too, but in version 2 it also overwrites a wallet's lock and
 * limit, and in every version its freeze: whitelisting changes the group and nothing else.
 */
import {
  BaseError,
  type Chain,
  createPublicClient,
  encodeFunctionData,
  fallback,
  type Hex,
  http,
  keccak256,
  parseAbi,
  RpcRequestError,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
} from "viem";
import type { Remedy } from "../../remedy.ts";
import { type Relay, RelayUnavailableError, SubmissionRefusedError } from "./relay.ts";
import type { EvmSigner } from "./signer.ts";

/** The token has no transfer groups that could be set: no transfer agent for it. Stop. */
export class NoTransferGroupsError extends Error {
  override readonly name = "NoTransferGroupsError";
  readonly remedy: Remedy = "stop";

  constructor(type: string) {
    super(`tokens of type ${type} have no transfer groups; wallets cannot be whitelisted there`);
  }
}

const twoArguments = parseAbi(["function setTransferGroup(address addr, uint256 groupId)"]);
const threeArguments = parseAbi([
  "function setTransferGroup(address addr, uint256 groupId, bool applyToHolder)",
]);

export type EvmRelaySettings = {
  readonly chainId: number;
  /** Tried in order. */
  readonly rpc: readonly string[];
  readonly token: Hex;
  /** As configuration spells it, such as `comakery_security_token_v3`. */
  readonly type: string;
  readonly signer: EvmSigner;
  readonly timeoutMs?: number;
};

const TIMEOUT_MS = 10_000;

/** Gas of a call beyond what was estimated: storage may have changed until it is mined. */
const GAS_MARGIN_PERCENT = 130n;

/** A call that would be reverted cannot be estimated: it is sent all the same, to fail on the record. */
const GAS_WHEN_REVERTED = 200_000n;

/**
 * The relay of one asset.
 * @throws NoTransferGroupsError (stop) for a token without transfer groups
 */
export const evmRelay = (settings: EvmRelaySettings): Relay => {
  const { chainId, rpc, token, type, signer, timeoutMs = TIMEOUT_MS } = settings;
  const callOf = callFor(type);
  const chain: Chain = {
    id: chainId,
    name: String(chainId),
    nativeCurrency: { name: "native", symbol: "native", decimals: 18 },
    rpcUrls: { default: { http: rpc } },
  };
  const transports = rpc.map((url) => http(url, { retryCount: 0, timeout: timeoutMs }));
  const client = createPublicClient({ chain, transport: fallback(transports, { retryCount: 0 }) });

  return {
    tip: (signal) => asked(signal, () => client.getBlockNumber({ cacheTime: 0 })),

    // One transaction at a time: the next one needs the next nonce.
    purses: async () => [`evm:${chainId}:${signer.address}`],

    prepare: async ({ wallet, groupId, asset, requestId }, _purse, signal) => {
      const data = callOf(hex(wallet), BigInt(groupId));
      const [actual, nonce, fees, gas] = await asked(signal, () =>
        Promise.all([
          client.getChainId(),
          client.getTransactionCount({ address: signer.address, blockTag: "latest" }),
          client.estimateFeesPerGas(),
          client
            .estimateGas({ account: signer.address, to: token, data })
            .then((estimated) => (estimated * GAS_MARGIN_PERCENT) / 100n)
            .catch((error: unknown) => {
              if (isRevert(error)) return GAS_WHEN_REVERTED;
              throw error;
            }),
        ]),
      );
      if (actual !== chainId) {
        throw new RelayUnavailableError(`the RPC is of chain ${actual}, not ${chainId}`);
      }
      const { maxFeePerGas, maxPriorityFeePerGas } = fees;
      const transaction = {
        type: "eip1559" as const,
        chainId,
        nonce,
        gas,
        maxFeePerGas: 2n * maxFeePerGas,
        maxPriorityFeePerGas,
        to: token,
        data,
      };
      return {
        sign: async (signing) => {
          const signed = await signer.sign(transaction, { asset, requestId }, signing);
          return { txId: keccak256(signed), signed: Buffer.from(signed.slice(2), "hex") };
        },
      };
    },

    submit: async (signed, signal) => {
      const serializedTransaction: Hex = `0x${Buffer.from(signed).toString("hex")}`;
      try {
        await asked(signal, () => client.sendRawTransaction({ serializedTransaction }));
      } catch (error) {
        const cause = error instanceof RelayUnavailableError ? error.cause : undefined;
        if (!(cause instanceof RpcAnswerError)) throw error;
        const words = cause.message;
        // It is there already, or its nonce is spent, perhaps by itself: the look-up tells.
        if (/already known|known transaction|already imported/i.test(words)) return;
        if (
          /nonce too low|insufficient funds|intrinsic gas|invalid|exceeds|underpriced/i.test(words)
        ) {
          throw new SubmissionRefusedError(words, { cause: error });
        }
        throw error;
      }
    },

    lookUp: async (txId, signal) => {
      const receipt = await asked(signal, () =>
        client.getTransactionReceipt({ hash: hex(txId) }).catch((error: unknown) => {
          if (error instanceof TransactionReceiptNotFoundError) return null;
          if (error instanceof TransactionNotFoundError) return null;
          throw error;
        }),
      );
      if (receipt === null) return null;
      return {
        place: receipt.blockNumber,
        error: receipt.status === "success" ? null : "reverted by the contract",
      };
    },
  };
};

/** The RPC answered, with an error; the message is its own words. */
class RpcAnswerError extends Error {
  override readonly name = "RpcAnswerError";
  readonly remedy: Remedy = "retry";
}

/** The call that puts a wallet into a group, by token type. */
const callFor = (type: string): ((wallet: Hex, groupId: bigint) => Hex) => {
  switch (type) {
    case "comakery_security_token_v2":
      return (wallet, groupId) =>
        encodeFunctionData({
          abi: twoArguments,
          functionName: "setTransferGroup",
          args: [wallet, groupId],
        });
    case "comakery_security_token_v3":
    case "comakery_security_token_v4":
      return (wallet, groupId) =>
        encodeFunctionData({
          abi: threeArguments,
          functionName: "setTransferGroup",
          args: [wallet, groupId, false],
        });
    default:
      throw new NoTransferGroupsError(type);
  }
};

const hex = (text: string): Hex => `0x${text.slice(2)}`;

/**
 * A call's answer; what it fails with becomes RelayUnavailableError. Nobody waits for it once `signal`
 * aborts, though it may still reach the chain.
 */
const asked = async <Answer>(signal: AbortSignal, call: () => Promise<Answer>): Promise<Answer> => {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([call(), aborted]);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const answer = answerIn(cause);
    const why = answer ?? (cause instanceof BaseError ? cause.shortMessage : "does not answer");
    // The error of viem stays here: its message names the URL, which may hold a provider's key.
    throw new RelayUnavailableError(`the chain's RPC: ${why}`, {
      cause: answer === undefined ? undefined : new RpcAnswerError(answer),
    });
  } finally {
    signal.removeEventListener("abort", abort);
  }
};

/** What the RPC itself answered, when it answered with an error. */
const answerIn = (error: unknown): string | undefined => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof RpcRequestError) return at.details;
  }
  return undefined;
};

const isRevert = (error: unknown): boolean => /revert/i.test(answerIn(error) ?? "");
