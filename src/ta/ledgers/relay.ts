/** Port for transactions on a ledger: one relay per kind of ledger. */
import type { Remedy } from "../../waiting/remedy.ts";

export type WhitelistOrder = {
  readonly requestId: string;
  readonly asset: string;
  /** Canonical. */
  readonly wallet: string;
  readonly groupId: number;
  /** Holder to register the wallet under first; null when registered. */
  readonly holderId: bigint | null;
};

export type UnsignedOrder = {
  /**
   * Asks the signer for its signature; submits nothing.
   * @throws SigningNotAllowedError (stop), SigningError
   */
  sign(signal: AbortSignal): Promise<SignedOrder>;
};

export type SignedOrder = {
  /** Digest (Sui) or hash (EVM). */
  readonly txId: string;
  readonly signed: Uint8Array;
  /** The sender's nonce, if the ledger numbers transactions. */
  readonly nonce?: number;
};

export type Executed = {
  /** Checkpoint or block; null while the ledger does not name it. */
  readonly place: bigint | null;
  /** Index in its block, from 0; only where the order inside a block matters. */
  readonly index?: number;
  /** The ledger's error; null when it succeeded. */
  readonly error: string | null;
};

/** Pays for and orders one transaction at a time: a gas coin (Sui), or the sender's nonce (EVM). */
export type Resource = {
  /** The same in every process. */
  readonly name: string;
  /**
   * Changes with every transaction; a locked version may cause a refusal. Null: cannot be locked.
   */
  readonly version: string | null;
};

/** One asset's ledger. All calls reject with `signal`'s reason once it aborts. */
export type Relay = {
  /** Owner of the resources, named alike in every process; its resources are interchangeable. */
  readonly payer: string;
  /**
   * The node's newest checkpoint or block.
   * @throws RelayUnavailableError (retry), as all others do
   */
  tip(signal: AbortSignal): Promise<bigint>;
  /** Resources that a transaction may reserve; interchangeable. */
  resources(signal: AbortSignal): Promise<readonly Resource[]>;
  /** Transactions that the payer's balance covers, each at its highest possible cost. */
  transactionsLeft(signal: AbortSignal): Promise<bigint>;
  prepare(order: WhitelistOrder, resource: string, signal: AbortSignal): Promise<UnsignedOrder>;
  /**
   * Submits; `lookUp` returns the outcome. Idempotent.
   * @param again whether it may have been submitted before: a refusal alone is then not final
   * @throws SubmissionRefusedError (stop)
   */
  submit(signed: Uint8Array, signal: AbortSignal, again: boolean): Promise<void>;
  /** Null when unknown to the node. */
  lookUp(txId: string, signal: AbortSignal): Promise<Executed | null>;
};

/** The ledger's node gives no usable answer. Retry. */
export class RelayUnavailableError extends Error {
  override readonly name = "RelayUnavailableError";
  readonly remedy: Remedy = "retry";
}

/** The node will never accept this transaction. */
export class SubmissionRefusedError extends Error {
  override readonly name = "SubmissionRefusedError";
  readonly remedy: Remedy = "stop";
}
