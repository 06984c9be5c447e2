/** A pool of connections, each shared by up to `capacity` users, with a queue. */

import { DatabaseUnavailableError } from "./database-error.ts";

export type PoolLoad = {
  readonly busy: number;
  readonly most: number;
  readonly waiting: number;
};

/** A place on a connection; `client` changes when it is replaced. */
export type Slot<Client> = { client: Client; taken: number };

export type Slots<Client> = {
  /**
   * Takes a slot, now or in order of arrival.
   * @param signal removes the caller from the queue, rejecting with its reason
   * @throws DatabaseUnavailableError (retry) once closed
   */
  take(signal: AbortSignal | undefined): Slot<Client> | Promise<Slot<Client>>;
  giveBack(slot: Slot<Client>): void;
  /** Replaces the slot's connection unless that happened since `failed`. */
  replace(slot: Slot<Client>, failed: Client): void;
  readonly waiting: number;
  readonly load: PoolLoad;
  /** Rejects the queue, waits up to 5 s for running statements, then ends all connections. */
  close(): Promise<void>;
};

/** The part of a client used here. */
type Ends = { end(options: { readonly timeout: number }): Promise<void> };

type QueuedUser<Client> = {
  readonly resolve: (slot: Slot<Client>) => void;
  readonly reject: (reason: unknown) => void;
};

export const createSlots = <Client extends Ends>({
  slots: count,
  capacity,
  open,
  end,
}: {
  readonly slots: number;
  /** Concurrent users of a slot. */
  readonly capacity: number;
  /** Creates a client of one connection, which opens on first use. */
  readonly open: () => Client;
  /** Ends a client; readers wait up to 5 s for pending answers first. */
  readonly end: (client: Client) => Promise<void>;
}): Slots<Client> => {
  const slots = Array.from({ length: count }, (): Slot<Client> => ({ client: open(), taken: 0 }));
  const queue = new Set<QueuedUser<Client>>();
  let closed: DatabaseUnavailableError | undefined;

  /** The emptiest, and the first of equals: a quiet service keeps few connections busy. */
  const free = (): Slot<Client> | undefined => {
    let found: Slot<Client> | undefined;
    for (const slot of slots) {
      if (slot.taken < capacity && (found === undefined || slot.taken < found.taken)) found = slot;
    }
    return found;
  };

  const giveBack = (slot: Slot<Client>): void => {
    slot.taken -= 1;
    const [next] = queue;
    if (next === undefined) return;
    queue.delete(next);
    slot.taken += 1;
    next.resolve(slot);
  };

  return {
    take(signal) {
      signal?.throwIfAborted();
      if (closed !== undefined) throw closed;
      const slot = free();
      if (slot !== undefined) {
        slot.taken += 1;
        return slot;
      }
      const { promise, resolve, reject } = Promise.withResolvers<Slot<Client>>();
      const leave = () => {
        queue.delete(waiting);
        reject(signal?.reason);
      };
      const waiting: QueuedUser<Client> = {
        resolve: (given) => {
          signal?.removeEventListener("abort", leave);
          resolve(given);
        },
        reject,
      };
      queue.add(waiting);
      signal?.addEventListener("abort", leave, { once: true });
      return promise;
    },
    giveBack,
    replace(slot, failed) {
      if (slot.client !== failed) return;
      slot.client = open();
      failed.end({ timeout: 0 }).catch(() => undefined);
    },
    get waiting() {
      return queue.size;
    },
    get load() {
      const busy = slots.filter(({ taken }) => taken > 0).length;
      return { busy, most: count, waiting: queue.size };
    },
    close: async () => {
      const reason = new DatabaseUnavailableError("the service is stopping");
      closed = reason;
      for (const { reject } of queue) reject(reason);
      queue.clear();
      await Promise.all(slots.map(({ client }) => end(client)));
    },
  };
};
