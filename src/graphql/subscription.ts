/** Runs a subscription: its document decides what is followed, and what is made of each event. */
import {
  createSourceEventStream,
  type DocumentNode,
  executeSubscriptionEvent,
  type GraphQLError,
  type GraphQLSchema,
  type ValidatedSubscriptionArgs,
  validateSubscriptionArgs,
} from "graphql";
import { databaseRetries } from "../database/database-error.ts";
import type { Backoff } from "../waiting/backoff.ts";
import { retrying } from "../waiting/retrying.ts";
import type { GraphContext } from "./context.ts";
import { printed, reportTo, rootCause } from "./errors.ts";
import { Live } from "./event-log.ts";
import type { RequestScope } from "./request.ts";
import { nextEvent } from "./sse.ts";

/** An event as it is sent. */
export type Frame = {
  readonly bytes: Buffer;
  /** Where to go on from after it. */
  readonly at: string | undefined;
};

/** A subscription as it began, or the errors for which it did not, as JSON. */
export type Begun =
  | {
      readonly kind: "open";
      readonly frames: AsyncIterable<Frame>;
      /** Where it begins, when the caller has not said so, and there is anything before. */
      readonly at?: string | undefined;
    }
  | { readonly kind: "refused"; readonly body: string };

export type SubscriptionRun = {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName: string | null | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly context: GraphContext;
  readonly scope: RequestScope;
  /** Subscriptions with the same one make the same of an event; undefined: nobody else does. */
  readonly alike: object | undefined;
};

export const beginSubscription = async (run: SubscriptionRun): Promise<Begun> => {
  const { schema, document, operationName, variables, context, scope } = run;
  const refused = (errors: readonly GraphQLError[]): Begun => {
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
  run: SubscriptionRun,
): AsyncGenerator<Frame, void, undefined> {
  const { alike, scope } = run;
  for await (const live of source) {
    if (!(live instanceof Live)) throw new Error("a subscription followed something unknown");
    const { at } = live;
    const known = alike === undefined ? undefined : live.frames.get(alike);
    if (known instanceof Buffer) {
      yield { bytes: known, at };
      continue;
    }
    // An event is sent whole or not at all: who went on behind its errors would never have it.
    const bytes = await retrying(
      async () => (alike && live.frames.get(alike)) ?? frameOf(live, args, alike),
      { ...databaseRetries, backoff: AGAIN },
      scope.signal ?? NEVER,
    );
    if (bytes === undefined) return;
    yield { bytes, at };
  }
}

/** A database that does not answer is asked again. */
const AGAIN: Backoff = { firstMs: 250, maxMs: 5_000 };

const NEVER = new AbortController().signal;

/** @throws what a resolver threw */
const frameOf = (
  live: Live<unknown>,
  args: ValidatedSubscriptionArgs,
  alike: object | undefined,
): Promise<Buffer> => {
  const make = async (): Promise<Buffer> => {
    const { data, errors } = await executeSubscriptionEvent({ ...args, rootValue: live });
    const [error] = errors ?? [];
    if (error !== undefined) throw rootCause(error);
    return Buffer.from(nextEvent(JSON.stringify({ data }), live.at));
  };
  const made = make();
  if (alike !== undefined) {
    live.frames.set(alike, made);
    // Who comes later need not wait for it.
    void made.then(
      (bytes) => live.frames.get(alike) === made && live.frames.set(alike, bytes),
      () => live.frames.delete(alike),
    );
  }
  return made;
};
