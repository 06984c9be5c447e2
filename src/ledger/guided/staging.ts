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

/** Staged together. */
const TOGETHER = { excerpts: 100, bytes: 4 * 1024 * 1024 };

/** Excerpts on their way into the staging, some at a time. */
export type Excerpts = {
  add(checkpoint: bigint, excerpt: Uint8Array): Promise<void>;
  /** Stages what was added. */
  flush(): Promise<void>;
  /** Removes those after a checkpoint. */
  dropAfter(checkpoint: bigint): Promise<void>;
};

export const gatherExcerpts = (staging: Staging): Excerpts => {
  /** Each once: the end of an epoch may be fetched twice. */
  let gathered = new Map<bigint, FoundExcerpt>();
  let bytes = 0;
  const flush = async () => {
    const some = [...gathered.values()];
    gathered = new Map();
    bytes = 0;
    if (some.length > 0) await staging.add(some);
  };
  return {
    add: async (checkpoint, excerpt) => {
      gathered.set(checkpoint, { checkpoint, excerpt });
      bytes += excerpt.byteLength;
      if (gathered.size >= TOGETHER.excerpts || bytes >= TOGETHER.bytes) await flush();
    },
    flush,
    dropAfter: async (checkpoint) => {
      await flush();
      await staging.dropAfter(checkpoint);
    },
  };
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
