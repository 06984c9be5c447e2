/** Connections that are taken for a moment and given back, each by so many at once, and who waits for one. */

import { DatabaseUnavailableError } from "./database-error.ts";
import type { PoolLoad } from "./pool-load.ts";

/** A connection of one's own, or a place on a shared one; `client` changes when it is replaced. */
export type Seat<Client> = { client: Client; taken: number };

export type Seats<Client> = {
  /**
   * A seat, at once or when one is free; first come, first served.
   * @param signal aborts when the caller no longer waits: then it rejects with its reason
   */
  take(signal: AbortSignal | undefined): Seat<Client> | Promise<Seat<Client>>;
  giveBack(seat: Seat<Client>): void;
  /** Makes the seat's connection anew, unless `failed` was replaced already: it may never answer again. */
  replace(seat: Seat<Client>, failed: Client): void;
  readonly waiting: number;
  readonly load: PoolLoad;
  /** Refuses those that wait, waits up to 5 s for running statements, then ends all connections. */
  close(): Promise<void>;
};

/** What is needed of the driver. */
type Ends = { end(options: { readonly timeout: number }): Promise<void> };

type Waiting<Client> = {
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
  /** How many have a seat at once. */
  readonly capacity: number;
  /** Makes a client of one connection, which is opened when it is first used. */
  readonly open: () => Client;
  /** Waits up to 5 s for pending answers of all clients, then ends this one. */
  readonly end: (client: Client) => Promise<void>;
}): Seats<Client> => {
  const seats = Array.from({ length: count }, (): Seat<Client> => ({ client: open(), taken: 0 }));
  const queue = new Set<Waiting<Client>>();

  /** The emptiest one, of equals the first: a quiet service keeps few connections busy. */
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
      const waiting: Waiting<Client> = {
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
