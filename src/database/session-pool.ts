import { createSlots, type PoolLoad, type Slot } from "./connection-slots.ts";
import { DatabaseBusyError } from "./database-error.ts";
import type { Session } from "./session.ts";

const WAIT_MS = 30_000;

/**
 * Up to `max` sessions, opened on demand, each used by one task at a time. A lost session is
 * replaced. Tasks wait up to `waitMs`.
 * @throws DatabaseBusyError (retry) from `use`
 */
export const sessionPool = (max: number, open: () => Promise<Session>, waitMs = WAIT_MS) => {
  const slots = createSlots({
    slots: max,
    capacity: 1,
    open: () => reopened(open),
    end: (session) => session.end(),
  });

  const take = async (): Promise<Slot<Reopened>> => {
    const busy = new AbortController();
    const deadline = setTimeout(() => busy.abort(new DatabaseBusyError(waitMs)), waitMs);
    try {
      return await slots.take(busy.signal);
    } finally {
      clearTimeout(deadline);
    }
  };

  return {
    get load(): PoolLoad {
      return slots.load;
    },
    use: async <T>(task: (session: Session) => Promise<T>): Promise<T> => {
      const slot = await take();
      try {
        return await task(await slot.client.opened());
      } finally {
        slots.giveBack(slot);
      }
    },
    close: slots.close,
  };
};

type Reopened = { opened(): Promise<Session>; end(): Promise<void> };

/** A session opened on first use, and again after a loss. */
const reopened = (open: () => Promise<Session>): Reopened => {
  let current: Session | undefined;
  let closed = false;
  return {
    opened: async () => {
      if (current?.lost.aborted === false) return current;
      current = await open();
      // Closed meanwhile: the user finds it lost.
      if (closed) await current.close();
      return current;
    },
    end: async () => {
      closed = true;
      await current?.close();
    },
  };
};
