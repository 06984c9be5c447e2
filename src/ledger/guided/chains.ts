/**
 * Chains of versions: what each object's known changes leave open.
 *
 * Every change of an object takes in the version that the change before it gave. Contiguous changes
 * are merged, so memory depends on objects and gaps, not on changes: some 500 bytes per object.
 */

export type Change = {
  readonly checkpoint: bigint;
  /** Null when the transaction created or unwrapped the object. */
  readonly before: bigint | null;
  /** Null when it deleted or wrapped the object. */
  readonly after: bigint | null;
};

export type Subject = {
  /** An object of the contract, a coin's metadata, or the right to upgrade the package. */
  readonly kind: "contract" | "metadata" | "upgrade cap";
  /** Canonical; null without one. */
  readonly coinType: string | null;
};

/** Contiguous changes, by their first and last. */
type Run = { first: Change; last: Change };

export type Chain = Subject & {
  readonly id: string;
  /** Ascending. */
  readonly runs: Run[];
};

/** A version that a change took in and no known change gave. */
export type Gap = {
  readonly chain: Chain;
  /** Null: the object was created twice, and its removal is missing. */
  readonly version: bigint | null;
  /** Checkpoint of the last known change before the gap; null without one. */
  readonly after: bigint | null;
  /** Checkpoint of the change that took the version in. */
  readonly before: bigint;
};

export type Chains = {
  readonly size: number;
  get(id: string): Chain | undefined;
  all(): Iterable<Chain>;
  /** Adds a change; false when it was known. */
  note(id: string, subject: Subject, change: Change): boolean;
  /** Chains with gaps. */
  readonly open: ReadonlySet<Chain>;
};

export const createChains = (): Chains => {
  const chains = new Map<string, Chain>();
  const open = new Set<Chain>();
  return {
    get size() {
      return chains.size;
    },
    get: (id) => chains.get(id),
    all: () => chains.values(),
    note: (id, subject, change) => {
      let chain = chains.get(id);
      if (chain === undefined) {
        chain = { id, ...subject, runs: [] };
        chains.set(id, chain);
      }
      if (!add(chain.runs, change)) return false;
      if (isWhole(chain)) open.delete(chain);
      else open.add(chain);
      return true;
    },
    open,
  };
};

const isWhole = ({ runs }: Chain): boolean =>
  runs.every(({ first }, at) => {
    const earlier = runs[at - 1];
    if (first.before !== null) return false;
    return earlier === undefined || earlier.last.after === null;
  });

/** The version that a change gave, or took away. */
const versionOf = ({ before, after }: Change): bigint => after ?? before ?? 0n;

/** Where a change belongs in its chain: a creation comes before the change that takes its version. */
const placeOf = (change: Change) => ({
  version: change.before ?? versionOf(change),
  isCreation: change.before === null,
});

/** Adds a change to ascending runs, merging those that it connects; false when it was known. */
const add = (runs: Run[], change: Change): boolean => {
  const { version: begin, isCreation } = placeOf(change);
  // Changes mostly come in chain order: search from the end.
  let at = runs.length;
  for (; at > 0; at -= 1) {
    const run = runs[at - 1];
    if (run === undefined) break;
    const place = placeOf(run.first);
    if (place.version === begin && place.isCreation === isCreation) return false;
    if (place.version < begin || (place.version === begin && place.isCreation)) break;
  }
  const [earlier, later] = [runs[at - 1], runs[at]];
  if (earlier !== undefined && !isCreation) {
    const { last } = earlier;
    const isInside = last.after === null ? begin <= versionOf(last) : begin < last.after;
    if (isInside) return false;
  }
  const follows = earlier !== undefined && !isCreation && earlier.last.after === begin;
  const leads = later !== undefined && change.after !== null && later.first.before === change.after;
  if (follows && leads) {
    earlier.last = later.last;
    runs.splice(at, 1);
  } else if (follows) earlier.last = change;
  else if (leads) later.first = change;
  else runs.splice(at, 0, { first: change, last: change });
  return true;
};

/** The gaps of a chain, ascending. */
export const gapsOf = (chain: Chain): readonly Gap[] =>
  chain.runs.flatMap(({ first }, at): readonly Gap[] => {
    const earlier = chain.runs[at - 1];
    const after = earlier?.last.checkpoint ?? null;
    if (first.before !== null) {
      return [{ chain, version: first.before, after, before: first.checkpoint }];
    }
    if (earlier === undefined || earlier.last.after === null) return [];
    return [{ chain, version: null, after, before: first.checkpoint }];
  });

/** An object's newest known version and the checkpoint that gave it; null when it is gone. */
export const headOf = ({
  runs,
}: Chain): { readonly version: bigint; readonly checkpoint: bigint } | null => {
  const last = runs.at(-1)?.last;
  if (last === undefined || last.after === null) return null;
  return { version: last.after, checkpoint: last.checkpoint };
};

/** The newest known version, also of an object that is gone. */
export const lastVersionOf = ({ runs }: Chain): bigint => {
  const last = runs.at(-1)?.last;
  return last === undefined ? 0n : versionOf(last);
};

/** The last checkpoint up to which a chain that lacks a change has all; null: it lacks its beginning. */
export const wholeUpTo = (chain: Chain): bigint | null => {
  const [gap] = gapsOf(chain);
  return gap === undefined ? (chain.runs.at(-1)?.last.checkpoint ?? null) : gap.after;
};
