/**
 * Logs of events by coin type as subscriptions follow them, and the topic at the end of each coin type's log: all
 * who have come to the end wait there, and a change is read once for all of them.
 */
import type { PgTable } from "drizzle-orm/pg-core";
import {
  type AcrossRange,
  type AcrossStatements,
  newestAcross,
} from "../../projections/across-coins.ts";
import { endStatements, grownBeyond, newestPosition } from "../../projections/beyond.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { type HeldIn, NO_COIN } from "../../projections/held-coins.ts";
import { COMPLETENESS } from "../../projections/incomplete-coins.ts";
import { NotYetIndexedError } from "../../projections/past.ts";
import { followPosition } from "../../projections/position.ts";
import type { ProgressTables } from "../../projections/progress-tables.ts";
import { createStates } from "../../waiting/states.ts";
import { Live, type LogReads, type Watcher } from "./watcher.ts";

/**
 * A log of events by coin type: written once, in the order of their places, never before a place that was
 * readable already.
 */
export type EventLog<Row, Place> = {
  /** Pipelines that write it: it changes only when one of them commits. */
  readonly pipelines: readonly ProgressTables[];
  /** Events behind a place, in order; without one from the beginning. */
  page(
    from: LogReads,
    coinType: string,
    after: Place | undefined,
    limit: number,
  ): Promise<readonly Row[]>;
  /** Place of the last event; undefined while there is none. */
  newest(from: LogReads, coinType: string): Promise<Place | undefined>;
  /** The coin types among these that may have events behind what was read. */
  grown(from: LogReads, ends: readonly End<Place>[]): Promise<ReadonlySet<string>>;
  placeOf(row: Row): Place;
  /** Below 0 when the first comes first. */
  compare(one: Place, other: Place): number;
  /** The place in the form of `after`. */
  show(place: Place): string;
  /** The place behind all events of a checkpoint. */
  behind(checkpoint: bigint): Place;
};

/**
 * The same log across coin types: one topic named `ALL_COINS` for all of them, in chain order, and pages of a few
 * coin types.
 */
export type AcrossLog<Row, Place> = EventLog<Row, Place> & {
  pageOf(
    from: LogReads,
    range: {
      readonly coinTypes: readonly string[];
      readonly after: Place | undefined;
      readonly limit: number;
    },
  ): Promise<readonly Row[]>;
};

/** Stands for a coin type; no coin type is empty. */
export const ALL_COINS = "";

/** How far a coin type's log was read. */
type End<Place> = { readonly coinType: string; readonly after: Place | undefined };

/** Whether a place lies before another one; undefined is before all. */
export const isBefore = <Place>(
  { compare }: Pick<EventLog<never, Place>, "compare">,
  one: Place | undefined,
  other: Place | undefined,
): boolean => other !== undefined && (one === undefined || compare(one, other) < 0);

/** The log of a table with one event at a position. */
export const logByPosition = <Row extends { readonly position: bigint }>(
  pipelines: readonly ProgressTables[],
  table: PgTable,
  page: EventLog<Row, bigint>["page"],
): EventLog<Row, bigint> => {
  const statements = endStatements([table]);
  return {
    pipelines,
    page,
    newest: ({ reads }, coinType) => newestPosition(reads, statements, coinType),
    grown: ({ reads }, ends) =>
      grownBeyond(
        reads,
        statements,
        ends.map(({ coinType, after }) => ({ coinType, position: after })),
      ),
    ...BY_POSITION,
  };
};

/** The log of a table with one event at a position, across coin types. */
export const acrossByPosition = <Row extends { readonly position: bigint }>(
  pipelines: readonly ProgressTables[],
  statements: AcrossStatements,
  page: (from: LogReads, range: AcrossRange) => Promise<readonly Row[]>,
): AcrossLog<Row, bigint> => ({
  pipelines,
  page: (from, _all, after, limit) => page(from, { after, limit }),
  pageOf: page,
  newest: ({ reads }) => newestAcross(reads, statements),
  ...OF_ONE_TOPIC,
  ...BY_POSITION,
});

/** Across coin types there is one topic, which may always have grown. */
export const OF_ONE_TOPIC = { grown: async () => new Set([ALL_COINS]) };

const BY_POSITION = {
  placeOf: ({ position }: { readonly position: bigint }) => position,
  compare: (one: bigint, other: bigint) => (one < other ? -1 : Number(one > other)),
  show: String,
  behind: followPosition,
};

/** Rows of a page. */
export const PAGE_ROWS = 500;

/** An event with its place. */
export type Placed<Row, Place> = { readonly place: Place; readonly live: Live<Row> };

export const placed = <Row, Place>(
  { placeOf, show }: Pick<EventLog<Row, Place>, "placeOf" | "show">,
  rows: readonly Row[],
): readonly Placed<Row, Place>[] =>
  rows.map((row) => {
    const place = placeOf(row);
    return { place, live: new Live(row, show(place)) };
  });

type OfCoin = { readonly coinType: string };

