/**
 * One `setTransferGroup` per order. `setAddressPermissions` would also overwrite a wallet's freeze,
 * and in version 2 its lock and limit.
 */
import { encodeFunctionData, type Hex, keccak256, parseAbi } from "viem";
import { readHead } from "../../evm/rpc/chain-id.ts";
import { openFleet, type Work } from "../../evm/rpc/fleet.ts";
import { type Prices, readFunds, readPrices } from "../../evm/rpc/transactions.ts";
import { bytesOf, hexText } from "../../values/hex-bytes.ts";
import type { AgentTokenType } from "./agent-token-types.ts";
import {
  closeGap,
  countOn,
  lookUpOn,
  MAX_GAP,
  nonceOf,
  relayError,
  type SignedBefore,
  submitTo,
} from "./evm-broadcast.ts";
import type { Relay } from "./relay.ts";
import type { EvmSigner, SigningFor } from "./signer.ts";

const abi = parseAbi([
  "function setTransferGroup(address addr, uint256 groupId)",
  "function setTransferGroup(address addr, uint256 groupId, bool applyToHolder)",
]);

type EvmRelaySettings = {
  readonly chainId: number;
  /** URLs, the preferred one first. */
  readonly rpc: readonly string[];
  readonly token: Hex;
  readonly type: AgentTokenType;
  readonly signer: EvmSigner;
  /** The lowest nonce above the stored transactions. */
  readonly lowestNonce: (resource: string) => Promise<number>;
  /** Stored transactions with nonces from `from` to below `below`, ascending, one per nonce. */
  readonly signedBefore: (
    resource: string,
    nonces: { readonly from: number; readonly below: number; readonly limit: number },
  ) => Promise<readonly SignedBefore[]>;
  /** Per HTTP request. */
  readonly timeoutMs?: number;
};

const TIMEOUT_MS = 10_000;

/** Gas limit relative to the estimate: storage may change before mining. */
const GAS_MARGIN_PERCENT = 130n;

/** The base fee may rise before mining, by at most an eighth per block (EIP-1559). */
const BASE_FEE_PERCENT = 120n;

/** A reverting call cannot be estimated; it is sent anyway, to record its failure on the chain. */
const GAS_WHEN_REVERTED = 200_000n;

export const evmRelay = (settings: EvmRelaySettings): Relay => {
  const { chainId, rpc: urls, token, type, signer, timeoutMs = TIMEOUT_MS } = settings;
  const callOf = callFor(type);
  // Separate from the reader's, whose rate limits must not delay a transaction. Does not wait: a
  // stuck lane frees its worker.
  const rpc = openFleet(chainId, urls, { timeoutMs, attempts: urls.length, waits: false });
  const atOne = <T>(work: Work<T>, signal: AbortSignal): Promise<T> =>
    rpc.use(work, signal).catch((error: unknown) => {
      throw relayError(error);
    });

  const payer = `evm:${chainId}:${signer.address}`;

  /** An unsigned call at the current fees. */
  const priced = async (nonce: number, to: Hex, data: Hex, signal: AbortSignal) => {
    const call = { from: signer.address, to, data };
    const prices = await atOne((one) => readPrices(one, chainId, call, signal), signal);
    const { maxPriorityFeePerGas, gas } = prices;
    return {
      type: "eip1559" as const,
      chainId,
      nonce,
      gas: gas === null ? GAS_WHEN_REVERTED : (gas * GAS_MARGIN_PERCENT) / 100n,
      maxFeePerGas: mostPerGas(prices),
      maxPriorityFeePerGas,
      to,
      data,
    };
  };

  /** Offers the transactions that are missing below an unmined one. */
  const closeGapBelow = async (nonce: number, signal: AbortSignal) => {
    const from = await countOn(rpc, signer.address, signal);
    if (from >= nonce) return;
    const nonces = { from, below: nonce, limit: MAX_GAP };
    const before = await settings.signedBefore(payer, nonces);
    // Transfers nothing to itself: only uses the nonce.
    const empty = async (at: number, about: SigningFor) =>
      bytesOf(await signer.sign(await priced(at, signer.address, "0x", signal), about, signal));
    await closeGap(rpc, before, empty, signal);
  };

  return {
    payer,

    tip: (signal) => atOne((one) => readHead(one, chainId, signal), signal),

    // One transaction at a time: the next needs the next nonce.
    resources: async () => [{ name: payer, version: null }],

    transactionsLeft: async (signal) => {
      const { address } = signer;
      const funds = await atOne((one) => readFunds(one, chainId, address, signal), signal);
      return funds.balance / (GAS_WHEN_REVERTED * mostPerGas(funds));
    },

    prepare: async ({ wallet, groupId, asset, requestId }, resource, signal) => {
      const data = callOf(hexText(wallet), BigInt(groupId));
      const counted = await countOn(rpc, signer.address, signal);
      const nonce = Math.max(counted, await settings.lowestNonce(resource));
      const transaction = await priced(nonce, token, data, signal);
      return {
        sign: async (signing) => {
          const signed = await signer.sign(transaction, { asset, requestId }, signing);
          return { txId: keccak256(signed), signed: bytesOf(signed), nonce };
        },
      };
    },

    submit: async (signed, signal, again) => {
      if (again) await closeGapBelow(nonceOf(signed), signal);
      await submitTo(rpc, signed, signal, again);
    },

    lookUp: (txId, signal) => lookUpOn(rpc, hexText(txId), signal),
  };
};

/** Balance that a node requires per unit of gas; at least 1, since test chains may be free. */
const mostPerGas = ({ baseFeePerGas, maxPriorityFeePerGas }: Omit<Prices, "gas">): bigint => {
  const most = 2n * ((baseFeePerGas * BASE_FEE_PERCENT) / 100n + maxPriorityFeePerGas);
  return most > 0n ? most : 1n;
};

const callFor = (type: AgentTokenType): ((wallet: Hex, groupId: bigint) => Hex) => {
  const functionName = "setTransferGroup";
  switch (type) {
    case "comakery_security_token_v2":
      return (...args) => encodeFunctionData({ abi, functionName, args });
    case "comakery_security_token_v3":
    case "comakery_security_token_v4":
      return (...args) => encodeFunctionData({ abi, functionName, args: [...args, false] });
  }
};
