import { followingAbort } from "../../waiting/following-abort.ts";
import type { CheckpointRange } from "./source.ts";

/** A checkpoint, perhaps compressed. */
type Fetched = { readonly bytes: Uint8Array };

/** Fetches a checkpoint with its own retries; null when not there (yet). */
type FetchCheckpoint<Raw> = (sequence: bigint, signal: AbortSignal) => Promise<Raw | null>;

/** Limits of what is fetched ahead; one checkpoint is always allowed. */
export type WindowBounds = {
  /** Checkpoints fetched or in flight. */
  readonly checkpoints: number;
  /** Bytes fetched, plus the expected ones in flight. */
  readonly bytes: number;
};

type FetchAhead<Raw> = {
  readonly range: CheckpointRange;
  readonly fetch: FetchCheckpoint<Raw>;
  /** Read before every start, as it changes. */
  readonly concurrency: { readonly limit: number };
  readonly bounds: WindowBounds;
  /** Initial number; doubles per delivery, because at the tip most would be missing. */
  readonly startWith?: number;
};

/** Everything up to `next - 1` was delivered. */
type FetchedUpTo = {
  readonly next: bigint;
  /** Highest later checkpoint that was there; null without one. */
  readonly laterSeen: bigint | null;
};

type Slot<Raw> = {
  readonly sequence: bigint;
  outcome: "under way" | "ready" | "absent" | "failed";
  raw: Raw | null;
  error: unknown;
  readonly settled: Promise<void>;
};

/**
 * Fetches concurrently and delivers in order without gap or repetition.
 *
 * Ends after `range.last`, at the first missing checkpoint, or when `signal` aborts. Throws an
 * error only after delivering everything before it.
 */
export async function* fetchAhead<Raw extends Fetched>(
  { range, fetch, concurrency, bounds, startWith = bounds.checkpoints }: FetchAhead<Raw>,
  signal: AbortSignal,
): AsyncGenerator<Raw, FetchedUpTo, undefined> {
  using own = followingAbort(signal);
  const slots: Slot<Raw>[] = [];
  let nextToStart = range.first;
  /** First number not to be started: one before was missing or failed. */
  let closedFrom = range.last === undefined ? null : range.last + 1n;
  let underWay = 0;
  let heldBytes = 0;
  /** Moving average of a checkpoint's size, bytes. */
  let expectedBytes = 0;
  const most = Math.min(bounds.checkpoints, range.maxConcurrent ?? bounds.checkpoints);
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
    const slot: Slot<Raw> = {
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
        // Keeps fetching while the consumer is busy.
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

const highestReady = (slots: readonly Slot<Fetched>[]): bigint | null =>
  slots.findLast(({ outcome }) => outcome === "ready")?.sequence ?? null;

/**
 * Fetches ahead, and polls for the next checkpoint wherever it is not there yet. Ends after
 * `range.last`, or without an error when `signal` aborts.
 * @param waitFor polls for a checkpoint, given a later one that was seen; null on abort
 */
export async function* fetchAndPoll<Raw extends Fetched>(
  ahead: FetchAhead<Raw>,
  waitFor: (sequence: bigint, laterSeen: bigint | null) => Promise<Raw | null>,
  signal: AbortSignal,
): AsyncGenerator<Raw, void, undefined> {
  const { first, last } = ahead.range;
  try {
    for (let next = first; last === undefined || next <= last; next += 1n) {
      const range = { ...ahead.range, first: next };
      const reached = yield* fetchAhead({ ...ahead, range }, signal);
      next = reached.next;
      if (signal.aborted || (last !== undefined && next > last)) return;
      const raw = await waitFor(next, reached.laterSeen);
      if (raw === null) return;
      yield raw;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