/**
 * Whether an event has to wait for a release: of an incomplete coin, unlike other held ones, the tables have the events
 * behind the hold.
 */
export const withheldBy = <Place>(
  log: Pick<EventLog<never, Place>, "behind" | "compare">,
  held: readonly HeldIn[],
): ((event: Placed<OfCoin, Place>) => boolean) => {
  const incomplete = held.filter(({ pipeline }) => pipeline === COMPLETENESS);
  const behind = new Map(
    incomplete.map(({ coinType, from }) => [coinType, log.behind(from - 1n)] as const),
  );
  return ({ place, live }) => {
    const last = behind.get(live.row.coinType);
    return last !== undefined && isBefore(log, last, place);
  };
};

/** Events, and the coins that were held when they were read: events of these come after their release. */
export type Page<Row, Place> = {
  readonly events: readonly Placed<Row, Place>[];
  readonly held: readonly HeldIn[];
};

/** A subscriber at the end of the log. */
type Member<Row, Place> = {
  /** Up to where it has all that it wants; undefined: nothing yet. */
  readonly place: Place | undefined;
  /** Takes events in order; it skips those up to its place. */
  take(page: Page<Row, Place>): void;
  /** The log cannot be read for an unknown time. */
  fail(error: unknown): void;
};

/**
 * States of a topic:
 *
 *     settled ──► due ──► reading ──► settled
 *        ▲         │ ▲     │   │
 *        └─────────┘ └─────┘   ▼
 *     not grown       ▲     reading on ──► due
 *                     └─ the page was full, or reading failed
 *
 * - settled: it was read to the end, as far as is known.
 * - due: its log may have grown, or a member joined behind the head.
 * - reading: a page is being read for the members.
 * - reading on: a page is being read, and it has become due meanwhile.
 */
const TRANSITIONS = {
  settled: ["due"],
  due: ["settled", "reading"],
  reading: ["settled", "due", "reading on"],
  "reading on": ["due"],
} as const;

const createTopic = <Row, Place>(
  log: EventLog<Row, Place>,
  coinType: string,
  pageAfter: (after: Place | undefined) => Promise<Page<Row, Place>>,
) => {
  const members = new Set<Member<Row, Place>>();
  // The log may have grown since the first member looked.
  const states = createStates("due", TRANSITIONS);
  let head: Place | undefined;
  let held: readonly HeldIn[] = [];

  const earlier = (one: Place | undefined, other: Place | undefined) =>
    isBefore(log, one, other) ? one : other;

  const isAnyBehind = () => members.values().some(({ place }) => isBefore(log, place, head));

  const setDue = () => {
    if (states.current() === "settled") states.enter("due");
    else if (states.current() === "reading") states.enter("reading on");
  };

  /** Reads one page for the members; returns whether there may be more. */
  const readPage = async (): Promise<boolean> => {
    // A member that joins meanwhile may stand before this page, and would miss what lies between.
    const present = [...members];
    const after = present.map(({ place }) => place).reduce(earlier);
    const page = await pageAfter(after);
    const { events } = page;
    ({ held } = page);
    for (const member of present) if (members.has(member)) member.take(page);
    const end = events.at(-1)?.place ?? after;
    // A page that is not full has the end of the log, which a rebuild may have moved back.
    if (events.length < PAGE_ROWS || isBefore(log, head, end)) head = end;
    return events.length === PAGE_ROWS || isAnyBehind();
  };

  return {
    coinType,
    /** How far it was read; undefined: not yet, or the log is empty. */
    get head() {
      return head;
    },
    get isDue() {
      return states.current() === "due";
    },
    /** The coins that were held when it was read last. */
    get held() {
      return held;
    },
    get members() {
      return members.size;
    },
    setDue,
    /** The log has not grown after all; a member that joined behind the head keeps the topic due. */
    settle: () => {
      if (!isAnyBehind()) states.enter("settled");
    },
    /** Waits at the end; returns what ends that. */
    join: (member: Member<Row, Place>) => {
      members.add(member);
      if (isBefore(log, member.place, head)) setDue();
      return () => members.delete(member);
    },
    /** Reads for its members to the end. @throws what reading throws; it is then still due */
    read: async (): Promise<void> => {
      while (states.current() === "due" && members.size > 0) {
        states.enter("reading");
        let hasMore = true;
        try {
          hasMore = await readPage();
        } finally {
          states.enter(hasMore || states.current() === "reading on" ? "due" : "settled");
        }
      }
    },
    fail: (error: unknown) => {
      for (const member of [...members]) member.fail(error);
    },
  };
};

type Topic<Row, Place> = ReturnType<typeof createTopic<Row, Place>>;

