/** Turns for what may take long, so that it leaves connections for everything else. */
import { ADMISSION, createAdmission, type Slot } from "../http/edge/admission.ts";
import { canonicalType } from "../values/move-type.ts";
import type { UnlimitedList } from "./field-reads.ts";
import type { ReadPlan } from "./read-plan.ts";

/**
 * Long requests of one key at a time, fewer than the connections for them by default: long requests of other
 * keys do not wait behind them.
 */
const MAX_LONG_PER_KEY = 2;

/** Rows that are read as quickly as a page. */
const SHORT_LIST = 300;

/** Times as long as the introspection before it took: introspection takes at most a quarter of the event loop. */
const RESTS_PER_INTROSPECTION = 3;

const MAX_KNOWN_LISTS = 1_000;

export const createTurns = () => {
  const loners = createAdmission({ ...ADMISSION, perKey: 1, perProcess: 1 });
  const introspections = createAdmission({ ...ADMISSION, perKey: 1, perProcess: 1 });
  const longs = createAdmission({
    ...ADMISSION,
    perKey: MAX_LONG_PER_KEY,
    perProcess: Number.POSITIVE_INFINITY,
  });
  const lengths = createListLengths();
  return {
    /**
     * Waits for the turn of a request that reads from a snapshot, before the snapshot is taken.
     * @param key id of the caller's key; without one its long requests are not counted
     * @throws HttpError (503) when it cannot wait, or waited in vain
     */
    enter: async (
      { long, unlimited }: ReadPlan,
      key: string | undefined,
      signal: AbortSignal | undefined,
    ) => {
      const isAlone = unlimited.some((list) => mayBeLong(lengths, list));
      const slots: Slot[] = [];
      const leave = () => {
        for (const slot of slots) slot.left();
      };
      try {
        if (long && key !== undefined) slots.push(await longs.enter(key, 1, signal));
        if (isAlone) slots.push(await loners.enter("", 1, signal));
      } catch (error) {
        leave();
        throw error;
      }
      return { isLong: long || isAlone, leave };
    },
    /** Does work alone, one of all requests at a time. @throws HttpError (503) as above */
    alone: async <Made>(work: () => Promise<Made>, signal: AbortSignal | undefined) => {
      const slot = await loners.enter("", 1, signal);
      return work().finally(slot.left);
    },
    /**
     * Answers introspection, one request of all at a time, and rests after each: it blocks the event loop, and other
     * requests need several turns of it. @throws HttpError (503) as above
     */
    introspect: async <Made>(work: () => Promise<Made>, signal: AbortSignal | undefined) => {
      const slot = await introspections.enter("", 1, signal);
      const began = performance.now();
      return work().finally(() => {
        setTimeout(slot.left, (performance.now() - began) * RESTS_PER_INTROSPECTION).unref();
      });
    },
    lengths,
  };
};

/** How many rows lists without a limit had last time. */
const createListLengths = () => {
  const rowsByList = new Map<string, number>();
  const nameOf = ({ coinType, isPast }: UnlimitedList) => (isPast ? `past ${coinType}` : coinType);
  return {
    /** Whether the list had few rows last time, so that it reads as quickly as a page; false if unknown. */
    isShort: (list: UnlimitedList) =>
      (rowsByList.get(nameOf(list)) ?? Number.POSITIVE_INFINITY) <= SHORT_LIST,
    set: (list: UnlimitedList, rows: number) => {
      if (rowsByList.size >= MAX_KNOWN_LISTS) rowsByList.clear();
      rowsByList.set(nameOf(list), rows);
    },
  };
};

/** Lengths are known by canonical coin types; a text that is no coin type is refused where it is used. */
const mayBeLong = (
  lengths: ReturnType<typeof createListLengths>,
  { coinType, isPast }: UnlimitedList,
): boolean => {
  try {
    return !lengths.isShort({ coinType: canonicalType(coinType), isPast });
  } catch {
    return false;
  }
};
