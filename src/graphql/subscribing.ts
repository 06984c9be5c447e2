/** What the fields of the subscription have in common: from their arguments to events. */
import { builder } from "./builder.ts";
import type { GraphContext, Subscriber } from "./context.ts";
import { badInput } from "./errors.ts";
import { type AcrossLog, ALL_COINS, type EventLog, type Live } from "./event-log.ts";
import { type Chosen, follow } from "./follow.ts";
import type { Following } from "./following.ts";
import { coinTypeArgument, positionOf } from "./input.ts";
import { createLogTopics, type LogTopics } from "./log-topics.ts";

/** Coin types of one subscription; each page reads as many of each. */
const MOST_COIN_TYPES = 100;

/** The arguments of all that follow a log. */
export const followArguments = builder.args((t) => ({
  coinType: t.string({ ...coinTypeArgument, required: false }),
  coinTypes: t.stringList({
    description: `Up to ${MOST_COIN_TYPES} coin types in place of one, their events in chain order. Without coinType and coinTypes: all coins, including those issued later.`,
  }),
  after: t.string({
    description:
      "Place of the last event seen, as each event has it: only those behind it, all of them, and then what " +
      "comes. Without it: what comes from now on. capTable { followCursor } and _meta { followPosition } give the " +
      "place to begin at behind a copy.",
  }),
}));

/** What a caller asks to follow. */
export type FollowQuery<Row, Place> = {
  /** As the caller wrote them; all coins without either. */
  readonly coinType?: string | null | undefined;
  readonly coinTypes?: readonly string[] | null | undefined;
  readonly after: Place | undefined;
  readonly chosen?: Chosen<Row, Place> | undefined;
};

/** A log by coin type, and the same one across coin types. */
export type FollowedLogs<Row, Place> = {
  readonly one: EventLog<Row, Place>;
  readonly across: AcrossLog<Row, Place>;
};

/** Makes the way to follow a log; its topics are those of all who do. */
export const following = <Row extends { readonly coinType: string }, Place>({
  one,
  across,
}: FollowedLogs<Row, Place>) => {
  const [topicsOfOne, topicsAcross] = [topicsOf(one), topicsOf(across)];
  return async (
    context: GraphContext,
    { coinType, coinTypes, after, chosen }: FollowQuery<Row, Place>,
  ): Promise<AsyncIterable<Live<Row>>> => {
    const { following: watch, pace, signal, beganAt } = subscriberOf(context);
    const isOne = coinType !== null && coinType !== undefined;
    if (isOne && coinTypes != null) throw badInput("give coinType or coinTypes, not both");
    const log = isOne ? one : across;
    const topics = isOne ? topicsOfOne(watch) : topicsAcross(watch);
    const name = isOne ? await context.coinType(coinType) : ALL_COINS;
    const few = coinTypes == null ? undefined : await canonicalOf(context, coinTypes);
    const place = after ?? (await topics.end(name));
    if (after === undefined && place !== undefined) beganAt(log.show(place));
    return follow({
      log,
      topics,
      coinType: name,
      begin: place,
      chosen: few === undefined ? chosen : amongFew(across, few, chosen),
      pace,
      signal,
    });
  };
};

/** The `subscribe` of a log whose places are positions. */
export const subscribingByPosition = <Row extends { readonly coinType: string }>(
  logs: FollowedLogs<Row, bigint>,
) => {
  const follow = following(logs);
  return (
    _root: object,
    args: Pick<FollowQuery<Row, bigint>, "coinType" | "coinTypes"> & {
      readonly after?: string | null | undefined;
    },
    context: GraphContext,
  ) => follow(context, { ...args, after: positionOf(afterOf(context, args.after)) });
};

const topicsOf = <Row, Place>(log: EventLog<Row, Place>) => {
  const known = new WeakMap<Following, LogTopics<Row, Place>>();
  return (watch: Following): LogTopics<Row, Place> => {
    const found = known.get(watch) ?? createLogTopics(log, watch);
    known.set(watch, found);
    return found;
  };
};

const canonicalOf = async (
  context: GraphContext,
  coinTypes: readonly string[],
): Promise<readonly string[]> => {
  if (coinTypes.length === 0 || coinTypes.length > MOST_COIN_TYPES) {
    throw badInput(
      `coinTypes must be 1 to ${MOST_COIN_TYPES} coin types; they are ${coinTypes.length}. Leave it out for all coins`,
    );
  }
  const canonical = await Promise.all(coinTypes.map(async (each) => context.coinType(each)));
  return [...new Set(canonical)];
};

/** Those of a few coin types, picked out of what is read of all. */
const amongFew = <Row extends { readonly coinType: string }, Place>(
  across: AcrossLog<Row, Place>,
  coinTypes: readonly string[],
  chosen: Chosen<Row, Place> | undefined,
): Chosen<Row, Place> => {
  const few = new Set(coinTypes);
  return {
    wants: (row) => few.has(row.coinType) && (chosen?.wants(row) ?? true),
    page: (from, _all, after, limit) =>
      chosen?.pageOf?.(from, { coinTypes, after, limit }) ??
      across.pageOf(from, { coinTypes, after, limit }),
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
