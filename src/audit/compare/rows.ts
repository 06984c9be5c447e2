/** Compares pages of one list from two deployments, row by row. */
import type { List, PresentList } from "./lists.ts";
import { NotAnsweredError, type Register } from "./other-deployment.ts";
import { comparePlaces, PAGE, type Row, type RowPlace, rowsIn } from "./served-rows.ts";

/** A row or a single value that differs. */
export type Difference = {
  /** The list, table or page. */
  readonly what: string;
  /** Null when it belongs to no coin. */
  readonly coinType: string | null;
  /** Which row. */
  readonly row: string;
  /** The members that differ, or the whole row; null where there is none. */
  readonly here: Row | null;
  readonly there: Row | null;
};

/** A page here, compared with the same stretch of the list there. */
export type ComparedPage = {
  /** Rows that both have, or one of them. */
  readonly rows: number;
  readonly differences: readonly Difference[];
  /** Where the next page begins; undefined at the end of the list. */
  readonly next: string | undefined;
};

const shown = (place: RowPlace): string => place.join(" ");

const isSame = (one: Row | Row[string] | undefined, other: Row | Row[string] | undefined) =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** The members that differ; null when none does. */
export const membersApart = (
  here: Row,
  there: Row,
): { readonly here: Row; readonly there: Row } | null => {
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])];
  const apart = names.filter((name) => !isSame(here[name], there[name]));
  if (apart.length === 0) return null;
  const some = (of: Row): Row => Object.fromEntries(apart.map((name) => [name, of[name] ?? null]));
  return { here: some(here), there: some(there) };
};

/** Compares rows of the same stretch. @param isWithin whether a row that only one side has counts */
export const compareRows = (
  { what, coinType }: Pick<Difference, "what" | "coinType">,
  here: readonly Row[],
  there: readonly Row[],
  {
    key: keyOf,
    isWithin = () => true,
    apart = (row) => row,
  }: Pick<List, "key" | "apart"> & { readonly isWithin?: (row: Row) => boolean },
): Pick<ComparedPage, "rows" | "differences"> => {
  const keyed = (rows: readonly Row[]) => {
    const found = new Map<string, Row>();
    const times = new Map<string, number>();
    for (const row of rows) {
      const key = keyOf(row);
      const before = times.get(key) ?? 0;
      times.set(key, before + 1);
      // A duplicate must not hide the first one.
      found.set(before === 0 ? key : `${key}, again${before === 1 ? "" : ` (${before})`}`, row);
    }
    return found;
  };
  const [own, others] = [keyed(here), keyed(there)];
  const differences: Difference[] = [];
  let rows = 0;
  for (const key of new Set([...own.keys(), ...others.keys()])) {
    const [one, other] = [own.get(key), others.get(key)];
    if (one === undefined || other === undefined) {
      const only = one ?? other;
      if (only !== undefined && !isWithin(only)) continue;
      const sides = { here: one ? apart(one) : null, there: other ? apart(other) : null };
      differences.push({ what, coinType, row: key, ...sides });
    } else {
      const sides = membersApart(apart(one), apart(other));
      if (sides !== null) differences.push({ what, coinType, row: key, ...sides });
    }
    rows += 1;
  }
  return { rows, differences };
};

/** Surplus rows read of a stretch before giving up: it differs by then anyway. */
const MORE_ROWS = 2 * PAGE;

/** @throws NotAnsweredError when a page does not go on from where it was asked to */
export const assertInOrder = (
  { place }: Pick<List, "place">,
  rows: readonly Row[],
  before: RowPlace | undefined,
): RowPlace | undefined => {
  let last = before;
  for (const row of rows) {
    const own = place(row);
    if (last !== undefined && comparePlaces(last, own) >= 0) {
      throw new NotAnsweredError(`rows are out of order: ${shown(own)} after ${shown(last)}`);
    }
    last = own;
  }
  return last;
};

/** Compares one page here with everything the other one has in the same stretch. */
export const comparePage = async (
  here: Register,
  there: Register,
  list: List,
  of: {
    readonly coinType: string | null;
    readonly through: bigint;
    readonly after: string | undefined;
  },
): Promise<ComparedPage> => {
  const { coinType, through } = of;
  const ask = async (register: Register, after: string | undefined): Promise<readonly Row[]> =>
    rowsIn(
      await register.ask(list.query, {
        limit: PAGE,
        at: `${through}`,
        ...(coinType !== null && { coinType }),
        ...(after !== undefined && { after }),
      }),
      list.field,
    );
  const isBeyond = (row: Row) =>
    list.inChainOrder !== undefined && list.isWithin?.(row, through) === false;
  const own = await ask(here, of.after);
  const last = own.at(-1);
  const goesOn = own.length === PAGE && last !== undefined && !isBeyond(last) && !list.isWhole;
  const end = goesOn ? list.place(last) : undefined;
  const isPast = (row: Row) =>
    isBeyond(row) || (end !== undefined && comparePlaces(list.place(row), end) > 0);

  const others: Row[] = [];
  let reached: RowPlace | undefined;
  for (let after = of.after; others.length < own.length + MORE_ROWS; ) {
    const page = await ask(there, after);
    reached = assertInOrder(list, page, reached);
    others.push(...page.filter((row) => !isPast(row)));
    const lastOfPage = page.at(-1);
    if (lastOfPage === undefined || list.isWhole || isPast(lastOfPage)) break;
    after = list.after(lastOfPage);
  }
  const compared = compareRows(
    { what: list.name, coinType },
    own.filter((row) => !isPast(row)),
    others,
    {
      key: list.key,
      isWithin: (row) => list.isWithin?.(row, through) ?? true,
      ...(list.apart && { apart: list.apart }),
    },
  );
  return { ...compared, next: goesOn ? list.after(last) : undefined };
};

/** Compares two answers to the same query, as far as both go. */
export const compareAnswers = (
  what: string,
  coinType: string,
  list: PresentList,
  here: readonly Row[],
  there: readonly Row[],
): ComparedPage => {
  assertInOrder(list, there, undefined);
  const lasts = [here, there].flatMap((rows) => {
    const last = rows.at(-1);
    return rows.length < PAGE || last === undefined || list.isWhole ? [] : [list.place(last)];
  });
  const [end] = lasts.toSorted(comparePlaces);
  const inside = (row: Row) => end === undefined || comparePlaces(list.place(row), end) <= 0;
  const [own, others] = [here.filter(inside), there.filter(inside)];
  const compared = compareRows({ what, coinType }, own, others, list);
  const last = end === undefined ? undefined : own.at(-1);
  return { ...compared, next: last && list.after(last) };
};
