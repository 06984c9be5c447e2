/** Callbacks of a time, to be sent again: what is asked for, and sending them page by page. */

export const RANGE_STATES = ["failed", "disabled", "delivered"] as const;
export type RangeState = (typeof RANGE_STATES)[number];

/** Both ends in ISO 8601, the first included, the last not. */
export type Range = {
  readonly since: string;
  readonly until: string;
  readonly receiver?: string;
  readonly states: readonly RangeState[];
};

/** What a form says. */
export type RangeFields = {
  /** Unix seconds; null while the field says nothing whole. */
  readonly since: number | null;
  /** Null for now. */
  readonly until: number | null;
  readonly receiver: string;
  readonly states: ReadonlySet<RangeState>;
};

/**
 * The range that a form means, or what is missing. Without an end it ends now, in so many words: those that are
 * counted are then those that are sent, whatever comes in between.
 */
export const rangeOf = (
  { since, until, receiver, states }: RangeFields,
  nowMs: number,
): Range | string => {
  if (since === null) return "Say from when on.";
  const endMs = until === null ? nowMs : until * 1_000;
  if (since * 1_000 >= endMs) return "The range ends before it begins.";
  if (states.size === 0) return "Choose at least one state.";
  return {
    since: new Date(since * 1_000).toISOString(),
    until: new Date(endMs).toISOString(),
    ...(receiver === "" ? {} : { receiver }),
    states: RANGE_STATES.filter((state) => states.has(state)),
  };
};

export type RangePage = {
  readonly redelivered: number;
  readonly waiting: number;
  readonly next: string | null;
};

/**
 * Sends all of a range, a bounded part with each request.
 * @returns how many, and how many of them wait
 * @throws the signal's reason once it aborts: what was sent until then stays sent
 */
export const sendRange = async (
  send: (after: string | undefined) => Promise<RangePage>,
  told: (soFar: number) => void,
  signal?: AbortSignal,
): Promise<{ readonly redelivered: number; readonly waiting: number }> => {
  let [redelivered, waiting] = [0, 0];
  let after: string | undefined;
  do {
    signal?.throwIfAborted();
    const page = await send(after);
    redelivered += page.redelivered;
    waiting += page.waiting;
    after = page.next ?? undefined;
    told(redelivered);
  } while (after !== undefined);
  return { redelivered, waiting };
};
