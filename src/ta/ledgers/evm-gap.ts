/**
 * Closing the gap below a signed transaction: an EVM chain mines a sender's transactions in the order of
 * their nonces, so one whose predecessors a reorganisation took back waits until these are mined again.
 * Their requests may have ended, or their asset may have left the assets file: then they are
 * offered nowhere else.
 */
import { parseTransaction } from "viem";
import type { Rpc } from "../../evm/rpc/rpc.ts";
import { offerTo, serialized } from "./evm-broadcast.ts";
import type { SigningFor } from "./signer.ts";

/** Offered at once, lowest nonce first; with these mined, the next ones are. */
export const GAP_AT_ONCE = 16;

/** A transaction that was signed before, as it is stored. */
export type SignedBefore = {
  readonly nonce: number;
  readonly signed: Uint8Array;
  /**
   * Set when it must not be executed any more, because it counts as refused or failed: an empty one
   * takes its nonce, and this is what the signer is told of the one that it replaces.
   */
  readonly replaced: SigningFor | null;
};

/** A signed transaction's nonce. */
export const nonceOf = (signed: Uint8Array): number =>
  parseTransaction(serialized(signed)).nonce ?? 0;

/**
 * Offers what was signed before, in the order given, the same bytes; `empty` signs what takes the place of
 * those that must not be executed. A refusal says nothing here: the node may know them, or have mined them.
 */
export const closeGap = async (
  rpc: Rpc,
  before: readonly SignedBefore[],
  empty: (nonce: number, about: SigningFor) => Promise<Uint8Array>,
  signal: AbortSignal,
): Promise<void> => {
  for (const { nonce, signed, replaced } of before) {
    try {
      const bytes = replaced === null ? signed : await empty(nonce, replaced);
      await offerTo(rpc, bytes, signal, true);
    } catch {
      // Whether one is missing still shows when the transaction above them is offered the next time.
      signal.throwIfAborted();
    }
  }
};
