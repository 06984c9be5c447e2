/**
 * Caches for under a second what nearly every request needs and rarely changes (keys, coin types).
 * Every process sees a change within `freshMs`, without a message that could be lost.
 */

import { DatabaseUnavailableError } from "./database-error.ts";

/** A value, or its promise while it loads. */
export type MaybePromise<Value> = Value | Promise<Value>;

export type ShortCache<Value> = {
  /**
   * The cached value, or `load`'s; concurrent calls share one load. Failures are not cached.
   * @throws DatabaseUnavailableError (rejects; retry) when `MOST_LOADING` values are loading
   */
  get(name: string, load: () => Promise<Value>): MaybePromise<Value>;
};

/** Concurrent loads: those of callers who left stay until a silent database answers. */
const MOST_LOADING = 1_000;

type ShortCacheSettings<Value> = {
  /** Lifetime in ms. */
  readonly freshMs: number;
  /** Maximum entries; the oldest is evicted. */
  readonly max: number;
  /** Whether to cache a value; all by default. */
  readonly worth?: (value: Value) => boolean;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
};

export const createShortCache = <Value>({
  freshMs,
  max,
  worth = () => true,
  now = () => performance.now(),
}: ShortCacheSettings<Value>): ShortCache<Value> => {
  /** In loading order. */
  const kept = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  const loading = new Map<string, Promise<Value>>();

  const keep = (name: string, value: Value, untilMs: number) => {
    kept.delete(name);
    if (!worth(value)) return;
    kept.set(name, { value, untilMs });
    const oldest = kept.size > max ? kept.keys().next() : undefined;
    if (oldest?.done === false) kept.delete(oldest.value);
  };

  return {
    get(name, load) {
      const found = kept.get(name);
      if (found !== undefined && found.untilMs > now()) return found.value;
      const under = loading.get(name);
      if (under !== undefined) return under;
      if (loading.size >= MOST_LOADING) {
        return Promise.reject(new DatabaseUnavailableError("too many reads are in progress"));
      }
      // From the request on, so a change during the load is not missed.
      const untilMs = now() + freshMs;
      const asked = load()
        .then((value) => {
          keep(name, value, untilMs);
          return value;
        })
        .finally(() => loading.delete(name));
      loading.set(name, asked);
      return asked;
    },
  };
};
