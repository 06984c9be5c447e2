/**
 * Getting a signed transaction onto an EVM chain, and finding it there, over several RPCs.
 *
 * No single answer is the chain's: behind one URL there may be many nodes, and one of them may not have
 * heard of what another one mined. So a transaction counts as refused in two cases only: every RPC
 * refused it when it was offered for the first time, so that nobody has it; or its nonce has been spent
 * for `SETTLED_BLOCKS` and no RPC has its receipt, so that another transaction spent it. In all others
 * it may be mined, and is looked for.
 */
import {
  type Hex,
  keccak256,
  type PublicClient,
  parseTransaction,
  recoverTransactionAddress,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
  type TransactionSerializedEIP1559,
} from "viem";
import { asked, verdictIn } from "./evm-asked.ts";
import type { Verdict } from "./evm-verdict.ts";
import { type Executed, RelayUnavailableError, SubmissionRefusedError } from "./relay.ts";

/** One client per RPC, in the order of preference. */
export type RpcClients = readonly PublicClient[];

/**
 * Blocks that a nonce must have been spent for before a transaction without a receipt is given up:
 * final on Ethereum, and within the 128 that a node without history can answer for.
 */
export const SETTLED_BLOCKS = 64n;

/**
 * How many transactions of an address are mined, as the RPC says that has seen the most: one that lags
 * would have a nonce used twice.
 * @throws RelayUnavailableError (retry) when no RPC answers, or one is of another chain
 */
export const countOn = async (
  clients: RpcClients,
  chainId: number,
  address: Hex,
  signal: AbortSignal,
): Promise<number> => {
  const asking = clients.map((client) =>
    asked(signal, () =>
      Promise.all([
        client.getChainId(),
        client.getTransactionCount({ address, blockTag: "latest" }),
      ]),
    ),
  );
  const answers = await Promise.allSettled(asking);
  signal.throwIfAborted();
  const counts = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  if (counts.length === 0) await Promise.all(asking);
  for (const [actual] of counts) {
    if (actual !== chainId) {
      throw new RelayUnavailableError(`the RPC is of chain ${actual}, not ${chainId}`);
    }
  }
  return Math.max(...counts.map(([, count]) => count));
};

/** What became of a transaction, as the first RPC says that knows; null when none does. */
export const lookUpOn = async (
  clients: RpcClients,
  hash: Hex,
  signal: AbortSignal,
): Promise<Executed | null> => {
  let unanswered: unknown;
  let answered = false;
  for (const client of clients) {
    try {
      const executed = await receiptOf(client, hash, signal);
      if (executed !== null) return executed;
      answered = true;
    } catch (error) {
      signal.throwIfAborted();
      unanswered ??= error;
    }
  }
  if (!answered) throw unanswered;
  return null;
};

const receiptOf = async (
  client: PublicClient,
  hash: Hex,
  signal: AbortSignal,
): Promise<Executed | null> => {
  const receipt = await asked(signal, () =>
    client.getTransactionReceipt({ hash }).catch((error: unknown) => {
      if (error instanceof TransactionReceiptNotFoundError) return null;
      if (error instanceof TransactionNotFoundError) return null;
      throw error;
    }),
  );
  if (receipt === null) return null;
  const { blockNumber: place, transactionIndex: index, status } = receipt;
  return { place, index, error: status === "success" ? null : "reverted by the contract" };
};

/**
 * Offers a transaction to one RPC after the other until one takes it. Returns as well when it may have
 * been taken before.
 * @param again whether it was, or may have been, offered before
 * @throws SubmissionRefusedError (stop) when it is on no chain and never will be
 * @throws RelayUnavailableError (retry)
 */
export const offerTo = async (
  clients: RpcClients,
  signed: Uint8Array,
  signal: AbortSignal,
  again: boolean,
): Promise<void> => {
  const serializedTransaction = serialized(signed);
  const answers: { readonly verdict: Verdict | undefined; readonly error: unknown }[] = [];
  for (const client of clients) {
    try {
      await asked(signal, () => client.sendRawTransaction({ serializedTransaction }));
      return;
    } catch (error) {
      signal.throwIfAborted();
      const verdict = verdictIn(error);
      if (verdict?.is === "there") return;
      answers.push({ verdict, error });
    }
  }
  if (answers.some(({ verdict }) => verdict?.is === "nonce spent")) {
    if (!(await spentByAnother(clients, serializedTransaction, signal))) return;
    throw new SubmissionRefusedError("another transaction of the signer has used its nonce");
  }
  // Who did not answer may have taken it; so may whoever was offered it before. What may pass is no refusal.
  const open = answers.find(({ verdict }) => again || verdict?.is !== "refused");
  if (open !== undefined) throw open.error;
  const [first] = answers;
  const reason = first?.verdict?.is === "refused" ? first.verdict.reason : "there is no RPC";
  throw new SubmissionRefusedError(reason, { cause: first?.error });
};

/** Whether every RPC says that the nonce is spent, long enough ago, and not by this transaction. */
const spentByAnother = async (
  clients: RpcClients,
  serializedTransaction: TransactionSerializedEIP1559,
  signal: AbortSignal,
): Promise<boolean> => {
  const hash = keccak256(serializedTransaction);
  const { nonce = 0 } = parseTransaction(serializedTransaction);
  const address = await recoverTransactionAddress({ serializedTransaction });
  for (const client of clients) {
    const head = await asked(signal, () => client.getBlockNumber({ cacheTime: 0 }));
    if (head < SETTLED_BLOCKS) return false;
    const blockNumber = head - SETTLED_BLOCKS;
    const used = await asked(signal, () => client.getTransactionCount({ address, blockNumber }));
    if (used <= nonce) return false;
    if ((await receiptOf(client, hash, signal)) !== null) return false;
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
