/** How a transaction gets onto a ledger: a port with one relay per kind of ledger. */
import type { Remedy } from "../../waiting/remedy.ts";

/** What is to be done on the ledger. */
export type WhitelistOrder = {
  readonly requestId: string;
  readonly asset: string;
  /** Canonical. */
  readonly wallet: string;
  readonly groupId: number;
  /** The holder that the wallet is to be registered under first; null when it is registered. */
  readonly holderId: bigint | null;
};

/** A transaction that is built. */
export type UnsignedOrder = {
  /**
   * Asks the signer for its signature; nothing else leaves.
   * @throws SigningNotAllowedError (stop), SigningError
   */
  sign(signal: AbortSignal): Promise<SignedOrder>;
};

/** A signed transaction. */
export type SignedOrder = {
  /** Digest (Sui) or hash (EVM). */
  readonly txId: string;
  /** What `submit` takes. */
  readonly signed: Uint8Array;
  /** The sender's nonce; only where the ledger numbers transactions. */
  readonly nonce?: number;
};

/** What became of a transaction. */
export type Executed = {
  /** Checkpoint or block it stands in; null while the ledger has it without saying where. */
  readonly place: bigint | null;
  /** Which transaction of its block it is, from 0; only where a block's end may differ from its middle. */
  readonly index?: number;
  /** What the ledger says it failed with; null when it succeeded. */
  readonly error: string | null;
};

/** What pays for and orders one transaction at a time: a gas coin (Sui), or the sender's nonce (EVM). */
export type Resource = {
  /** The same in every process. */
  readonly name: string;
  /**
   * Changes with every transaction that it paid for. A refusal may be the fault of this version: a coin
   * can be locked. Null for a resource that cannot be at fault.
   */
  readonly version: string | null;
};

/** The ways to one asset's ledger. Everything rejects with `signal`'s reason once that aborts. */
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
   * Transactions that the payer's account can pay for as it stands, each at the most that one may cost: fewer than
   * those that will be.
   */
  transactionsLeft(signal: AbortSignal): Promise<bigint>;
  /** Builds the order's transaction for the ledger as it stands. */
  prepare(order: WhitelistOrder, resource: string, signal: AbortSignal): Promise<UnsignedOrder>;
  /**
   * Submits; what becomes of it is for `lookUp` to say. The same one may be submitted again.
   * @param again whether it may have been submitted before: a refusal alone then says nothing
   * @throws SubmissionRefusedError (stop)
   */
  submit(signed: Uint8Array, signal: AbortSignal, again: boolean): Promise<void>;
  /** Null when the ledger's node does not know it. */
  lookUp(txId: string, signal: AbortSignal): Promise<Executed | null>;
};

/** The ledger's node does not answer, or not usefully. Retry. */
export class RelayUnavailableError extends Error {
  override readonly name = "RelayUnavailableError";
  readonly remedy: Remedy = "retry";
}

/** The node does not take this transaction and never will. Stop. */
export class SubmissionRefusedError extends Error {
  override readonly name = "SubmissionRefusedError";
  readonly remedy: Remedy = "stop";
}
