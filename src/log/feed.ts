/**
 * The newest batches in memory, for pipelines at the chain's tip.
 *
 * One bounded store for all pipelines. When full it drops the oldest batches, wanted or not; a slow
 * pipeline then reads the log until it has caught up.
 */
import { type Fact, type FactBatch, factBytes } from "./fact.ts";

type FeedBounds = { readonly maxFacts: number; readonly maxBytes: number };

export type Feed = {
  /** Next checkpoint after the newest batch; null before the first. */
  readonly next: bigint | null;
  /** Adds a committed batch; replaces all if another process appended in between. */
  push(batch: FactBatch): void;
  /** Calls `onBatch` after every push, until `signal` aborts. */
  onPush(onBatch: () => void, signal: AbortSignal): void;
  /** Opens a cursor; batches that every cursor has passed are dropped. */
  open(): FeedPlace;
};

export type FeedPlace = {
  /**
   * Facts with the wanted names from this checkpoint on, as one batch: at most `maxFacts`, unless a
   * single pushed batch has more. Null when the checkpoint is not held.
   */
  take(from: bigint, wanted: ReadonlySet<string>, maxFacts: number): FactBatch | null;
  close(): void;
};

type Held = { readonly batch: FactBatch; readonly bytes: number };

export const createFeed = ({ maxFacts, maxBytes }: FeedBounds): Feed => {
  let held: Held[] = [];
  let facts = 0;
  let bytes = 0;
  let next: bigint | null = null;
  const listeners = new Set<() => void>();
  const places = new Map<FeedPlace, bigint>();

  const dropOldest = () => {
    const oldest = held.shift();
    facts -= oldest?.batch.facts.length ?? 0;
    bytes -= oldest?.bytes ?? 0;
  };
  const dropPassed = () => {
    for (;;) {
      const oldest = held[0]?.batch.last.sequence;
      if (oldest === undefined) return;
      for (const from of places.values()) if (from <= oldest) return;
      dropOldest();
    }
  };

  const open = (): FeedPlace => {
    const place: FeedPlace = {
      take: (from, wanted, limit) => {
        places.set(place, from);
        dropPassed();
        const start = held.findIndex(
          ({ batch }) => batch.first <= from && from <= batch.last.sequence,
        );
        return start < 0 ? null : joined(held.slice(start), from, wanted, limit);
      },
      close: () => {
        places.delete(place);
        dropPassed();
      },
    };
    // Holds no batches until its first `take`.
    return place;
  };

  return {
    get next() {
      return next;
    },
    push: (batch) => {
      if (next !== batch.first) {
        held = [];
        facts = 0;
        bytes = 0;
      }
      const size = batch.facts.reduce((sum, fact) => sum + factBytes(fact), 0);
      held.push({ batch, bytes: size });
      facts += batch.facts.length;
      bytes += size;
      next = batch.last.sequence + 1n;
      while (held.length > 0 && (facts > maxFacts || bytes > maxBytes)) dropOldest();
      dropPassed();
      for (const onBatch of listeners) onBatch();
    },
    onPush: (onBatch, signal) => {
      listeners.add(onBatch);
      signal.addEventListener("abort", () => listeners.delete(onBatch), { once: true });
    },
    open,
  };
};

/** Joins consecutive batches, filtered. */
const joined = (
  held: readonly Held[],
  from: bigint,
  wanted: ReadonlySet<string>,
  maxFacts: number,
): FactBatch | null => {
  const facts: Fact[] = [];
  let last: FactBatch["last"] | null = null;
  for (const { batch } of held) {
    const chosen = batch.facts.filter((fact) => fact.checkpoint >= from && wanted.has(fact.name));
    if (last !== null && facts.length + chosen.length > maxFacts) break;
    for (const fact of chosen) facts.push(fact);
    last = batch.last;
  }
  return last === null ? null : { first: from, last, facts };
};
