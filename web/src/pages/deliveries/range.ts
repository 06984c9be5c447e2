/** Sending a range of callbacks again: the range of a form, and sending it in parts. */
import type { RangeRedelivery } from "../../data/answers.ts";

const RANGE_STATES = ["failed", "disabled", "delivered"] as const;
export type RangeState = (typeof RANGE_STATES)[number];

/** From `since`, included, to `until`, excluded; ISO 8601. */
export type Range = {
  readonly since: string;
  readonly until: string;
  readonly receiver?: string;
  readonly states: readonly RangeState[];
};

type RangeFields = {
  /** Unix seconds; null while the field is incomplete. */
  readonly since: number | null;
  /** Null for now. */
  readonly until: number | null;
  readonly receiver: string;
  readonly states: ReadonlySet<RangeState>;
};

/** The range of a form, or what is missing. An open end is set to now, so that those counted are those sent. */
export const rangeOf = (
  { since, until, receiver, states }: RangeFields,
  nowMs: number,
): Range | string => {
  if (since === null) return "Enter a start.";
  const endMs = until === null ? nowMs : until * 1_000;
  if (since * 1_000 >= endMs) return "The end is before the start.";
  if (states.size === 0) return "Choose at least one state.";
  return {
    since: new Date(since * 1_000).toISOString(),
    until: new Date(endMs).toISOString(),
    ...(receiver === "" ? {} : { receiver }),
    states: RANGE_STATES.filter((state) => states.has(state)),
  };
};

export type RangePage = Pick<RangeRedelivery, "redelivered" | "waiting" | "next">;

/**
 * Sends a range, a bounded part with each request.
 * @throws the signal's reason once it aborts: messages sent before stay sent
 */
export const sendRange = async (
  send: (after: string | undefined) => Promise<RangePage>,
  onProgress: (soFar: number) => void,
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
    onProgress(redelivered);
  } while (after !== undefined);
  return { redelivered, waiting };
};
