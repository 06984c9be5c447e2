/**
 * Subscriptions: from the arguments of a field to the events that it follows, and from each event to the bytes
 * that its document makes of it.
 */
import {
  createSourceEventStream,
  type DocumentNode,
  executeSubscriptionEvent,
  type GraphQLError,
  type GraphQLSchema,
  type ValidatedSubscriptionArgs,
  validateSubscriptionArgs,
} from "graphql";
import { databaseRetries } from "../../database/database-error.ts";
import { NotYetIndexedError, RebuildingError } from "../../projections/past.ts";
import type { Backoff } from "../../waiting/backoff.ts";
import { retrying } from "../../waiting/retrying.ts";
import { builder } from "../builder.ts";
import type { GraphContext, Subscriber } from "../context.ts";
import { badInput, printed, reportTo, rootCause, throwDatabaseTrouble } from "../errors.ts";
import { coinTypeArgument, positionOf } from "../input.ts";
import { shownHold } from "../left-out.ts";
import type { RequestScope } from "../request.ts";
import { catchUp, type EventFilter } from "./catch-up.ts";
import { type MissingPlaces, placeWithMissing } from "./missing.ts";
import { type Frame, nextEvent } from "./sse.ts";
import { type AcrossLog, ALL_COINS, createTopics, type EventLog, type Topics } from "./topic.ts";
import { Hold, Live, type Watcher } from "./watcher.ts";

/** Coin types of one subscription; each page reads as many rows of each. */
const MAX_COIN_TYPES = 100;

/** The arguments of all fields that follow a log. */
export const followArguments = builder.args((t) => ({
  coinType: t.string({ ...coinTypeArgument, required: false }),
  coinTypes: t.stringList({
    description: `Up to ${MAX_COIN_TYPES} coin types in place of one, their events in chain order. Without coinType and coinTypes: all coins, including those issued later.`,
  }),
  after: t.string({
    description:
      "Place of the last event seen, as that event shows it: the subscription continues with every event after it. " +
      "Without it, with the next event. capTable { followCursor } and _meta { followPosition } show the place at " +
      "which a copy ends. An event with extensions.after says its place there.",
  }),
}));

/** The events that a caller subscribes to. */
type Wanted<Row, Place> = {
  /** As the caller wrote them; all coins without either. */
  readonly coinType?: string | null | undefined;
  readonly coinTypes?: readonly string[] | null | undefined;
  /** Where it continues, see `placeOf`. */
  readonly from: { readonly after: Place | undefined; readonly missing: MissingPlaces<Place> };
  readonly filter?: EventFilter<Row, Place> | undefined;
};

/** A log by coin type, and the same log across coin types. */
type FollowedLogs<Row, Place> = {
  readonly one: EventLog<Row, Place>;
  readonly across: AcrossLog<Row, Place>;
};

/** The `subscribe` of a log; its topics are shared by all subscribers. */
export const followLog = <Row extends { readonly coinType: string }, Place>({
  one,
  across,
}: FollowedLogs<Row, Place>) => {
  const [topicsOfOne, topicsAcross] = [topicsByWatcher(one), topicsByWatcher(across)];
  return async (
    context: GraphContext,
    { coinType, coinTypes, from: { after, missing }, filter }: Wanted<Row, Place>,
  ): Promise<AsyncIterable<Live<Row> | Hold>> => {
    const { watcher, pace, signal, beganAt } = subscriberOf(context);
    const isOne = coinType !== null && coinType !== undefined;
    if (isOne && coinTypes != null) {
      throw badInput("give coinType or coinTypes, not both", {
        argument: "coinType",
        reason: "CONFLICTS_WITH",
        conflictsWith: "coinTypes",
      });
    }
    const log = isOne ? one : across;
    const topics = isOne ? topicsOfOne(watcher) : topicsAcross(watcher);
    const name = isOne ? await context.coinType(coinType) : ALL_COINS;
    const few = coinTypes == null ? undefined : await canonicalOf(context, coinTypes);
    const begin = after ?? (await topics.end(name));
    if (after === undefined && begin !== undefined) beganAt(log.show(begin));
    return catchUp({
      log,
      topics,
      coinType: name,
      begin,
      filter: few === undefined ? filter : amongFew(across, few, filter),
      pageOf: isOne ? undefined : (filter?.pageOf ?? across.pageOf),
      wantsCoin: (each) => (isOne ? each === name : (few?.includes(each) ?? true)),
      missing,
      pace,
      signal,
    });
  };
};