/** The topics of one log: one for each coin type that is followed. */
export type Topics<Row, Place> = {
  /**
   * Reads events of one coin, up to where it is incomplete, or of `ALL_COINS`; refused while a pipeline of the log is
   * rebuilt.
   */
  read(
    coinType: string,
    rows: (from: LogReads) => Promise<readonly Row[]>,
  ): Promise<Page<Row, Place>>;
  /** End of a coin type's log as its topic knows it, else as read; undefined while it is empty. */
  end(coinType: string): Promise<Place | undefined>;
  /** The end as read now: while the log is rebuilt it lies before what the topic knows. */
  readEnd(coinType: string): Promise<Place | undefined>;
  /** The end as the topic knows it, and the coins held then. */
  known(coinType: string): { readonly end: Place | undefined; readonly held: readonly HeldIn[] };
  /** A page of events; concurrent requests for the same page share it. */
  page(coinType: string, after: Place | undefined): Promise<Page<Row, Place>>;
  /** Waits at the end of a coin type's log; returns what ends that. */
  join(coinType: string, member: Member<Row, Place>): () => void;
};

/** Makes the topics of a log, which the watcher then watches. */
export const createTopics = <Row extends OfCoin, Place>(
  log: EventLog<Row, Place>,
  watcher: Watcher,
): Topics<Row, Place> => {
  const { packages } = watcher;
  const reads = guardedReads(watcher.reads, log.pipelines);
  // Ends are known with held coins, too.
  const from = { packages, reads: reads.ofCoin(NO_COIN) };
  /** What is read, and the coins held then. */
  const beside = async <Found>(read: (from: LogReads) => Promise<Found>) => {
    let held: readonly HeldIn[] = [];
    const upToHolds = reads.upToHolds((now) => {
      held = now;
    });
    const found = await read({ packages, reads: upToHolds });
    return { found, held };
  };
  const read: Topics<Row, Place>["read"] = async (coinType, rows) => {
    const { found, held } = await beside(rows);
    const events = placed(log, found);
    if (coinType === ALL_COINS) return { events, held };
    const isWithheld = withheldBy(log, held);
    return { events: events.filter((event) => !isWithheld(event)), held };
  };
  const topics = new Map<string, Topic<Row, Place>>();
  const ends = sharedReads<Place | undefined>();
  const pages = sharedReads<Page<Row, Place>>();

  const readTopic = async (topic: Topic<Row, Place>): Promise<void> => {
    try {
      await topic.read();
    } catch (error) {
      // A rebuild takes an unknown time: the subscribers decide.
      if (!(error instanceof NotYetIndexedError)) throw error;
      topic.settle();
      topic.fail(error);
    }
  };

  watcher.add({
    pipelines: log.pipelines.map(({ name }) => name),
    get isFollowed() {
      return topics.size > 0;
    },
    changed: () => {
      for (const topic of topics.values()) topic.setDue();
    },
    read: async () => {
      const due = [...topics.values()].filter((topic) => topic.isDue);
      if (due.length > 1) {
        const ends = due.map(({ coinType, head }) => ({ coinType, after: head }));
        const seen = await beside((now) => log.grown(now, ends)).catch(undefinedIfNotIndexed);
        // A topic that was never read has members with places of their own.
        for (const topic of due) {
          if (topic.head === undefined || seen?.found.has(topic.coinType) !== false) continue;
          if (isHeldIn(topic.held, topic) === isHeldIn(seen.held, topic)) topic.settle();
        }
      }
      await Promise.all(due.map(readTopic));
    },
  });

  const readEnd = (coinType: string) => ends.share(coinType, () => log.newest(from, coinType));
  const pageAfter = (coinType: string, after: Place | undefined) =>
    read(coinType, (now) => log.page(now, coinType, after, PAGE_ROWS));
  return {
    read,
    readEnd,
    known: (coinType) => ({
      end: topics.get(coinType)?.head,
      held: topics.get(coinType)?.held ?? [],
    }),
    end: async (coinType) => topics.get(coinType)?.head ?? readEnd(coinType),
    page: (coinType, after) => {
      const name = `${coinType} ${after === undefined ? "" : log.show(after)}`;
      return pages.share(name, () => pageAfter(coinType, after));
    },
    join: (coinType, member) => {
      const topic =
        topics.get(coinType) ?? createTopic(log, coinType, (after) => pageAfter(coinType, after));
      topics.set(coinType, topic);
      const leave = topic.join(member);
      if (topic.isDue) watcher.wake();
      return () => {
        leave();
        if (topic.members > 0 || topics.get(coinType) !== topic) return;
        topics.delete(coinType);
        if (topics.size === 0) watcher.left();
      };
    },
  };
};

const isHeldIn = (held: readonly HeldIn[], { coinType }: { readonly coinType: string }): boolean =>
  held.some((coin) => coin.coinType === coinType);

/** Each topic reports to its own members that its log cannot be read. */
const undefinedIfNotIndexed = (error: unknown): undefined => {
  if (!(error instanceof NotYetIndexedError)) throw error;
};

/** Reads under way by name, which all who ask for the same one share. */
const sharedReads = <Value>() => {
  const underWay = new Map<string, Promise<Value>>();
  return {
    share: (name: string, read: () => Promise<Value>): Promise<Value> => {
      const shared = underWay.get(name) ?? read().finally(() => underWay.delete(name));
      underWay.set(name, shared);
      return shared;
    },
  };
};
