/** The end of one coin type's log, and all who wait there: a change is read once for all of them. */
import { type EventLog, isBefore, Live, type LogReads } from "./event-log.ts";

/** Rows that are read at a time. */
export const PAGE_ROWS = 500;

/** Somebody who has come to the end of the log. */
export type Member<Row, Place> = {
  /** What was taken, or need not be; undefined: nothing. */
  readonly place: Place | undefined;
  /** Takes events in order; those up to its place are to be left out. */
  take(events: readonly Placed<Row, Place>[]): void;
  /** There will be nothing more. */
  fail(error: unknown): void;
};

/** An event with its place. */
export type Placed<Row, Place> = { readonly place: Place; readonly live: Live<Row> };

export type Topic<Row, Place> = {
  readonly coinType: string;
  /** How far it was read; undefined: not yet, or there is nothing. */
  readonly head: Place | undefined;
  /** Whether there may be something to read. */
  readonly isDue: boolean;
  readonly members: number;
  /** Its log may have grown, or not after all. */
  setDue(isDue: boolean): void;
  /** Waits at the end; returns what ends that. */
  join(member: Member<Row, Place>): () => void;
  /** Reads for its members until there is nothing more. @throws whatever reading does; it is then still due */
  read(): Promise<void>;
  fail(error: unknown): void;
};

export const placed = <Row, Place>(
  { placeOf, show }: Pick<EventLog<Row, Place>, "placeOf" | "show">,
  rows: readonly Row[],
): readonly Placed<Row, Place>[] =>
  rows.map((row) => {
    const place = placeOf(row);
    return { place, live: new Live(row, show(place)) };
  });

export const createTopic = <Row, Place>(
  log: EventLog<Row, Place>,
  coinType: string,
  from: LogReads,
): Topic<Row, Place> => {
  const members = new Set<Member<Row, Place>>();
  let head: Place | undefined;
  // It may have grown since its first member looked.
  let isDue = true;

  const earlier = (one: Place | undefined, other: Place | undefined) =>
    isBefore(log, one, other) ? one : other;
  /** Whoever joined with a place before the head has missed what was read in between. */
  const isAnyBehind = () => members.values().some(({ place }) => isBefore(log, place, head));

  return {
    coinType,
    get head() {
      return head;
    },
    get isDue() {
      return isDue;
    },
    get members() {
      return members.size;
    },
    setDue: (due) => {
      isDue = due;
    },
    join: (member) => {
      members.add(member);
      if (isBefore(log, member.place, head)) isDue = true;
      return () => members.delete(member);
    },
    read: async () => {
      while (isDue && members.size > 0) {
        isDue = false;
        // Who joins meanwhile may stand before these rows and would miss what lies between.
        const present = [...members];
        const after = present.map(({ place }) => place).reduce(earlier);
        try {
          const rows = await log.page(from, coinType, after, PAGE_ROWS);
          const events = placed(log, rows);
          for (const member of present) if (members.has(member)) member.take(events);
          const end = events.at(-1)?.place ?? after;
          // A page that is not full has the end of the log, which a rebuild may have brought back.
          if (rows.length < PAGE_ROWS || isBefore(log, head, end)) head = end;
          if (rows.length === PAGE_ROWS || isAnyBehind()) isDue = true;
        } catch (error) {
          isDue = true;
          throw error;
        }
      }
    },
    fail: (error) => {
      for (const member of [...members]) member.fail(error);
    },
  };
};
