/** The port for getting transactions onto a ledger: one relay per kind of ledger. */
import type { Remedy } from "../../waiting/remedy.ts";

/** The group change to make on the ledger. */
export type WhitelistOrder = {
  readonly requestId: string;
  readonly asset: string;
  /** Canonical. */
  readonly wallet: string;
  readonly groupId: number;
  /** The holder to register the wallet under first; null when it is registered. */
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
  /** What `submit` takes. */
  readonly signed: Uint8Array;
  /** The sender's nonce; only where the ledger numbers transactions. */
  readonly nonce?: number;
};

/** The outcome of a transaction. */
export type Executed = {
  /** Its checkpoint or block; null while the ledger does not name it. */
  readonly place: bigint | null;
  /** Index in its block, from 0; only where the state inside a block matters. */
  readonly index?: number;
  /** The ledger's error; null when it succeeded. */
  readonly error: string | null;
};

/** Pays for and orders one transaction at a time: a gas coin (Sui), or the sender's nonce (EVM). */
export type Resource = {
  /** The same in every process. */
  readonly name: string;
  /**
   * Changes with every transaction that it paid for. A version can be locked, and then be the cause of a
   * refusal. Null for a resource that cannot be locked.
   */
  readonly version: string | null;
};

/** One asset's ledger. Everything rejects with `signal`'s reason once that aborts. */
export type Relay = {
  /** The owner of the resources, by a name that is the same in every process; any of its resources will do. */
  readonly payer: string;
  /**
   * Newest checkpoint or block that the ledger's node has.
   * @throws RelayUnavailableError (retry), as all others do
   */
  tip(signal: AbortSignal): Promise<bigint>;
  /** The resources a transaction may reserve; any of them will do. */
  resources(signal: AbortSignal): Promise<readonly Resource[]>;
  /**
   * Transactions that the payer's balance covers, each at its highest possible cost, so that more will be
   * possible.
   */
  transactionsLeft(signal: AbortSignal): Promise<bigint>;
  /** Builds the order's transaction for the ledger's present state. */
  prepare(order: WhitelistOrder, resource: string, signal: AbortSignal): Promise<UnsignedOrder>;
  /**
   * Submits; `lookUp` has the outcome. The same transaction may be submitted again.
   * @param again whether it may have been submitted before: a refusal alone is then not final
   * @throws SubmissionRefusedError (stop)
   */
  submit(signed: Uint8Array, signal: AbortSignal, again: boolean): Promise<void>;
  /** Null when the node does not know it. */
  lookUp(txId: string, signal: AbortSignal): Promise<Executed | null>;
};

/** The ledger's node does not answer, or unusably. Retry. */
export class RelayUnavailableError extends Error {
  override readonly name = "RelayUnavailableError";
  readonly remedy: Remedy = "retry";
}

/** The node will never accept this transaction. Stop. */
export class SubmissionRefusedError extends Error {
  override readonly name = "SubmissionRefusedError";
  readonly remedy: Remedy = "stop";
}
