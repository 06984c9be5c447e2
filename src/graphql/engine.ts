/**
 * Answers GraphQL requests.
 *
 * A request is read first: its document, variables and cost decide whether it is admitted. A document that came
 * before runs compiled. Everything else (new documents, refusals, unusual bodies) goes through yoga. A test
 * compares the answers of both.
 */
import { GraphQLError, type GraphQLSchema, getVariableValues, OperationTypeNode } from "graphql";
import type { CompiledQuery } from "graphql-jit";
import { z } from "zod";
import type { Moment } from "../log/between.ts";
import { NotYetIndexedError } from "../projections/past.ts";
import { highest } from "../values/bigints.ts";
import {
  createContexts,
  type GraphContext,
  type GraphSources,
  type Subscriber,
} from "./context.ts";
import { createDocuments, type KnownDocument, type Operation } from "./documents.ts";
import {
  askedIn,
  badRequest,
  errorsBody,
  printed,
  reportTo,
  throwDatabaseTrouble,
} from "./errors.ts";
import { costError, introspectionError, LIMITS } from "./limits.ts";
import { createPersistedDocuments, parsedOf } from "./persisted.ts";
import type { ReadPlan } from "./read-plan.ts";
import type { GraphAnswer, RequestScope } from "./request.ts";
import type { PageCost } from "./streams/catch-up.ts";
import { type OpenedSubscription, openSubscription } from "./streams/subscription.ts";
import { PAGE_ROWS } from "./streams/topic.ts";
import { createInterpreter, type InterpretedRequest } from "./yoga.ts";

/** A request that was read and has not run. */
export type ReadRequest = {
  /** Requests that it counts for in the rate limit of its key. */
  readonly requests: number;
  /** Weight while it is under way, see `Admission`. */
  readonly weight: number;
  /** Whether it runs compiled. */
  readonly compiled: boolean;
  /** Undefined for a query, and for a subscription that is refused. */
  readonly subscription?: ReadSubscription | undefined;
  /**
   * Runs it, from its beginning each time.
   * @param accept `Accept` of the caller: decides the status of refused requests
   * @throws a failure of the database that may pass
   */
  answer(accept: string | undefined, scope: RequestScope): Promise<GraphAnswer>;
};

/** A subscription that was read and is not open. */
export type ReadSubscription = PageCost & {
  open(
    subscriber: Omit<Subscriber, "watcher" | "beganAt">,
    scope: RequestScope,
  ): Promise<OpenedSubscription>;
};

export type GraphEngine = {
  /** Reads a request's body, valid or not. */
  /** @param caller whose persisted documents it may name */
  read(body: string, caller?: string): ReadRequest;
};

/** Values of an answer that count as one request. */
const COST_PER_REQUEST = 1_000;

/** Lexical tokens of an uncached document that count as one request: parsing takes work, too. */
const TOKENS_PER_REQUEST = 100;

/** The schema is long, and only tools ask for it. */
const INTROSPECTION_REQUESTS = 10;
const INTROSPECTION_WEIGHT = 25_000;

/** A statement holds a connection, however few rows it returns. */
const STATEMENT_WEIGHT = 500;

/** With this type the status says whether the request was understood; with `application/json` it is 200. */
export const RESPONSE_JSON = "application/graphql-response+json";
const JSON_TYPE = "application/json";

/** The usual form of a body; yoga judges all others. A null counts as absent, under any name. */
const plainBody = z
  .object({
    query: z.string(),
    operationName: z.string().nullish(),
    variables: z.record(z.string(), z.unknown()).nullish(),
    extensions: z.record(z.string(), z.unknown()).nullish(),
  })
  .catchall(z.null());

/** A body in the usual form: its document, and its operation with variables. */
type Plain = {
  readonly known: KnownDocument;
  /** Tokens that were parsed for it; 0 for a cached document. */
  readonly newTokens: number;
  readonly operation?: Operation | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Cost with these variables; 0 when they are invalid. */
  readonly cost: number;
  /** Absent when it cannot run. */
  readonly plan?: ReadPlan | undefined;
  /** Whether it can run: its variables are valid, and it is within the limits. */
  readonly fits: boolean;
  readonly refusal?: GraphQLError | undefined;
};

