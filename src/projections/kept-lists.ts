/** Sorted lists that took long to make, kept while their pages are asked for. */

/** Rebuilding from another log changes the past; a kept list must not outlive that for long. */
const KEPT_MS = 60_000;

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

/**
 * @param compare negative when the first place comes first
 * @param placeOf the place of a row
 * @param keptRows rows of all lists that are kept; a longer list is not
 */
export const createKeptLists = <Row, Place>(
  compare: (a: Place, b: Place) => number,
  placeOf: (row: Row) => Place,
  keptRows: number,
): KeptLists<Row, Place> => {
  /** In the order of their last use; rows are null where there are too many. */
  const kept = new Map<string, { readonly rows: readonly Row[] | null; readonly atMs: number }>();
  let rowsKept = 0;

  const drop = (key: string): void => {
    rowsKept -= kept.get(key)?.rows?.length ?? 0;
    kept.delete(key);
  };
  const keep = (key: string, rows: readonly Row[] | null): void => {
    drop(key);
    kept.set(key, { rows, atMs: performance.now() });
    rowsKept += rows?.length ?? 0;
    for (const oldest of kept.keys()) {
      if (rowsKept <= keptRows && kept.size <= KEPT_LISTS) break;
      drop(oldest);
    }
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
      const known = found && performance.now() - found.atMs < KEPT_MS ? found : undefined;
      let rows = known?.rows;
      if (rows === undefined) {
        const all = await read(before, keptRows + 1);
        rows = all.length > keptRows ? null : all;
        keep(key, rows);
      }
      if (rows === null) return read(after, limit);
      const from = behind(rows, after);
      return rows.slice(from, from + limit);
    },
  };
};

/** Empty lists count, too. */
const KEPT_LISTS = 1_000;
