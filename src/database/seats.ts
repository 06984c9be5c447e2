/** A pool of connections, each shared by up to `capacity` users, with a queue. */

import { DatabaseUnavailableError } from "./database-error.ts";
import type { PoolLoad } from "./session-pool.ts";

/** A place on a connection; `client` changes when it is replaced. */
export type Seat<Client> = { client: Client; taken: number };

export type Seats<Client> = {
  /**
   * Takes a seat, now or in order of arrival.
   * @param signal removes the caller from the queue, rejecting with its reason
   */
  take(signal: AbortSignal | undefined): Seat<Client> | Promise<Seat<Client>>;
  giveBack(seat: Seat<Client>): void;
  /** Replaces the seat's connection unless that happened since `failed`. */
  replace(seat: Seat<Client>, failed: Client): void;
  readonly waiting: number;
  readonly load: PoolLoad;
  /** Rejects the queue, waits up to 5 s for running statements, then ends all connections. */
  close(): Promise<void>;
};

/** The part of the driver used here. */
type Ends = { end(options: { readonly timeout: number }): Promise<void> };

type QueuedUser<Client> = {
  readonly resolve: (seat: Seat<Client>) => void;
  readonly reject: (reason: unknown) => void;
};

export const createSeats = <Client extends Ends>({
  seats: count,
  capacity,
  open,
  end,
}: {
  readonly seats: number;
  /** Concurrent users of a seat. */
  readonly capacity: number;
  /** Creates a client of one connection, opened on first use. */
  readonly open: () => Client;
  /** Waits up to 5 s for pending answers of all clients, then ends this one. */
  readonly end: (client: Client) => Promise<void>;
}): Seats<Client> => {
  const seats = Array.from({ length: count }, (): Seat<Client> => ({ client: open(), taken: 0 }));
  const queue = new Set<QueuedUser<Client>>();

  /** The emptiest, and the first of equals: a quiet service keeps few connections busy. */
  const free = (): Seat<Client> | undefined => {
    let found: Seat<Client> | undefined;
    for (const seat of seats) {
      if (seat.taken < capacity && (found === undefined || seat.taken < found.taken)) found = seat;
    }
    return found;
  };

  const giveBack = (seat: Seat<Client>): void => {
    seat.taken -= 1;
    const [next] = queue;
    if (next === undefined) return;
    queue.delete(next);
    seat.taken += 1;
    next.resolve(seat);
  };

  return {
    take(signal) {
      signal?.throwIfAborted();
      const seat = free();
      if (seat !== undefined) {
        seat.taken += 1;
        return seat;
      }
      const { promise, resolve, reject } = Promise.withResolvers<Seat<Client>>();
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
    replace(seat, failed) {
      if (seat.client !== failed) return;
      seat.client = open();
      failed.end({ timeout: 0 }).catch(() => undefined);
    },
    get waiting() {
      return queue.size;
    },
    get load() {
      const busy = seats.filter(({ taken }) => taken > 0).length;
      return { busy, most: count, waiting: queue.size };
    },
    close: async () => {
      for (const { reject } of queue)
        reject(new DatabaseUnavailableError("the service is stopping"));
      queue.clear();
      await Promise.all(seats.map(({ client }) => end(client)));
    },
  };
};
