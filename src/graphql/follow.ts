/**
 * One subscriber's way along a log: first page by page from where it begins, as fast as it takes them, then at
 * the end with all others. One that cannot keep up there goes back to pages of its own, so that what waits
 * for it is bounded, and nothing is left out.
 */
import { databaseRemedy } from "../database/database-error.ts";
import { NotYetIndexedError } from "../projections/past.ts";
import type { Backoff } from "../waiting/backoff.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { retrying } from "../waiting/retrying.ts";
import { createWaker } from "../waiting/waker.ts";
import { type AcrossLog, type EventLog, isBefore, type Live } from "./event-log.ts";
import type { LogTopics } from "./log-topics.ts";
import { PAGE_ROWS, type Placed, placed } from "./topic.ts";

/** Events that some subscriber wants of a coin type's, and how they are read. */
export type Chosen<Row, Place> = {
  wants(row: Row): boolean;
  readonly page: EventLog<Row, Place>["page"];
  /** The same of a few coin types; all that is wanted of them unless given. */
  readonly pageOf?: AcrossLog<Row, Place>["pageOf"];
};

export type Follower<Row, Place> = {
  readonly log: EventLog<Row, Place>;
  readonly topics: LogTopics<Row, Place>;
  /** Canonical, or `ALL_COINS`. */
  readonly coinType: string;
  /** It begins with the events behind this place; undefined: with the first. */
  readonly begin: Place | undefined;
  /** All events unless given. */
  readonly chosen?: Chosen<Row, Place> | undefined;
  /** Does the reading of a page when it is the subscriber's turn; resolves to how many rows it had. */
  readonly pace: Pace;
  /** Aborts when it is over. */
  readonly signal: AbortSignal;
};

/** Has a page read, and counts its rows for whoever asked. */
export type Pace = <Events extends { readonly length: number }>(
  read: () => Promise<Events>,
) => Promise<Events>;

/** Events that may wait for a subscriber at the end of the log. */
const MOST_WAITING = 1_000;

/** A database that does not answer is asked again. */
const AGAIN: Backoff = { firstMs: 500, maxMs: 5_000 };

/** What is not indexed yet may take hours: that is for the subscriber to decide. */
const remedy = (error: unknown): Remedy =>
  error instanceof NotYetIndexedError ? "stop" : databaseRemedy(error);

/**
 * The events, until `signal` aborts.
 * @throws NotYetIndexedError (wait) where the log cannot be read yet
 */
export async function* follow<Row, Place>(
  follower: Follower<Row, Place>,
): AsyncGenerator<Live<Row>, void, undefined> {
  const { log, topics, coinType, begin, chosen, pace, signal } = follower;
  const waker = createWaker();
  // Once: to listen at each wait would cost as much as the event that it waits for.
  signal.addEventListener("abort", waker.wake, { once: true });
  let waiting: Live<Row>[] = [];
  let place = begin;
  let leave: (() => void) | undefined;
  let failure: { readonly error: unknown } | undefined;

  const goBack = () => {
    leave?.();
    leave = undefined;
  };

  const join = () => {
    leave = topics.join(coinType, {
      get place() {
        return place;
      },
      take: (events) => {
        const end = events.at(-1)?.place;
        if (!isBefore(log, place, end)) return;
        const fresh = events.filter(
          (event) => isBefore(log, place, event.place) && (chosen?.wants(event.live.row) ?? true),
        );
        // It stays at its place: from there on it reads for itself.
        if (waiting.length + fresh.length > MOST_WAITING) return goBack();
        place = end;
        for (const { live } of fresh) waiting.push(live);
        waker.wake();
      },
      fail: (error) => {
        failure = { error };
        goBack();
        waker.wake();
      },
    });
  };

  /** Tries for as long as it takes; undefined once it is over. */
  const patiently = <Value>(read: () => Promise<Value>) =>
    retrying(read, { backoff: AGAIN, remedy }, signal);

  const readPage = (): Promise<readonly Placed<Row, Place>[]> =>
    chosen === undefined
      ? topics.page(coinType, place)
      : chosen.page(topics.from, coinType, place, PAGE_ROWS).then((rows) => placed(log, rows));

  /** One page more, or the end of the log. */
  const goOn = async (): Promise<void> => {
    // Of all events. Those chosen up to here are in a page that is read after it: the others need not be.
    const end =
      chosen === undefined
        ? topics.knownEnd(coinType)
        : await patiently(() => topics.readEnd(coinType));
    if (signal.aborted) return;
    if (end !== undefined && !isBefore(log, place, end)) return join();
    const events = await patiently(() => pace(readPage));
    if (events === undefined || signal.aborted) return;
    place = events.at(-1)?.place ?? place;
    waiting = events.map(({ live }) => live);
    if (events.length === PAGE_ROWS) return;
    if (chosen !== undefined && isBefore(log, place, end)) place = end;
    join();
  };

  try {
    while (!signal.aborted) {
      const mark = waker.mark();
      const ready = waiting;
      waiting = [];
      for (const live of ready) {
        yield live;
        if (signal.aborted) return;
      }
      if (ready.length > 0) continue;
      if (failure !== undefined) throw failure.error;
      if (leave === undefined) await goOn();
      else await waker.since(mark);
    }
  } finally {
    goBack();
  }
}
