/** Turns for what may take long, so that it leaves connections for everything else. */
import { ADMISSION, createAdmission, type Place } from "../http/edge/admission.ts";
import { canonicalType } from "../values/move-type.ts";
import type { UnlimitedList } from "./field-reads.ts";
import type { ReadPlan } from "./read-plan.ts";

export type Turns = {
  /**
   * Waits for the turn of a request that reads from a snapshot, before the snapshot is taken.
   * @param key id of the caller's key; without one its long requests are not counted
   * @throws HttpError (503) when it cannot wait, or waited in vain
   */
  enter(plan: ReadPlan, key: string | undefined, signal: AbortSignal | undefined): Promise<Turn>;
  /** Does work alone, one of all requests at a time. @throws HttpError (503) as above */
  alone<Made>(work: () => Promise<Made>, signal: AbortSignal | undefined): Promise<Made>;
  /** How many rows unlimited lists had last time. */
  readonly lengths: ListLengths;
};

export type Turn = {
  /** Whether statements may take long. */
  readonly isLong: boolean;
  leave(): void;
};

export type ListLengths = {
  /** Whether the list had few rows last time, so that it reads as quickly as a page; false if unknown. */
  isShort(list: UnlimitedList): boolean;
  set(list: UnlimitedList, rows: number): void;
};

/**
 * Long requests of one key at a time, fewer than the connections for them by default: long requests of other
 * keys do not wait behind them.
 */
const MAX_LONG_PER_KEY = 2;

/** Rows that are read as quickly as a page. */
const SHORT_LIST = 300;

const MAX_KNOWN_LISTS = 1_000;

export const createTurns = (): Turns => {
  const loners = createAdmission({ ...ADMISSION, perKey: 1, perProcess: 1 });
  const longs = createAdmission({
    ...ADMISSION,
    perKey: MAX_LONG_PER_KEY,
    perProcess: Number.POSITIVE_INFINITY,
  });
  const lengths = createListLengths();
  return {
    enter: async ({ long, unlimited }, key, signal) => {
      const isAlone = unlimited.some((list) => mayBeLong(lengths, list));
      const places: Place[] = [];
      const leave = () => {
        for (const place of places) place.left();
      };
      try {
        if (long && key !== undefined) places.push(await longs.enter(key, 1, signal));
        if (isAlone) places.push(await loners.enter("", 1, signal));
      } catch (error) {
        leave();
        throw error;
      }
      return { isLong: long || isAlone, leave };
    },
    alone: async (work, signal) => {
      const place = await loners.enter("", 1, signal);
      return work().finally(place.left);
    },
    lengths,
  };
};

const createListLengths = (): ListLengths => {
  const rowsByList = new Map<string, number>();
  const nameOf = ({ coinType, isPast }: UnlimitedList) => (isPast ? `past ${coinType}` : coinType);
  return {
    isShort: (list) => (rowsByList.get(nameOf(list)) ?? Number.POSITIVE_INFINITY) <= SHORT_LIST,
    set: (list, rows) => {
      if (rowsByList.size >= MAX_KNOWN_LISTS) rowsByList.clear();
      rowsByList.set(nameOf(list), rows);
    },
  };
};

/** Lengths are known by canonical coin types; a text that is no coin type is refused where it is used. */
const mayBeLong = (lengths: ListLengths, { coinType, isPast }: UnlimitedList): boolean => {
  try {
    return !lengths.isShort({ coinType: canonicalType(coinType), isPast });
  } catch {
    return false;
  }
};
