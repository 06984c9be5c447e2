/**
 * The newest batches of the log in memory, so that pipelines at the head of the chain need not read
 * back what was appended a moment ago.
 *
 * One store for all pipelines, bounded by facts and bytes. When it is full the oldest batches go,
 * even if a pipeline still wants them: it finds its place gone, reads the log, and comes back when it
 * has caught up. So a slow pipeline costs neither memory nor the others' time.
 */
import type { Fact, FactBatch } from "./fact.ts";
import { factBytes } from "./fact-size.ts";

/** What the feed holds at most. */
export type FeedBounds = { readonly maxFacts: number; readonly maxBytes: number };

/** The reader's and the pipelines' common store. */
export type Feed = {
  /** Next checkpoint after the newest batch; null while nothing was pushed. */
  readonly next: bigint | null;
  /**
   * Adds a batch that the log has committed. One that does not follow the newest replaces everything:
   * another process appended what is between.
   */
  push(batch: FactBatch): void;
  /** Calls back after every push, until `signal` aborts. */
  onPush(heard: () => void, signal: AbortSignal): void;
  /** A reader's place in the feed; batches that every place has passed are dropped. */
  open(): FeedPlace;
};

export type FeedPlace = {
  /**
   * One batch of the held facts from this checkpoint on, with the wanted names: at most `maxFacts`, unless
   * a single pushed batch has more. Null when the checkpoint is not held: older, or not pushed yet.
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
    // Until it says where it is, nothing is kept for it.
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
      for (const heard of listeners) heard();
    },
    onPush: (heard, signal) => {
      listeners.add(heard);
      signal.addEventListener("abort", () => listeners.delete(heard), { once: true });
    },
    open,
  };
};

/** Consecutive batches as one, cut to what is wanted. */
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
