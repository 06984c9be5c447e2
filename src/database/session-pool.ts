import { DatabaseBusyError } from "./database-error.ts";
import type { Session } from "./session.ts";

export type PoolLoad = {
  readonly busy: number;
  readonly most: number;
  readonly waiting: number;
};

const WAIT_MS = 30_000;

type QueuedTask = {
  readonly resolve: (session: Session | Promise<Session>) => void;
  readonly reject: (error: unknown) => void;
  readonly deadline: NodeJS.Timeout;
};

/**
 * Up to `max` sessions, opened on demand, each used by one task at a time. A lost session is
 * replaced. Tasks wait up to `waitMs`.
 */
export const sessionPool = (max: number, open: () => Promise<Session>, waitMs = WAIT_MS) => {
  const idle: Session[] = [];
  const all = new Set<Session>();
  const waiting: QueuedTask[] = [];
  let opening = 0;
  let closed = false;

  const openOne = async (): Promise<Session> => {
    opening += 1;
    try {
      const session = await open();
      all.add(session);
      session.lost.addEventListener("abort", () => all.delete(session), { once: true });
      // Closed meanwhile: the user finds it lost.
      if (closed) await session.close();
      return session;
    } finally {
      opening -= 1;
    }
  };

  const take = (): Promise<Session> => {
    if (closed) return Promise.reject(new DatabaseBusyError(0));
    for (;;) {
      const session = idle.pop();
      if (session === undefined) break;
      if (!session.lost.aborted) return Promise.resolve(session);
    }
    if (all.size + opening < max) {
      return openOne().catch((error: unknown) => {
        giveBack(undefined);
        throw error;
      });
    }
    return new Promise((resolve, reject) => {
      const entry: QueuedTask = {
        resolve,
        reject,
        deadline: setTimeout(() => {
          waiting.splice(waiting.indexOf(entry), 1);
          reject(new DatabaseBusyError(waitMs));
        }, waitMs),
      };
      waiting.push(entry);
    });
  };

  /** Passes a session, or the place of a lost one, to the next in the queue. */
  const giveBack = (session: Session | undefined) => {
    const next = waiting.shift();
    const alive = session !== undefined && !session.lost.aborted;
    if (next === undefined) {
      if (alive) idle.push(session);
      return;
    }
    clearTimeout(next.deadline);
    if (alive) return next.resolve(session);
    openOne().then(next.resolve, (error: unknown) => {
      next.reject(error);
      giveBack(undefined);
    });
  };

  return {
    get load(): PoolLoad {
      return {
        busy: Math.max(0, all.size + opening - idle.length),
        most: max,
        waiting: waiting.length,
      };
    },
    use: async <T>(task: (session: Session) => Promise<T>): Promise<T> => {
      const session = await take();
      try {
        return await task(session);
      } finally {
        giveBack(session);
      }
    },
    close: async () => {
      closed = true;
      for (const { reject, deadline } of waiting.splice(0)) {
        clearTimeout(deadline);
        reject(new DatabaseBusyError(0));
      }
      await Promise.all([...all].map((session) => session.close()));
    },
  };
};
