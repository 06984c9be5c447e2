/**
 * What was read lately, kept for less than a second: rows that nearly every request needs and that
 * rarely change (keys, coin types). A change is seen within `freshMs`, by every process
 * and without a message that could be lost.
 */

import { DatabaseUnavailableError } from "./database-error.ts";

/** A value, or the promise of it while it is being read. */
export type MaybePromise<Value> = Value | Promise<Value>;

export type Remembered<Value> = {
  /**
   * The value of this name: at once when it is fresh, else as `load` reads it. Several who ask
   * meanwhile share one reading. A failed reading is not remembered.
   * @throws DatabaseUnavailableError (rejects; retry) when `MOST_LOADING` other values are being read
   */
  get(name: string, load: () => Promise<Value>): MaybePromise<Value>;
};

/**
 * Values being read at a time. The caller may be gone before the answer comes, and what was asked for
 * stays until then: a database that is silent must not gather more of it.
 */
const MOST_LOADING = 1_000;

export type RememberedSettings<Value> = {
  /** Milliseconds until a value is read again. */
  readonly freshMs: number;
  /** Most values kept; the one read longest ago goes first. */
  readonly max: number;
  /** Whether a value is worth a place; every one unless given. */
  readonly worth?: (value: Value) => boolean;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
};

export const createRemembered = <Value>({
  freshMs,
  max,
  worth = () => true,
  now = () => performance.now(),
}: RememberedSettings<Value>): Remembered<Value> => {
  /** In the order they were read. */
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
        return Promise.reject(new DatabaseUnavailableError("too much is being read already"));
      }
      // Counted from when it was asked: what changes while the answer travels is seen in time too.
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
