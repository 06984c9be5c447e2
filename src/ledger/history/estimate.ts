/** Estimates how many checkpoints guided reading fetches, from samples of a node's lists. */
import { DeadlineError, withinDeadline } from "../../waiting/deadline.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import type { LedgerIndex, ListedRange, Touch } from "./ledger-index.ts";

export type Estimate = {
  /** Checkpoints with a match, about. */
  readonly checkpoints: bigint;
  /** Some of them, from all parts of the range. */
  readonly some: readonly bigint[];
};

/** Equal parts of the range that are sampled, and matches listed of each. */
const SAMPLE = { parts: 8n, matches: 100 };

/**
 * Lists the first matches of each part of the range; their density stands for the part's.
 *
 * @returns null when no part was sampled within `deadlineMs`
 */
export const estimateTouching = async (
  index: Pick<LedgerIndex, "touching">,
  what: readonly Touch[],
  { first, last }: ListedRange,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Estimate | null> => {
  using own = followingAbort(signal);
  const length = last - first + 1n;
  const parts = Array.from({ length: Number(SAMPLE.parts) }, (_, n) => ({
    first: first + (length * BigInt(n)) / SAMPLE.parts,
    last: first + (length * BigInt(n + 1)) / SAMPLE.parts - 1n,
  })).filter((part) => part.first <= part.last);
  const sampled = await Promise.all(
    parts.map((part) =>
      withinDeadline(sampleOf(index, what, part, own.signal), { ms: deadlineMs }).catch((error) => {
        if (error instanceof DeadlineError) return null;
        throw error;
      }),
    ),
  );
  const answers = sampled.filter((each) => each !== null);
  if (answers.length === 0) return null;
  const sum = answers.reduce((total, { checkpoints }) => total + checkpoints, 0n);
  return {
    checkpoints: (sum * BigInt(parts.length)) / BigInt(answers.length),
    some: answers.flatMap(({ some }) => some),
  };
};

const sampleOf = async (
  index: Pick<LedgerIndex, "touching">,
  what: readonly Touch[],
  part: ListedRange,
  signal: AbortSignal,
): Promise<Estimate> => {
  const found: bigint[] = [];
  for await (const checkpoint of index.touching(what, part, signal)) {
    found.push(checkpoint);
    if (found.length === SAMPLE.matches) break;
  }
  const [some] = found;
  const count = BigInt(found.length);
  const until = found.length < SAMPLE.matches ? part.last : (found.at(-1) ?? part.last);
  return {
    checkpoints: (count * (part.last - part.first + 1n)) / (until - part.first + 1n),
    some: some === undefined ? [] : [some],
  };
};
