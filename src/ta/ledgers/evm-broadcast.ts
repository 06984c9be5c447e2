/**
 * Getting a signed transaction onto an EVM chain, and finding it there, over several endpoints.
 *
 * No single answer is the chain's: behind one URL there may be many nodes, and one of them may not have
 * heard of what another one mined. So a transaction counts as refused in two cases only: every endpoint
 * refused it when it was offered for the first time, so that no node has it; or its nonce has been spent
 * for `SETTLED_BLOCKS` and no endpoint has its receipt, so that another transaction spent it. In all
 * others it may be mined, and is looked for.
 */
import {
  type Hex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerializedEIP1559,
} from "viem";
import { lowerCase } from "../../evm/contract/fact.ts";
import { isRpcError, RpcRefusedError, WrongChainError } from "../../evm/rpc/errors.ts";
import type { Fleet } from "../../evm/rpc/fleet.ts";
import { harmless } from "../../evm/rpc/hidden-keys.ts";
import {
  readReceipt,
  readSettledCount,
  readTransactionCount,
  sendTransaction,
} from "../../evm/rpc/transactions.ts";
import { type Verdict, verdictOn } from "./evm-verdict.ts";
import { type Executed, RelayUnavailableError, SubmissionRefusedError } from "./relay.ts";

/**
 * Blocks that a nonce must have been spent for before a transaction without a receipt is given up:
 * final on Ethereum, and within the 128 that a node without history can answer for.
 */
const SETTLED_BLOCKS = 64n;

/** What an RPC fails with, as relays say it: to be tried again, in words without keys. */
export const relayError = (error: unknown): unknown =>
  isRpcError(error)
    ? new RelayUnavailableError(`the chain's RPC: ${harmless(error.message)}`)
    : error;

/**
 * How many transactions of an address are mined, as the endpoint says that has seen the most: with the
 * number of one that lags, a nonce would be used twice.
 * @throws RelayUnavailableError (retry) when no endpoint answers, or one is of another chain
 */
export const countOn = async (rpc: Fleet, address: Hex, signal: AbortSignal): Promise<number> => {
  const asked = { chainId: rpc.chainId, address: lowerCase(address) };
  const answers = await Promise.allSettled(
    rpc.each.map((ask) => ask((one) => readTransactionCount(one, asked, signal), signal)),
  );
  signal.throwIfAborted();
  const counts = answers.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failures = answers.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  const astray = failures.find((error) => error instanceof WrongChainError);
  if (astray !== undefined || counts.length === 0) throw relayError(astray ?? failures[0]);
  return Math.max(...counts);
};

/**
 * What became of a transaction, as the first endpoint says that knows; null when none does.
 * @throws RelayUnavailableError (retry) when no endpoint answers
 */
export const lookUpOn = async (
  rpc: Fleet,
  hash: Hex,
  signal: AbortSignal,
): Promise<Executed | null> => {
  const failures: unknown[] = [];
  for (const ask of rpc.each) {
    try {
      const receipt = await ask((one) => readReceipt(one, hash, signal), signal);
      if (receipt === null) continue;
      const { block, index, succeeded } = receipt;
      const error = succeeded ? null : "reverted by the contract";
      return { place: block, ...(index !== null && { index }), error };
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }
  if (failures.length === rpc.each.length) throw relayError(failures[0]);
  return null;
};

/**
 * Offers a transaction to one endpoint after the other until one takes it. Returns as well when it may
 * have been taken before.
 * @param again whether it was, or may have been, offered before
 * @throws SubmissionRefusedError (stop) when it is on no chain and never will be
 * @throws RelayUnavailableError (retry)
 */
export const offerTo = async (
  rpc: Fleet,
  signed: Uint8Array,
  signal: AbortSignal,
  again: boolean,
): Promise<void> => {
  const transaction = serialized(signed);
  const answers: { readonly verdict: Verdict | undefined; readonly error: unknown }[] = [];
  for (const ask of rpc.each) {
    try {
      return await ask((one) => sendTransaction(one, transaction, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      const refused = error instanceof RpcRefusedError;
      const verdict = refused ? verdictOn(error.code, error.details) : undefined;
      if (verdict?.is === "there") return;
      answers.push({ verdict, error: relayError(error) });
    }
  }
  if (answers.some(({ verdict }) => verdict?.is === "nonce spent")) {
    if (!(await spentByAnother(rpc, transaction, signal))) return;
    throw new SubmissionRefusedError("another transaction of the signer has used its nonce");
  }
  // An endpoint without an answer may have taken it, as may one that was offered it before. What may
  // pass is no refusal.
  const open = answers.find(({ verdict }) => again || verdict?.is !== "refused");
  if (open !== undefined) throw open.error;
  const [first] = answers;
  const reason = first?.verdict?.is === "refused" ? first.verdict.reason : "there is no RPC";
  throw new SubmissionRefusedError(reason, { cause: first?.error });
};

/** Whether every endpoint says that the nonce is spent, long enough ago, and not by this transaction. */
const spentByAnother = async (
  rpc: Fleet,
  transaction: TransactionSerializedEIP1559,
  signal: AbortSignal,
): Promise<boolean> => {
  const hash = keccak256(transaction);
  const { nonce = 0 } = parseTransaction(transaction);
  const signer = await recoverTransactionAddress({ serializedTransaction: transaction });
  const asked = { chainId: rpc.chainId, address: lowerCase(signer), depth: SETTLED_BLOCKS };
  for (const ask of rpc.each) {
    const spent = ask(async (one) => {
      const used = await readSettledCount(one, asked, signal);
      return used > nonce && (await readReceipt(one, hash, signal)) === null;
    }, signal);
    const is = await spent.catch((error: unknown) => {
      throw relayError(error);
    });
    if (!is) return false;
  }
  return true;
};

/**
 * A stored transaction as viem takes it. The relay signs transactions of type 2 only; the type is their
 * first byte. @throws RelayUnavailableError for another one
 */
export const serialized = (signed: Uint8Array): TransactionSerializedEIP1559 => {
  if (signed[0] !== 2) throw new RelayUnavailableError("the stored transaction is not of type 2");
  return `0x02${Buffer.from(signed.subarray(1)).toString("hex")}`;
};