export const createEngine = (schema: GraphQLSchema, sources: GraphSources): GraphEngine => {
  const documents = createDocuments(schema);
  const contexts = createContexts(sources);
  const interpreter = createInterpreter(schema);
  const persisted = createPersistedDocuments();

  const readPlain = (body: string): Plain | undefined => {
    const given = plainBody.safeParse(parsedOf(body));
    if (!given.success) return undefined;
    // Without a prototype, so that "constructor" is no variable.
    const variables = Object.assign(Object.create(null), given.data.variables);
    const { known, newTokens } = documents.read(given.data.query);
    const operation = known.operation(given.data.operationName);
    const none = { known, newTokens, operation, variables, cost: 0, fits: false };
    if (operation === undefined) return none;
    const definitions = operation.node.variableDefinitions ?? [];
    const { variableValues } = getVariableValues(schema, definitions, variables);
    if (variableValues === undefined) return none;
    const cost = operation.costOf(variableValues.coerced);
    const refusal = refusalOf(cost, operation);
    const fits = refusal === undefined;
    const plan = fits ? operation.plan(variableValues) : undefined;
    return { ...none, cost, fits, refusal, plan };
  };

  const subscriptionIn = (plain: Plain): ReadSubscription | undefined => {
    const { operation, known, variables, cost, fits } = plain;
    const { document } = known;
    if (!fits || document === undefined) return undefined;
    if (operation?.node.operation !== OperationTypeNode.SUBSCRIPTION) return undefined;
    return {
      requestsFor: (rows) => Math.max(1, Math.ceil((cost * rows) / COST_PER_REQUEST)),
      pageWeight: STATEMENT_WEIGHT + cost * PAGE_ROWS,
      open: async (subscriber, scope) => {
        let at: string | undefined;
        const beganAt = (place: string) => {
          at = place;
        };
        const opened = await openSubscription({
          schema,
          document,
          operationName: operation.node.name?.value,
          variables,
          context: contexts.ofSubscription({ ...subscriber, beganAt }),
          scope,
          sharedBy: operation.isPlain ? operation : undefined,
        });
        return { ...opened, at };
      },
    };
  };

  return {
    read(given, caller = "") {
      const whole = persisted.complete(given, caller);
      if (whole instanceof GraphQLError) return refusedRequest(whole);
      const { body, keep } = whole;
      const plain = readPlain(body);
      // Not one that cannot run: what is kept has been weighed.
      if (plain?.operation !== undefined) keep?.();
      const subscription = plain && subscriptionIn(plain);
      const compiled =
        plain?.fits && subscription === undefined ? plain.operation?.use() : undefined;
      const { requests, weight } = measured(plain);
      return {
        requests,
        weight,
        compiled: compiled !== undefined,
        subscription,
        answer: async (accept, scope) => {
          const contentType = accept?.includes(RESPONSE_JSON) ? RESPONSE_JSON : JSON_TYPE;
          const attemptNow = async (onErrors: OnErrors): Promise<GraphAnswer> => {
            const begun = contexts.openQuery(scope, weight, plain?.plan);
            const { context, end } = begun instanceof Promise ? await begun : begun;
            try {
              if (compiled !== undefined && plain !== undefined) {
                return {
                  status: 200,
                  contentType: `${contentType}; charset=utf-8`,
                  body: await run(compiled, context, plain.variables, scope, onErrors),
                };
              }
              const judgement = subscription === undefined ? judged(plain) : asStreamOnly(plain);
              return await interpreter(
                { body, contentType, context, ...judgement, onErrors },
                scope,
              );
            } finally {
              end();
            }
          };
          const { signal } = scope;
          const introspects = plain?.fits === true && (plain.operation?.introspections ?? 0) > 0;
          const attempt = (onErrors: OnErrors): Promise<GraphAnswer> =>
            introspects
              ? contexts.introspect(() => attemptNow(onErrors), signal)
              : attemptNow(onErrors);
          const wanted = highest(scope.minCheckpoint ?? -1n, plain?.plan?.minCheckpoint ?? -1n);
          // What cannot run is refused at once.
          if (wanted >= 0n && plain?.fits !== false) {
            try {
              await sources.reach?.(wanted, scope);
            } catch (error) {
              if (!(error instanceof NotYetIndexedError)) throw error;
              return notYet(error, contentType, scope);
            }
          }
          let asked: readonly Moment[] = [];
          const answer = await attempt((errors) => {
            asked = askedIn(errors);
          });
          const { findSummaries } = sources;
          if (asked.length === 0 || findSummaries === undefined) return answer;
          // From its beginning: what was found lies behind the snapshot of the first attempt.
          return (await findSummaries(asked, signal)) ? attempt(() => undefined) : answer;
        },
      };
    },
  };
};

