/**
 * Closing the gap below a signed transaction. An EVM chain mines a sender's transactions in nonce order. If
 * a reorganisation took predecessors back, the later transaction waits for them. They are offered again
 * here, and nowhere else once their requests have ended or their asset has left the assets file.
 */
import { parseTransaction } from "viem";
import type { Fleet } from "../../evm/rpc/fleet.ts";
import { offerTo, serialized } from "./evm-broadcast.ts";
import type { SigningFor } from "./signer.ts";

/** Offered at once, lowest nonce first; with these mined, the next ones are. */
export const GAP_AT_ONCE = 16;

/** A transaction that was signed before, as it is stored. */
export type SignedBefore = {
  readonly nonce: number;
  readonly signed: Uint8Array;
  /**
   * Set when the transaction must not be executed any more (refused or failed). An empty one takes its
   * nonce; the signer is told this about the replaced one.
   */
  readonly replaced: SigningFor | null;
};

/** A signed transaction's nonce. */
export const nonceOf = (signed: Uint8Array): number =>
  parseTransaction(serialized(signed)).nonce ?? 0;

/**
 * Offers what was signed before, in the order given, the same bytes; `empty` signs the replacements of
 * those that must not be executed. Refusals are ignored: the node may know them, or have mined them.
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
      await offerTo(rpc, bytes, signal, true);
    } catch {
      // Whether one is missing still shows when the transaction above them is offered the next time.
      signal.throwIfAborted();
    }
  }
};
