/**
 * Submits a signed transaction to an EVM chain, and looks it up, over several endpoints. No single
 * answer is authoritative: one URL may serve many nodes, some lagging. A transaction counts as refused
 * only if every endpoint refused its first submission, or if its nonce was spent `SETTLED_BLOCKS` ago
 * and no endpoint has its receipt: another one spent it. Otherwise it may be mined.
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
import { redacted } from "../../evm/rpc/redaction.ts";
import {
  readReceipt,
  readSettledCount,
  readTransactionCount,
  sendTransaction,
} from "../../evm/rpc/transactions.ts";
import { type Verdict, verdictOn } from "./evm-verdict.ts";
import { type Executed, RelayUnavailableError, SubmissionRefusedError } from "./relay.ts";
import type { SigningFor } from "./signer.ts";

/** Final on Ethereum, and within the 128 blocks of a node without history. */
const SETTLED_BLOCKS = 64n;

/** An RPC error as a retryable relay error, without keys in its text. */
export const relayError = (error: unknown): unknown =>
  isRpcError(error)
    ? new RelayUnavailableError(`the chain's RPC: ${redacted(error.message)}`)
    : error;

/**
 * Mined transactions of an address: the highest count of all endpoints, since a lagging one would
 * reuse a nonce.
 * @throws RelayUnavailableError (retry) when no endpoint answers, or one serves another chain
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
 * Outcome from the first endpoint that knows the transaction; null when none does.
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
 * Offers a transaction to the endpoints in turn until one takes it. Also returns when one may have
 * taken it before.
 * @param again whether it may have been offered before
 * @throws SubmissionRefusedError (stop) when it will never be executed
 * @throws RelayUnavailableError (retry)
 */
export const submitTo = async (
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
  // An endpoint without an answer, or with an earlier offer, may have taken it.
  const open = answers.find(({ verdict }) => again || verdict?.is !== "refused");
  if (open !== undefined) throw open.error;
  const [first] = answers;
  const reason = first?.verdict?.is === "refused" ? first.verdict.reason : "there is no RPC";
  throw new SubmissionRefusedError(reason, { cause: first?.error });
};

/** Whether all endpoints report the nonce as spent by another transaction, `SETTLED_BLOCKS` ago. */
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
 * @throws RelayUnavailableError for another type than 2 (first byte), which alone the relay signs
 */
const serialized = (signed: Uint8Array): TransactionSerializedEIP1559 => {
  if (signed[0] !== 2) throw new RelayUnavailableError("the stored transaction is not of type 2");
  return `0x02${Buffer.from(signed.subarray(1)).toString("hex")}`;
};

/** Transactions offered per look, lowest nonce first; more follow once these are mined. */
export const MAX_GAP = 16;

/** A stored transaction with a lower nonce. */
export type SignedBefore = {
  readonly nonce: number;
  readonly signed: Uint8Array;
  /**
   * Set when the transaction must no longer be executed (refused or failed): an empty one, signed
   * for this request, takes its nonce.
   */
  readonly replaced: SigningFor | null;
};

export const nonceOf = (signed: Uint8Array): number =>
  parseTransaction(serialized(signed)).nonce ?? 0;

/**
 * Closes the nonce gap below a signed transaction, which waits for predecessors that a
 * reorganisation removed. Offers their bytes again, in the order given, also those of ended
 * requests and removed assets; `empty` signs replacements. Ignores refusals: the node may know or
 * have mined them.
 */
export const closeGap = async (
  rpc: Fleet,
  before: readonly SignedBefore[],
  empty: (nonce: number, about: SigningFor) => Promise<Uint8Array>,
  signal: AbortSignal,
): Promise<void> => {
  for (const { nonce, signed, replaced } of before) {
    try {
      const bytes = replaced === null ? signed : await empty(nonce, replaced);
      await submitTo(rpc, bytes, signal, true);
    } catch {
      // A remaining gap shows when the transaction above it is offered again.
      signal.throwIfAborted();
    }
  }
};
