import type { Remedy } from "../../waiting/remedy.ts";
import { SourceError } from "../sources/source-errors.ts";

/** The node has no lists. Stop; name another node, or read every checkpoint. */
export class HistoryIndexMissingError extends Error {
  override readonly name = "HistoryIndexMissingError";
  readonly remedy: Remedy = "stop";

  constructor(node: string, answer: string, options?: ErrorOptions) {
    super(
      `${node} does not list transactions by what they touch (${answer}): guided reading needs a node with the ledger history index. ` +
        "Name one in LEDGER_SOURCE or INDEX_SOURCE, or use READING=full to read every checkpoint",
      options,
    );
  }
}

/** The node's lists begin after the range asked for. Retried; name a node whose lists go further back. */
export class BelowIndexError extends SourceError {
  override readonly name = "BelowIndexError";

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
