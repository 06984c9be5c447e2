/** Lists that are read whole, a thousand rows at a time. */
const ROWS = 1_000;

/**
 * The rows of a list from its beginning. `whole` is false when there are more than `most` pages of them.
 * @param isEnough whether nothing behind this row is wanted
 */
export const allPages = async <Row>(
  most: number,
  page: (after: string | null) => Promise<readonly Row[] | null>,
  cursorOf: (row: Row) => string,
  isEnough: (last: Row) => boolean = () => false,
): Promise<{ readonly rows: readonly Row[]; readonly whole: boolean }> => {
  const found: Row[] = [];
  let after: string | null = null;
  for (let number = 0; number < most; number += 1) {
    const rows = (await page(after)) ?? [];
    found.push(...rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS || isEnough(last))
      return { rows: found, whole: true };
    after = cursorOf(last);
  }
  return { rows: found, whole: false };
};