/** The `subscribe` of a log whose places are positions. */
export const followByPosition = <Row extends { readonly coinType: string }>(
  logs: FollowedLogs<Row, bigint>,
) => {
  const follow = followLog(logs);
  return (
    _root: object,
    args: Pick<Wanted<Row, bigint>, "coinType" | "coinTypes"> & {
      readonly after?: string | null | undefined;
    },
    context: GraphContext,
  ) => follow(context, { ...args, from: continued(context, args.after, positionOf) });
};

const topicsByWatcher = <Row extends { readonly coinType: string }, Place>(
  log: EventLog<Row, Place>,
) => {
  const known = new WeakMap<Watcher, Topics<Row, Place>>();
  return (watcher: Watcher): Topics<Row, Place> => {
    const topics = known.get(watcher) ?? createTopics(log, watcher);
    known.set(watcher, topics);
    return topics;
  };
};

const canonicalOf = async (
  context: GraphContext,
  coinTypes: readonly string[],
): Promise<readonly string[]> => {
  if (coinTypes.length === 0 || coinTypes.length > MAX_COIN_TYPES) {
    throw badInput(
      `coinTypes must be 1 to ${MAX_COIN_TYPES} coin types; they are ${coinTypes.length}. Leave it out for all coins`,
      { argument: "coinTypes", reason: "OUT_OF_RANGE" },
    );
  }
  const canonical = await Promise.all(coinTypes.map(async (each) => context.coinType(each)));
  return [...new Set(canonical)];
};

/** The events of a few coin types among all. */
const amongFew = <Row extends { readonly coinType: string }, Place>(
  across: AcrossLog<Row, Place>,
  coinTypes: readonly string[],
  filter: EventFilter<Row, Place> | undefined,
): EventFilter<Row, Place> => {
  const few = new Set(coinTypes);
  return {
    wants: (row) => few.has(row.coinType) && (filter?.wants(row) ?? true),
    page: (from, _all, after, limit) =>
      filter?.pageOf?.(from, { coinTypes, after, limit }) ??
      across.pageOf(from, { coinTypes, after, limit }),
  };
};

/** Where a subscription continues: a reconnection's `Last-Event-ID` replaces the argument. */
export const continued = <Place>(
  context: GraphContext,
  after: string | null | undefined,
  placeOf: (text: string | null | undefined) => Place | undefined,
): Wanted<unknown, Place>["from"] =>
  placeWithMissing(subscriberOf(context).lastEventId ?? after, placeOf);

/** The event that a document is executed for; holds have none. */
export const eventIn = <Row>(event: Live<Row> | Hold): Live<Row> => {
  if (event instanceof Hold) throw new Error("a hold was executed as an event");
  return event;
};

export const subscriberOf = ({ subscriber }: GraphContext): Subscriber => {
  if (subscriber === undefined) throw new Error("a subscription was run as a query");
  return subscriber;
};

/** An open subscription, or as JSON the errors that refused it. */
export type OpenedSubscription =
  | {
      readonly kind: "open";
      readonly frames: AsyncIterable<Frame>;
      /** Where it begins, unless the caller said so or the log is empty. */
      readonly at?: string | undefined;
    }
  | { readonly kind: "refused"; readonly body: string };

