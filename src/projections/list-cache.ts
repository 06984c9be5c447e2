/** Cache of sorted lists that are slow to build, for as long as their pages are read. */

/** Short TTL: a database restored from a backup may have another past. */
export const KEPT_MS = 60_000;

/** Monotonic clock, in milliseconds. */
export type Clock = () => number;

/**
 * Builds a value once for concurrent callers. On failure (its caller may have hung up) the next
 * caller builds it alone.
 * @param known the value, if already cached
 */
export const createShared = <Value>() => {
  const underWay = new Map<string, Promise<Value>>();
  return async (
    key: string,
    known: () => Value | undefined,
    make: () => Promise<Value>,
  ): Promise<Value> => {
    for (;;) {
      const value = known();
      if (value !== undefined) return value;
      const other = underWay.get(key);
      if (other === undefined) {
        const made = make().finally(() => underWay.delete(key));
        underWay.set(key, made);
        return made;
      }
      const [settled] = await Promise.allSettled([other]);
      if (settled.status === "fulfilled") return settled.value;
    }
  };
};

type ListCache<Row, Place> = {
  /**
   * Up to `limit` rows behind a place. A short list is read whole, once for concurrent callers, and
   * cached.
   * @param before the place before all rows
   * @param read up to this many rows behind a place, in order
   */
  page(
    key: string,
    after: Place,
    limit: number,
    before: Place,
    read: (after: Place, limit: number) => Promise<readonly Row[]>,
  ): Promise<readonly Row[]>;
};

type Kept<Row> = {
  readonly rows: readonly Row[] | "too long";
  readonly size: number;
  readonly atMs: number;
};

/**
 * @param most total size of cached lists; a longer list is not cached
 * @param compare negative when the first place sorts first
 * @param sizeOf the size of a row, at least 1
 */
export const createListCache = <Row, Place>(
  most: number,
  {
    compare,
    placeOf,
    sizeOf = () => 1,
    now = () => performance.now(),
  }: {
    readonly compare: (a: Place, b: Place) => number;
    readonly placeOf: (row: Row) => Place;
    readonly sizeOf?: (row: Row) => number;
    readonly now?: Clock;
  },
): ListCache<Row, Place> => {
  /** In the order of reading. */
  const kept = new Map<string, Kept<Row>>();
  const shared = createShared<readonly Row[] | "too long">();
  let sizeKept = 0;

  const drop = (key: string): void => {
    sizeKept -= kept.get(key)?.size ?? 0;
    kept.delete(key);
  };
  /** Returns the rows, unless there are too many to cache. */
  const keep = (key: string, all: readonly Row[]): readonly Row[] | "too long" => {
    drop(key);
    // Empty lists are not cached: callers can name any number of unknown coins.
    if (all.length === 0) return all;
    const total = all.reduce((sum, row) => sum + sizeOf(row), 0);
    const [rows, size] = total > most ? ["too long" as const, 0] : [all, total];
    kept.set(key, { rows, size, atMs: now() });
    sizeKept += size;
    for (const oldest of kept.keys()) {
      if (sizeKept <= most && kept.size <= KEPT_LISTS) break;
      drop(oldest);
    }
    return rows;
  };
  const known = (key: string) => {
    const found = kept.get(key);
    return found && now() - found.atMs < KEPT_MS ? found.rows : undefined;
  };
  const behind = (rows: readonly Row[], after: Place): number => {
    let [from, to] = [0, rows.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const row = rows[middle];
      if (row !== undefined && compare(placeOf(row), after) <= 0) from = middle + 1;
      else to = middle;
    }
    return from;
  };

  return {
    page: async (key, after, limit, before, read) => {
      const rows = await shared(
        key,
        () => known(key),
        async () => keep(key, await read(before, most + 1)),
      );
      if (rows === "too long") return read(after, limit);
      const from = behind(rows, after);
      return rows.slice(from, from + limit);
    },
  };
};

/** Includes markers of lists that are too long. */
const KEPT_LISTS = 1_000;
