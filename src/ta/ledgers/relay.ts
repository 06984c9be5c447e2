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
  /** Its number among the transactions of its purse; only where the ledger numbers them. */
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

/** What can pay for one transaction at a time. */
export type Purse = {
  /** Processes agree on it. */
  readonly name: string;
  /**
   * Another one after every transaction that it paid for. Of a purse that has one, a refusal may be the
   * purse's fault: it can be locked as it stands. Null for those of which that cannot be.
   */
  readonly version: string | null;
};

/** The ways to one asset's ledger. Everything rejects with `signal`'s reason once that aborts. */
export type Relay = {
  /** Whose purses they are, by a name that processes agree on; those of one payer pay for each other. */
  readonly payer: string;
  /**
   * Newest checkpoint or block that the ledger's node has.
   * @throws RelayUnavailableError (retry), as all others do
   */
  tip(signal: AbortSignal): Promise<bigint>;
  /** What can pay for a transaction; any of them will do. */
  purses(signal: AbortSignal): Promise<readonly Purse[]>;
  /** Builds the order's transaction for the ledger as it stands. */
  prepare(order: WhitelistOrder, purse: string, signal: AbortSignal): Promise<UnsignedOrder>;
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