type SubscriptionRun = {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName: string | null | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly context: GraphContext;
  readonly scope: RequestScope;
  /** Subscriptions with the same key make the same bytes of an event; undefined: no other does. */
  readonly sharedBy: object | undefined;
};

export const openSubscription = async (run: SubscriptionRun): Promise<OpenedSubscription> => {
  const { schema, document, operationName, variables, context, scope } = run;
  const refused = (errors: readonly GraphQLError[]): OpenedSubscription => {
    throwDatabaseTrouble(errors);
    const shown = errors.map((error) => printed(error, scope.requestId, reportTo(scope)));
    return { kind: "refused", body: JSON.stringify({ errors: shown }) };
  };
  const args = validateSubscriptionArgs({
    schema,
    document,
    operationName,
    variableValues: variables,
    contextValue: context,
  });
  if (!("schema" in args)) return refused(args);
  const source = await createSourceEventStream(args);
  if ("errors" in source) return refused(source.errors ?? []);
  if (!(Symbol.asyncIterator in source)) return refused([]);
  return { kind: "open", frames: framesOf(source, args, run) };
};

async function* framesOf(
  source: AsyncIterable<unknown>,
  args: ValidatedSubscriptionArgs,
  { sharedBy, scope }: SubscriptionRun,
): AsyncGenerator<Frame, void, undefined> {
  for await (const live of source) {
    if (live instanceof Hold) {
      yield { bytes: holdFrame(live), at: live.at };
      continue;
    }
    if (!(live instanceof Live)) throw new Error("a subscription followed something unknown");
    const { at } = live;
    const known = sharedBy === undefined ? undefined : live.frames.get(sharedBy);
    if (known instanceof Buffer) {
      yield { bytes: known, at };
      continue;
    }
    // An event is sent whole or not at all: a subscriber that went on behind its errors would never get it.
    const bytes = await retrying(
      async () => (sharedBy && live.frames.get(sharedBy)) ?? frameOf(live, args, sharedBy),
      { ...frameRetries, backoff: FRAME_RETRIES },
      scope.signal ?? NEVER,
    );
    if (bytes === undefined) return;
    yield { bytes, at };
  }
}

/** A result without data: only its extensions say something. */
const holdFrame = ({ coin, after, at }: Hold): Buffer => {
  const hold = { ...shownHold(coin), after };
  return Buffer.from(
    nextEvent(JSON.stringify({ data: null, extensions: { hold, after: at } }), at),
  );
};

/** Another pipeline's part of an event follows within moments. */
const SOON_MS = 100;

const frameRetries = {
  // It takes too long for a stream.
  remedy: (error: unknown) =>
    error instanceof RebuildingError ? "stop" : databaseRetries.remedy(error),
  mostMs: (error: unknown) =>
    error instanceof NotYetIndexedError ? SOON_MS : databaseRetries.mostMs(error),
} as const;

/** Pauses before an event is made again while the database does not answer. */
const FRAME_RETRIES: Backoff = { firstMs: 250, maxMs: 5_000 };

const NEVER = new AbortController().signal;

/** @throws what a resolver threw */
const frameOf = (
  live: Live<unknown>,
  args: ValidatedSubscriptionArgs,
  sharedBy: object | undefined,
): Promise<Buffer> => {
  const make = async (): Promise<Buffer> => {
    const { data, errors } = await executeSubscriptionEvent({ ...args, rootValue: live });
    const [error] = errors ?? [];
    if (error !== undefined) throw rootCause(error);
    const extensions = live.namesHolds ? { after: live.at } : undefined;
    return Buffer.from(nextEvent(JSON.stringify({ data, extensions }), live.at));
  };
  const made = make();
  if (sharedBy !== undefined) {
    live.frames.set(sharedBy, made);
    // Later subscribers need not wait for a promise.
    void made.then(
      (bytes) => live.frames.get(sharedBy) === made && live.frames.set(sharedBy, bytes),
      () => live.frames.delete(sharedBy),
    );
  }
  return made;
};