/** Answered without the interpreter, which would report the missing document. */
const refusedRequest = (refusal: GraphQLError): ReadRequest => ({
  requests: 1,
  weight: 1,
  compiled: false,
  answer: async (accept, scope) => {
    const contentType = accept?.includes(RESPONSE_JSON) ? RESPONSE_JSON : JSON_TYPE;
    return {
      status: contentType === RESPONSE_JSON ? 400 : 200,
      contentType: `${contentType}; charset=utf-8`,
      body: errorsBody(refusal, scope),
    };
  },
});

const refusalOf = (cost: number, { introspections }: Operation): GraphQLError | undefined => {
  if (introspections > LIMITS.introspections) return introspectionError(introspections);
  return cost > LIMITS.cost ? costError(cost) : undefined;
};

/** The document and its errors, for the interpreter. */
const judged = (plain: Plain | undefined): Pick<InterpretedRequest, "document" | "errors"> => {
  if (plain === undefined) return {};
  const { known, refusal } = plain;
  return { document: known.document, errors: refusal === undefined ? known.errors : [refusal] };
};

const asStreamOnly = (
  plain: Plain | undefined,
): Pick<InterpretedRequest, "document" | "errors"> => ({
  ...judged(plain),
  errors: [badRequest("a subscription is answered with events: send Accept: text/event-stream")],
});

const measured = (plain: Plain | undefined): Pick<ReadRequest, "requests" | "weight"> => {
  const reading = Math.ceil((plain?.newTokens ?? 0) / TOKENS_PER_REQUEST);
  if (plain?.operation === undefined || !plain.fits) {
    return { requests: Math.max(1, reading), weight: 1 };
  }
  const { cost, operation } = plain;
  const { introspections, rootFields } = operation;
  return {
    requests: Math.max(
      1,
      reading,
      Math.ceil(cost / COST_PER_REQUEST),
      introspections * INTROSPECTION_REQUESTS,
    ),
    weight: cost + rootFields * STATEMENT_WEIGHT + introspections * INTROSPECTION_WEIGHT,
  };
};

/** Refuses a request as a whole: only the newer media type lets the status say so. */
const notYet = (error: NotYetIndexedError, contentType: string, scope: RequestScope) => ({
  status: contentType === RESPONSE_JSON ? 409 : 200,
  contentType: `${contentType}; charset=utf-8`,
  body: errorsBody(error, scope),
});

type OnErrors = (errors: readonly GraphQLError[]) => void;

/** Runs a compiled query and returns the text of its answer. */
const run = async (
  { query }: CompiledQuery,
  context: GraphContext,
  variables: Readonly<Record<string, unknown>>,
  scope: RequestScope,
  onErrors: OnErrors,
): Promise<string> => {
  const { data, errors } = await query(undefined, context, variables);
  const extensions = context.leftOut.extensions();
  if (errors === undefined) return JSON.stringify({ data, extensions });
  throwDatabaseTrouble(errors);
  onErrors(errors);
  const unforeseen = reportTo(scope);
  const shown = errors.map((error) => printed(error, scope.requestId, unforeseen));
  return JSON.stringify({ errors: shown, data, extensions });
};
