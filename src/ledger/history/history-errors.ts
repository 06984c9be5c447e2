import type { Remedy } from "../../waiting/remedy.ts";
import { SourceError } from "../sources/source-errors.ts";
import type { LedgerIndex } from "./ledger-index.ts";

/** The node has no lists. Stop; name another node, or read every checkpoint. */
export class HistoryIndexMissingError extends Error {
  override readonly name = "HistoryIndexMissingError";
  readonly remedy: Remedy = "stop";

  constructor(node: string, answer: string, options?: ErrorOptions) {
    super(
      `${node} does not list transactions by what they touch (${answer}): it has no ledger history index. ` +
        "Name a node with one in INDEX_SOURCE; a log of every checkpoint (READING=full) needs none",
      options,
    );
  }
}

/**
 * The node's lists begin after the range asked for. Stop: that only ever moves forward; name a node
 * whose lists go further back.
 */
export class BelowIndexError extends Error {
  override readonly name = "BelowIndexError";
  readonly remedy: Remedy = "stop";

  constructor(node: string, first: bigint, answer: string, options?: ErrorOptions) {
    super(
      `${node}: its lists do not reach back to checkpoint ${first}: ${answer}. ` +
        "Name a node whose lists do (INDEX_SOURCE), or use READING=full",
      options,
    );
  }
}

/** Several requests in a row brought a list no further. Retried. */
export class IndexStuckError extends SourceError {
  override readonly name = "IndexStuckError";

  /** @param state how far the list is complete, null: not at all; requests since then */
  constructor(
    node: string,
    wanted: string,
    { covered, requests }: { readonly covered: bigint | null; readonly requests: number },
  ) {
    const state = covered === null ? "none of it is complete" : `complete through ${covered} only`;
    super(
      `${node}: ${wanted} made no progress over ${requests} requests: ${state}. ` +
        "If this persists, name another node (INDEX_SOURCE)",
    );
  }
}

/** INDEX_SOURCE or WITNESS_SOURCE is of another chain than the log. Stop; name another node. */
export class IndexOfOtherChainError extends Error {
  override readonly name = "IndexOfOtherChainError";
  readonly remedy: Remedy = "stop";

  constructor(node: string, its: string, due: string) {
    super(
      `${node} is of chain ${its}, and the log of chain ${due}: its lists and versions say nothing about this ledger. Name a node of the log's chain (INDEX_SOURCE, WITNESS_SOURCE)`,
    );
  }
}

/**
 * @param due chain of the log; null: unknown, and nothing is compared
 * @throws IndexOfOtherChainError (stop)
 */
export const checkChainOf = async (
  node: Pick<LedgerIndex, "description" | "chainId">,
  due: string | null,
  signal: AbortSignal,
): Promise<void> => {
  if (due === null) return;
  const its = await node.chainId(signal);
  if (its !== due) throw new IndexOfOtherChainError(node.description, its, due);
};
