/** Sorted lists that took long to make, kept while their pages are asked for. */

/** Rebuilding from another log changes the past; what is kept of it must not outlive that for long. */
export const KEPT_MS = 60_000;

/** Milliseconds of a clock that never goes back. */
export type Clock = () => number;

export type KeptLists<Row, Place> = {
  /**
   * Up to `limit` rows behind a place. A list that is short enough is read whole, and kept.
   * @param before the place before all rows
   * @param read up to so many rows behind a place, in order
   */
  page(
    key: string,
    after: Place,
    limit: number,
    before: Place,
    read: (after: Place, limit: number) => Promise<readonly Row[]>,
  ): Promise<readonly Row[]>;
};

/** What is kept of a list; rows are null where it is too long. */
type Kept<Row> = {
  readonly rows: readonly Row[] | null;
  readonly size: number;
  readonly atMs: number;
};

/**
 * @param most size of all lists that are kept; a longer list is not
 * @param compare negative when the first place comes first
 * @param placeOf the place of a row
 * @param sizeOf the size of a row, at least 1
 */
export const createKeptLists = <Row, Place>(
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
): KeptLists<Row, Place> => {
  /** In the order in which they were read. */
  const kept = new Map<string, Kept<Row>>();
  let sizeKept = 0;

  const drop = (key: string): void => {
    sizeKept -= kept.get(key)?.size ?? 0;
    kept.delete(key);
  };
  /** Returns the rows, or null when they are too many to be kept. */
  const keep = (key: string, all: readonly Row[]): readonly Row[] | null => {
    drop(key);
    // Read at once, and callers can name any number of coins that there are not.
    if (all.length === 0) return all;
    const total = all.reduce((sum, row) => sum + sizeOf(row), 0);
    const [rows, size] = total > most ? [null, 0] : [all, total];
    kept.set(key, { rows, size, atMs: now() });
    sizeKept += size;
    for (const oldest of kept.keys()) {
      if (sizeKept <= most && kept.size <= KEPT_LISTS) break;
      drop(oldest);
    }
    return rows;
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
      const found = kept.get(key);
      const known = found && now() - found.atMs < KEPT_MS ? found : undefined;
      const rows = known === undefined ? keep(key, await read(before, most + 1)) : known.rows;
      if (rows === null) return read(after, limit);
      const from = behind(rows, after);
      return rows.slice(from, from + limit);
    },
  };
};

/** Lists that are too long count, too. */
const KEPT_LISTS = 1_000;
