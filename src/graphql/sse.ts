/** Answers as server-sent events, in the protocol of graphql-sse: "distinct connections". */

export const EVENT_STREAM = "text/event-stream";

/** Whether a caller takes events at all; most who do take JSON too, for what is no subscription. */
export const takesEvents = (accept: string | undefined): boolean =>
  accept?.includes(EVENT_STREAM) ?? false;

/** Whether a caller takes nothing but events. */
export const takesEventsAlone = (accept: string | undefined): boolean =>
  takesEvents(accept) && !/json|\*\/\*|application\/\*/.test(accept ?? "");

/**
 * One result.
 * @param json on one line, as `JSON.stringify` makes it
 * @param at where to go on from, for `Last-Event-ID`
 */
export const nextEvent = (json: string, at?: string): string =>
  `${at === undefined ? "" : `id: ${at}\n`}event: next\ndata: ${json}\n\n`;

/** No event: from here on one goes on that has had none. */
export const beginning = (at: string): string => `id: ${at}\n\n`;

/** Nothing more will come, and nothing is to be asked again. */
export const COMPLETE_EVENT = "event: complete\ndata:\n\n";

/** A comment: the connection is seen to be alive by what stands between. */
export const KEEP_ALIVE = ":\n\n";

/** Header fields of a stream: nothing on its way is to keep, gather or compress it. */
export const STREAM_FIELDS = {
  "content-type": `${EVENT_STREAM}; charset=utf-8`,
  "cache-control": "no-cache, no-store, no-transform",
  "x-accel-buffering": "no",
} as const;
