/** The topics of one log: one for each coin type that somebody follows. */

import { guardedReads } from "../projections/guarded-reads.ts";
import { NotYetIndexedError } from "../projections/past.ts";
import type { EventLog, LogReads } from "./event-log.ts";
import type { Followed, Following } from "./following.ts";
import { createTopic, type Member, PAGE_ROWS, type Placed, placed, type Topic } from "./topic.ts";

export type LogTopics<Row, Place> = {
  /** What the log is read with: refused while one of its pipelines is rebuilt. */
  readonly from: LogReads;
  /**
   * Where a coin type's log ends: as its topic knows it, else as it is read; undefined while there is nothing.
   */
  end(coinType: string): Promise<Place | undefined>;
  /** As it is read now: behind what its topic knows while the log is rebuilt. */
  readEnd(coinType: string): Promise<Place | undefined>;
  /** As `end`, where it need not be read. */
  knownEnd(coinType: string): Place | undefined;
  /** A page of events; those who ask for the same one at the same time share it. */
  page(coinType: string, after: Place | undefined): Promise<readonly Placed<Row, Place>[]>;
  /** Waits at the end of a coin type's log; returns what ends that. */
  join(coinType: string, member: Member<Row, Place>): () => void;
};

/** Makes the topics of a log, and has them watched. */
export const createLogTopics = <Row, Place>(
  log: EventLog<Row, Place>,
  following: Following,
): LogTopics<Row, Place> => {
  const { packages } = following;
  const from = { packages, reads: guardedReads(following.reads, log.pipelines) };
  const topics = new Map<string, Topic<Row, Place>>();
  const [ends, pages] = [underWay<Place | undefined>(), underWay<readonly Placed<Row, Place>[]>()];

  const topicOf = (coinType: string): Topic<Row, Place> => {
    const topic = topics.get(coinType) ?? createTopic(log, coinType, from);
    topics.set(coinType, topic);
    return topic;
  };

  const readTopic = async (topic: Topic<Row, Place>): Promise<void> => {
    try {
      await topic.read();
    } catch (error) {
      // Nobody knows for how long: whoever follows is told so.
      if (!(error instanceof NotYetIndexedError)) throw error;
      topic.setDue(false);
      topic.fail(error);
    }
  };

  const followed: Followed = {
    pipelines: log.pipelines.map(({ name }) => name),
    get isFollowed() {
      return topics.size > 0;
    },
    changed: () => {
      for (const topic of topics.values()) topic.setDue(true);
    },
    read: async () => {
      const due = [...topics.values()].filter((topic) => topic.isDue);
      if (due.length > 1) {
        const read = due.map(({ coinType, head }) => ({ coinType, after: head }));
        const grown = await log.grown(from, read).catch(ofNone);
        // One that was never read has members whose places are their own.
        for (const topic of due) {
          if (topic.head !== undefined && grown?.has(topic.coinType) === false) topic.setDue(false);
        }
      }
      await Promise.all(due.map(readTopic));
    },
  };
  following.add(followed);
  const readEnd = (coinType: string) => ends.share(coinType, () => log.newest(from, coinType));

  return {
    from,
    readEnd,
    knownEnd: (coinType) => topics.get(coinType)?.head,
    end: async (coinType) => topics.get(coinType)?.head ?? readEnd(coinType),
    page: (coinType, after) => {
      const name = `${coinType} ${after === undefined ? "" : log.show(after)}`;
      return pages.share(name, async () =>
        placed(log, await log.page(from, coinType, after, PAGE_ROWS)),
      );
    },
    join: (coinType, member) => {
      const topic = topicOf(coinType);
      const leave = topic.join(member);
      if (topic.isDue) following.wake();
      return () => {
        leave();
        if (topic.members > 0 || topics.get(coinType) !== topic) return;
        topics.delete(coinType);
        if (topics.size === 0) following.left();
      };
    },
  };
};

/** What cannot be read is for each topic to tell. */
const ofNone = (error: unknown): undefined => {
  if (!(error instanceof NotYetIndexedError)) throw error;
};

/** Readings under way, by name. */
const underWay = <Value>() => {
  const known = new Map<string, Promise<Value>>();
  return {
    share: (name: string, read: () => Promise<Value>): Promise<Value> => {
      const found = known.get(name);
      if (found !== undefined) return found;
      const made = read().finally(() => known.delete(name));
      known.set(name, made);
      return made;
    },
  };
};
