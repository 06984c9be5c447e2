/**
 * Asks the indexing process for summaries of checkpoints that were not read. The asking process may
 * only read; it notifies, and looks until they are there.
 */
import type { Sql } from "../database/connect.ts";
import { askFor, type Moment, missingSummary, payloadOf } from "../log/between.ts";
import { type Backoff, fullBackoffMs, pause } from "../waiting/backoff.ts";
import { BetweenReadError } from "./past.ts";

/**
 * Asks and waits; false when some were not found in time. Ask again then.
 * @param signal aborts when the caller is gone
 */
export type FindSummaries = (
  asked: readonly Moment[],
  signal?: AbortSignal | undefined,
) => Promise<boolean>;

/** Bisection takes about 25 checkpoints of some 50 ms each. */
const WAIT_MS = 5_000;

/** Moments that one request asks for. */
const MOST_ASKED = 8;

/** Requests that wait at once; others are told to ask again. */
const MOST_WAITING = 16;

const LOOKS: Backoff = { firstMs: 20, maxMs: 250 };

export const createAsking = (
  { sql }: { readonly sql: Sql },
  {
    waitMs = WAIT_MS,
    onFound = async () => undefined,
  }: {
    readonly waitMs?: number | undefined;
    /** Has later reads see what was found. */
    readonly onFound?: (() => Promise<void>) | undefined;
  } = {},
): FindSummaries => {
  let waiting = 0;

  const areFound = async (asked: readonly Moment[]): Promise<boolean> => {
    for (const moment of asked) if ((await missingSummary({ sql }, moment)) !== null) return false;
    return true;
  };

  const found = async (asked: readonly Moment[], signal: AbortSignal): Promise<boolean> => {
    for (let looks = 1; !signal.aborted; looks += 1) {
      await pause(fullBackoffMs(looks, LOOKS), signal);
      if (await areFound(asked)) {
        await onFound();
        return true;
      }
    }
    return false;
  };

  return async (all, signal) => {
    const asked = [...new Map(all.map((moment) => [payloadOf(moment), moment])).values()].slice(
      0,
      MOST_ASKED,
    );
    const hasRoom = waiting < MOST_WAITING;
    if (hasRoom) waiting += 1;
    try {
      for (const moment of asked) await askFor(sql, moment);
      if (!hasRoom) return false;
      const late = AbortSignal.timeout(waitMs);
      return await found(asked, signal === undefined ? late : AbortSignal.any([signal, late]));
    } finally {
      if (hasRoom) waiting -= 1;
    }
  };
};

/**
 * Runs `work`, and once more when the summary that it lacked was found.
 * @throws what `work` throws, so BetweenReadError (wait) when it was not found in time
 */
export const askingFor = async <Result>(
  find: FindSummaries,
  work: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BetweenReadError) || !(await find([error.asked], signal))) throw error;
    return work();
  }
};
