/** Excerpts of found checkpoints, until they are appended: a restart finds them again. */

export type FoundExcerpt = {
  readonly checkpoint: bigint;
  /** `proof/excerpt.ts`: the transactions with facts. Verified before it is staged. */
  readonly excerpt: Uint8Array;
};

export type Staging = {
  /** Adds, or replaces those of the same checkpoints. */
  add(found: readonly FoundExcerpt[]): Promise<void>;
  /** Up to `limit` excerpts after a checkpoint, ascending. */
  after(checkpoint: bigint, limit: number): Promise<readonly FoundExcerpt[]>;
  /** Removes those after a checkpoint, which must be read again. */
  dropAfter(checkpoint: bigint): Promise<void>;
};

/** For tests, and for commands that keep nothing. */
export const memoryStaging = (): Staging => {
  const excerpts = new Map<bigint, Uint8Array>();
  return {
    add: async (found) => {
      for (const { checkpoint, excerpt } of found) excerpts.set(checkpoint, excerpt);
    },
    after: async (after, limit) =>
      [...excerpts]
        .filter(([checkpoint]) => checkpoint > after)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, limit)
        .map(([checkpoint, excerpt]) => ({ checkpoint, excerpt })),
    dropAfter: async (after) => {
      for (const checkpoint of excerpts.keys()) if (checkpoint > after) excerpts.delete(checkpoint);
    },
  };
};

const PAGE = 500;

/** All excerpts after a checkpoint, ascending. */
export async function* stagedAfter(
  staging: Pick<Staging, "after">,
  checkpoint: bigint,
): AsyncGenerator<FoundExcerpt> {
  for (let from = checkpoint; ; ) {
    const page = await staging.after(from, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    from = last.checkpoint;
  }
}
