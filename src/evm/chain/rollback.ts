/** How far a chain that left the known blocks is followed back. */

import type { EvmNetwork } from "../contract/network.ts";
import type { EvmBatch } from "../log/chain-state.ts";
import { FinalityViolatedError } from "../rpc/errors.ts";
import type { ReadingState } from "./state.ts";
import type { ChainView } from "./view.ts";

/**
 * What to withdraw; null when the chain only grew. If no known block is left and the known blocks reach
 * back to the first one read, everything is withdrawn. Otherwise it is unknown what is left.
 *
 * @param label the endpoint that showed the chain like this
 * @param agreed every endpoint shows it: follow the chain also below a block that is final by depth
 * @throws FinalityViolatedError (stop) when a final block was replaced, or it is unknown what is left
 */
export const rollbackOf = (
  label: string,
  { fork }: ChainView,
  network: EvmNetwork,
  state: ReadingState,
  agreed: boolean,
): EvmBatch["rollback"] => {
  if (fork === null) return null;
  const { chainId, finality } = network;
  const { finalBlock } = state;
  const oldest = state.known.oldest()?.number ?? 0n;
  // Blocks are forgotten only below one that was read as settled, and that one is kept.
  if (fork.ancestor === null && oldest > state.first()) {
    throw new FinalityViolatedError(label, {
      chainId,
      block: oldest,
      why: "and none of the blocks that are kept is left",
      canRollBack: false,
    });
  }
  const toBlock = fork.ancestor?.number ?? oldest - 1n;
  const belowFinal = toBlock < finalBlock;
  if (belowFinal && !agreed) {
    // A depth in blocks is the operator's estimate; a tag is the chain's own word.
    const tag = finality === "safe" || finality === "finalized";
    throw new FinalityViolatedError(label, {
      chainId,
      block: toBlock + 1n,
      why: tag
        ? `which its tag "${finality}" had covered (up to block ${finalBlock})`
        : `which "finality": ${JSON.stringify(finality)} had covered (up to block ${finalBlock})`,
      canRollBack: !tag,
    });
  }
  return { toBlock, belowFinal };
};
