import { HistoryIndexMissingError } from "../../ledger/history/history-errors.ts";
import type { LedgerIndex } from "../../ledger/history/ledger-index.ts";

type Listed = {
  readonly first: bigint;
  /** Newest checkpoint that the lists must reach. */
  readonly least?: bigint | undefined;
  /** Whether lists that begin after `first` are enough. */
  readonly isLaterEnough?: boolean | undefined;
};

/**
 * Checkpoints from `first` on that a node's lists name for an object, ascending.
 * @returns null: the node has no lists, or they do not reach `least`
 * @throws errors of the lists, among them BelowIndexError (stop)
 */
export const touchingFrom = async (
  index: LedgerIndex,
  address: string,
  { first, least = 0n, isLaterEnough = false }: Listed,
  signal: AbortSignal,
): Promise<readonly bigint[] | null> => {
  try {
    const { first: begin, last } = await index.covers(signal);
    if (last < least) return null;
    const range = { first: isLaterEnough && begin > first ? begin : first, last };
    const found: bigint[] = [];
    if (last < range.first) return found;
    for await (const sequence of index.touching([{ kind: "object", address }], range, signal)) {
      found.push(sequence);
    }
    return found.sort((a, b) => (a < b ? -1 : 1));
  } catch (error) {
    if (error instanceof HistoryIndexMissingError) return null;
    throw error;
  }
};
