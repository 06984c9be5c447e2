/** What the fields of the subscription have in common: from their arguments to events. */
import type { GraphContext, Subscriber } from "./context.ts";
import type { EventLog, Live } from "./event-log.ts";
import { type Chosen, follow } from "./follow.ts";
import type { Following } from "./following.ts";
import { coinTypeArgument } from "./input.ts";
import { createLogTopics, type LogTopics } from "./log-topics.ts";

/** The arguments of all that follow a log. */
export const followArguments = {
  coinType: coinTypeArgument,
  after: {
    description:
      "Place of the last event seen, as each event has it: only those behind it, all of them, and then what " +
      "comes. Without it: what comes from now on.",
  },
} as const;

/** What a caller asks to follow. */
export type FollowQuery<Row, Place> = {
  /** As the caller wrote it. */
  readonly coinType: string;
  readonly after: Place | undefined;
  readonly chosen?: Chosen<Row, Place> | undefined;
};

/** Makes the way to follow a log; its topics are those of all who do. */
export const following = <Row, Place>(log: EventLog<Row, Place>) => {
  const known = new WeakMap<Following, LogTopics<Row, Place>>();
  const topicsIn = (watch: Following): LogTopics<Row, Place> => {
    const found = known.get(watch) ?? createLogTopics(log, watch);
    known.set(watch, found);
    return found;
  };
  return async (
    context: GraphContext,
    { coinType, after, chosen }: FollowQuery<Row, Place>,
  ): Promise<AsyncIterable<Live<Row>>> => {
    const { following: watch, pace, signal, beganAt } = subscriberOf(context);
    const topics = topicsIn(watch);
    const canonical = await context.coinType(coinType);
    const place = after ?? (await topics.end(canonical));
    if (after === undefined && place !== undefined) beganAt(log.show(place));
    return follow({
      log,
      topics,
      coinType: canonical,
      begin: place,
      chosen,
      pace,
      signal,
    });
  };
};

/** Where a caller goes on: what a reconnection says comes before what the document said at first. */
export const afterOf = (
  context: GraphContext,
  after: string | null | undefined,
): string | null | undefined => subscriberOf(context).lastEventId ?? after;

export const subscriberOf = ({ subscriber }: GraphContext): Subscriber => {
  if (subscriber === undefined) throw new Error("a subscription was run as a query");
  return subscriber;
};
