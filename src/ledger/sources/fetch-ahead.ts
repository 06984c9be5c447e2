import { followingAbort } from "../../waiting/following-abort.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointRange } from "./source.ts";

/** Fetches one checkpoint, decompressed; null when it is not there (yet). Retries by itself. */
export type FetchCheckpoint = (
  sequence: bigint,
  signal: AbortSignal,
) => Promise<RawCheckpoint | null>;

/** What may be held ready for the consumer. One checkpoint is always allowed, whatever its size. */
export type WindowBounds = {
  /** Checkpoints fetched or being fetched ahead of the one delivered last. */
  readonly checkpoints: number;
  /** Bytes fetched, plus what those under way may be expected to bring. */
  readonly bytes: number;
};

export type FetchAhead = {
  readonly range: CheckpointRange;
  readonly fetch: FetchCheckpoint;
  /** Read anew before every start, so that it may move. */
  readonly concurrency: { readonly limit: number };
  readonly bounds: WindowBounds;
  /** How many to fetch at first; doubles with each delivery. At the tip most would not be there. */
  readonly startWith?: number;
};

/** Why fetching ahead ended: everything up to `next - 1` was delivered. */
export type FetchedUpTo = {
  readonly next: bigint;
  /** The highest later checkpoint that was there although `next` was not; null when none was seen. */
  readonly laterSeen: bigint | null;
};

type Slot = {
  readonly sequence: bigint;
  outcome: "under way" | "ready" | "absent" | "failed";
  raw: RawCheckpoint | null;
  error: unknown;
  readonly settled: Promise<void>;
};

/**
 * Fetches many checkpoints at once and delivers them in order, without gap or repetition.
 *
 * Ends after `range.last`, at the first checkpoint that is not there, or quietly when `signal`
 * aborts. An error is thrown only after every checkpoint before it was delivered.
 */
export async function* fetchAhead(
  { range, fetch, concurrency, bounds, startWith = bounds.checkpoints }: FetchAhead,
  signal: AbortSignal,
): AsyncGenerator<RawCheckpoint, FetchedUpTo, undefined> {
  using own = followingAbort(signal);
  const slots: Slot[] = [];
  let nextToStart = range.first;
  /** Nothing from here on is started: something there was absent or failed. */
  let closedFrom = range.last === undefined ? null : range.last + 1n;
  let underWay = 0;
  let heldBytes = 0;
  /** Moving average size, bytes: what a fetch under way may be expected to bring. */
  let expectedBytes = 0;
  const most = Math.min(bounds.checkpoints, range.atOnce ?? bounds.checkpoints);
  let ahead = Math.max(1, startWith);

  const closeFrom = (sequence: bigint) => {
    if (closedFrom === null || sequence < closedFrom) closedFrom = sequence;
  };

  const mayStart = () =>
    (closedFrom === null || nextToStart < closedFrom) &&
    (slots.length === 0 ||
      (underWay < concurrency.limit &&
        slots.length < Math.min(ahead, most) &&
        heldBytes + (underWay + 1) * expectedBytes < bounds.bytes));

  const start = (sequence: bigint) => {
    const done = Promise.withResolvers<void>();
    const slot: Slot = {
      sequence,
      outcome: "under way",
      raw: null,
      error: null,
      settled: done.promise,
    };
    slots.push(slot);
    underWay += 1;
    fetch(sequence, own.signal)
      .then(
        (raw) => {
          slot.raw = raw;
          slot.outcome = raw === null ? "absent" : "ready";
          if (raw === null) return closeFrom(sequence);
          const size = raw.bytes.byteLength;
          heldBytes += size;
          expectedBytes += (size - expectedBytes) * (expectedBytes === 0 ? 1 : 0.1);
        },
        (error: unknown) => {
          slot.outcome = "failed";
          slot.error = error;
          closeFrom(sequence);
        },
      )
      .finally(() => {
        underWay -= 1;
        // The consumer may be busy: keep fetching up to the bounds meanwhile.
        fill();
        done.resolve();
      });
  };

  const fill = () => {
    while (!own.signal.aborted && mayStart()) {
      start(nextToStart);
      nextToStart += 1n;
    }
  };

  fill();
  for (let head = slots[0]; head !== undefined; head = slots[0]) {
    await head.settled;
    if (signal.aborted) break;
    if (head.outcome === "failed") throw head.error;
    if (head.raw === null) return { next: head.sequence, laterSeen: highestReady(slots) };
    slots.shift();
    heldBytes -= head.raw.bytes.byteLength;
    ahead = Math.min(ahead * 2, most);
    fill();
    yield head.raw;
    if (signal.aborted) return { next: head.sequence + 1n, laterSeen: null };
  }
  return { next: slots[0]?.sequence ?? nextToStart, laterSeen: null };
}

const highestReady = (slots: readonly Slot[]): bigint | null =>
  slots.findLast(({ outcome }) => outcome === "ready")?.sequence ?? null;
