/**
 * One subscriber's way along a log: page by page from where it begins, then with all others at the end. A
 * subscriber that cannot keep up there reads pages again, so that the events that wait for it are bounded and
 * none is left out.
 */
import { databaseRemedy } from "../../database/database-error.ts";
import type { Admission } from "../../http/edge/admission.ts";
import type { Gate } from "../../http/edge/gate.ts";
import { HttpError } from "../../http/http-error.ts";
import { NotYetIndexedError } from "../../projections/past.ts";
import type { Backoff } from "../../waiting/backoff.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { retryAfterMs } from "../../waiting/retry-after.ts";
import { retrying } from "../../waiting/retrying.ts";
import { createStates } from "../../waiting/states.ts";
import { createWaker } from "../../waiting/waker.ts";
import { createMissing, type MissingPlaces } from "./missing.ts";
import {
  type AcrossLog,
  type EventLog,
  isBefore,
  PAGE_ROWS,
  type Page,
  type Topics,
  withheldBy,
} from "./topic.ts";
import type { Hold, Live } from "./watcher.ts";

/** The events that a subscriber wants of a coin type's, and how they are read. */
export type EventFilter<Row, Place> = {
  wants(row: Row): boolean;
  readonly page: EventLog<Row, Place>["page"];
  /** The same events of a few coin types; all their events unless given. */
  readonly pageOf?: AcrossLog<Row, Place>["pageOf"];
};

export type CatchUp<Row, Place> = {
  readonly log: EventLog<Row, Place>;
  readonly topics: Topics<Row, Place>;
  /** Canonical, or `ALL_COINS`. */
  readonly coinType: string;
  /** The events behind this place come; undefined: all. */
  readonly begin: Place | undefined;
  /** All events unless given. */
  readonly filter?: EventFilter<Row, Place> | undefined;
  /** Wanted events of a few coin types; undefined where only one is followed. */
  readonly pageOf?: AcrossLog<Row, Place>["pageOf"] | undefined;
  readonly wantsCoin: (coinType: string) => boolean;
  /** What is missing of held coins where it begins. */
  readonly missing: MissingPlaces<Place>;
  readonly pace: Pace;
  /** Aborts when the subscription is over. */
  readonly signal: AbortSignal;
};

/** Reads a page when it is the subscriber's turn, and counts its rows for the subscriber's key. */
export type Pace = <Events extends { readonly length: number }>(
  read: () => Promise<Events>,
) => Promise<Events>;

/** Events that may wait for a subscriber at the end of the log. */
const MAX_WAITING = 1_000;

/** Pauses before a page is read again while the database does not answer. */
const PAGE_RETRIES: Backoff = { firstMs: 500, maxMs: 5_000 };

/** Filling in tables may take hours: the subscriber decides whether to wait. */
const remedy = (error: unknown): Remedy =>
  error instanceof NotYetIndexedError ? "stop" : databaseRemedy(error);

/**
 * States of a subscriber:
 *
 *     behind ──► live ──► failed
 *        ▲        │
 *        └────────┘  more than MAX_WAITING events wait
 *
 * - behind: reads pages of its own. The last page, or the known end of the log, makes it live.
 * - live: a member of the topic, which hands it each event.
 * - failed: the topic cannot be read; waiting events are delivered, then the error is thrown.
 *
 * The signal, or a consumer that stops, ends it in any state.
 */
const TRANSITIONS = { behind: ["live"], live: ["behind", "failed"], failed: [] } as const;

/**
 * The events, until `signal` aborts. A coin that is held is told once; its events come in their order after its release,
 * before any other event.
 * @throws NotYetIndexedError (wait) where the log cannot be read yet
 */
export async function* catchUp<Row extends { readonly coinType: string }, Place>({
  log,
  topics,
  coinType,
  begin,
  filter,
  pageOf,
  wantsCoin,
  missing: known,
  pace,
  signal,
}: CatchUp<Row, Place>): AsyncGenerator<Live<Row> | Hold, void, undefined> {
  const states = createStates("behind", TRANSITIONS);
  const waker = createWaker();
  // One listener: listening at each wait would cost as much as the event that it waits for.
  signal.addEventListener("abort", waker.wake, { once: true });
  let waiting: (Live<Row> | Hold)[] = [];
  let place = begin;
  let hasRead = false;
  const isAcross = pageOf !== undefined;
  const missing = createMissing({ log, isAcross, wants: wantsCoin, known });
  let failure: unknown;
  let leaveTopic: () => void = () => undefined;

  const leave = (next: "behind" | "failed") => {
    leaveTopic();
    states.enter(next);
  };

  const take = ({ events, held }: Page<Row, Place>) => {
    const end = events.at(-1)?.place;
    const isWithheld = withheldBy(log, held);
    const fresh = events.filter(
      (event) =>
        isBefore(log, place, event.place) &&
        (filter?.wants(event.live.row) ?? true) &&
        !isWithheld(event),
    );
    // It keeps its place and reads pages from there.
    if (missing.released(held, place) || waiting.length + fresh.length > MAX_WAITING) {
      leave("behind");
      return waker.wake();
    }
    if (isBefore(log, place, end)) place = end;
    // First, so that places name them from here on.
    const holds = missing.begin(held, place, events.length < PAGE_ROWS);
    for (const event of fresh) waiting.push(missing.named(event));
    waiting.push(...holds);
    if (waiting.length > 0) waker.wake();
  };

  const goLive = () => {
    states.enter("live");
    leaveTopic = topics.join(coinType, {
      get place() {
        return place;
      },
      take,
      fail: (error) => {
        failure = error;
        leave("failed");
        waker.wake();
      },
    });
  };

  /** Retries for as long as it takes; undefined when the subscription is over. */
  const patiently = <Value>(read: () => Promise<Value>) =>
    retrying(read, { backoff: PAGE_RETRIES, remedy }, signal);

  const readPage = (): Promise<Page<Row, Place>> =>
    filter === undefined
      ? topics.page(coinType, place)
      : topics.read(coinType, (from) => filter.page(from, coinType, place, PAGE_ROWS));

  /** Reads when it is the subscriber's turn; undefined when the subscription is over. */
  const readPaced = async (read: () => Promise<Page<Row, Place>>) => {
    let page: Page<Row, Place> | undefined;
    await patiently(() =>
      pace(async () => {
        page = await read();
        return page.events;
      }),
    );
    return signal.aborted ? undefined : page;
  };

  /** Reads more of what was missing of a released coin, up to where the subscriber is. */
  const readLate = async (late: string, after: Place, upTo: Place): Promise<void> => {
    const range = { coinTypes: [late], after, limit: PAGE_ROWS };
    const page = await readPaced(() =>
      topics.read(late, async (from) => (await pageOf?.(from, range)) ?? []),
    );
    if (page === undefined) return;
    const { events, held } = page;
    const own = events.filter((event) => !isBefore(log, upTo, event.place));
    waiting = own.map((event) => missing.lateEvent(late, event, upTo));
    const isHeld = held.some((coin) => coin.coinType === late);
    if (isHeld || own.length < PAGE_ROWS) missing.lateDone(late, isHeld);
  };

  /** Reads one more page, or goes live. */
  const advance = async (): Promise<void> => {
    const late = missing.late();
    if (late !== undefined && place !== undefined) return readLate(...late, place);
    // The end of all events. Wanted events up to it are in the page read after it, so none need be read again.
    const known = topics.known(coinType);
    const end = filter === undefined ? known.end : await patiently(() => topics.readEnd(coinType));
    if (signal.aborted) return;
    if (end !== undefined && !isBefore(log, place, end) && missing.isNone) {
      goLive();
      // A page of its own is newer than what the topic knows.
      if (!hasRead) take({ events: [], held: known.held });
      return;
    }
    const page = await readPaced(readPage);
    if (page === undefined) return;
    hasRead = true;
    const { events, held } = page;
    if (missing.released(held, place)) return;
    const isEnd = events.length < PAGE_ROWS;
    place = events.at(-1)?.place ?? place;
    // Events of an incomplete coin are behind the end of its page.
    const isWhole = !held.some((coin) => coin.coinType === coinType);
    if (filter !== undefined && isEnd && isWhole && isBefore(log, place, end)) place = end;
    const holds = missing.begin(held, place, isEnd);
    const isWithheld = withheldBy(log, held);
    const shown = events.filter((event) => !isWithheld(event));
    waiting = [...shown.map(missing.named), ...holds];
    if (isEnd) goLive();
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
      if (states.current() === "failed") throw failure;
      if (states.current() === "behind") await advance();
      else await waker.since(mark);
    }
  } finally {
    leaveTopic();
  }
}

/** What a page costs its subscriber. */
export type PageCost = {
  /** What a page of so many events counts against the rate limit of its key. */
  requestsFor(rows: number): number;
  /** What reading a page weighs while it is under way. */
  readonly pageWeight: number;
};

type PacedBy<Key> = {
  readonly key: Key;
  readonly gate: Pick<Gate<Key>, "count">;
  readonly admission: Admission;
  readonly subscription: PageCost;
  /** Aborts when the subscription is over. */
  readonly signal: AbortSignal;
};

/** Pauses before a page is tried again while its key, or the process, has no room for it. */
const TURN_RETRIES: Backoff = { firstMs: 250, maxMs: 5_000 };

/** Pages count as the queries for them would, and wait instead of failing. */
export const pacedBy = <Key extends { readonly id: string }>(paced: PacedBy<Key>): Pace => {
  const { key, gate, admission, subscription, signal } = paced;
  /** Requests for which the last page counts, not counted yet. */
  let owed = 0;

  const whenThereIsRoom = <Value>(attempt: () => Promise<Value>) =>
    retrying(
      attempt,
      {
        backoff: TURN_RETRIES,
        remedy: (error) => (isForLater(error) ? "retry" : "stop"),
        leastMs: (error) =>
          error instanceof HttpError ? (retryAfterMs(error.headers["retry-after"]) ?? 0) : 0,
      },
      signal,
    );

  return async (read) => {
    await whenThereIsRoom(async () => {
      if (owed > 0) gate.count(key, owed);
      owed = 0;
    });
    const slot = await whenThereIsRoom(async () =>
      admission.enter(key.id, subscription.pageWeight, signal),
    );
    if (slot === undefined) throw signal.reason;
    try {
      const events = await read();
      owed = subscription.requestsFor(events.length);
      return events;
    } finally {
      slot.made();
      slot.left();
    }
  };
};

const isForLater = (error: unknown): boolean =>
  error instanceof HttpError && (error.statusCode === 429 || error.statusCode === 503);
