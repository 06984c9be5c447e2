/**
 * Answers GraphQL requests.
 *
 * A request is read first: its document, variables and cost decide whether it is admitted. A document that came
 * before runs compiled, a new one is interpreted. A test compares the answers of both.
 */

import { execute } from "@graphql-tools/executor";
import {
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  OperationTypeNode,
} from "graphql";
import { z } from "zod";
import {
  createContexts,
  type GraphContext,
  type GraphSources,
  type Subscriber,
} from "./context.ts";
import { createDocuments, type Operation } from "./documents.ts";
import { badInput, resultText } from "./errors.ts";
import { LIMITS, tooCostly, tooOftenTheSchema } from "./limits.ts";
import type { ReadPlan } from "./read-plan.ts";
import type { GraphAnswer, RequestScope } from "./request.ts";
import type { PageCost } from "./streams/catch-up.ts";
import { type OpenedSubscription, openSubscription } from "./streams/subscription.ts";
import { PAGE_ROWS } from "./streams/topic.ts";

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
   * Runs it, once.
   * @param accept `Accept` of the caller: decides the status of refused requests
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
  read(body: string): ReadRequest;
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

const plainBody = z.strictObject({
  query: z.string().optional(),
  operationName: z.string().optional(),
  variables: z.record(z.string(), z.unknown()).optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
});

/** A request as it was read: it runs when it has an operation and no errors. */
type Plain = {
  /** Tokens that were parsed for it; 0 for a cached document. */
  readonly newTokens: number;
  readonly operation?: Operation | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Cost with these variables; 0 when they are invalid. */
  readonly cost: number;
  /** Absent when it cannot run. */
  readonly plan?: ReadPlan | undefined;
  /** Why it must not run. */
  readonly errors: readonly GraphQLError[];
  /** Status of the refusal as `application/json`: 200 for what is wrong with the document. */
  readonly refusalStatus: 200 | 400;
};

export const createEngine = (schema: GraphQLSchema, sources: GraphSources): GraphEngine => {
  const documents = createDocuments(schema);
  const contexts = createContexts(sources);

  const readPlain = (body: string): Plain => {
    const none = { newTokens: 0, variables: {}, cost: 0 };
    const given = bodyOf(body);
    if ("errors" in given) return { ...none, ...given };
    // Without a prototype, so that "constructor" is no variable.
    const variables = Object.assign(Object.create(null), given.variables);
    const { known, newTokens } = documents.read(given.query);
    const { document, errors } = known;
    const read = { ...none, newTokens, variables };
    if (document !== undefined && getOperationAST(document, given.operationName) == null) {
      const error = badInput("Could not determine what operation to execute.");
      return { ...read, ...refused(error, 400) };
    }
    const operation = known.operation(given.operationName);
    if (operation === undefined) return { ...read, errors, refusalStatus: 200 };
    const definitions = operation.node.variableDefinitions ?? [];
    const values = getVariableValues(schema, definitions, variables, MAX_ERRORS);
    if (values.variableValues === undefined) {
      // Without their causes, whose messages do not name the variable.
      const invalid = values.errors.map(
        ({ message, nodes }) => new GraphQLError(message, { nodes }),
      );
      return { ...read, operation, errors: invalid, refusalStatus: 400 };
    }
    const { variableValues } = values;
    const cost = operation.costOf(variableValues.coerced);
    const refusal = refusalOf(cost, operation);
    if (refusal !== undefined) return { ...read, operation, cost, ...refused(refusal, 200) };
    const plan = operation.plan(variableValues);
    return { ...read, operation, cost, plan, errors, refusalStatus: 200 };
  };

  const subscriptionIn = (plain: Plain): ReadSubscription | undefined => {
    const { operation, variables, cost, errors } = plain;
    if (errors.length > 0) return undefined;
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
          document: operation.document,
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
    read(body) {
      const plain = readPlain(body);
      const subscription = subscriptionIn(plain);
      const errors = subscription === undefined ? plain.errors : [STREAM_ONLY];
      const compiled = errors.length === 0 ? plain.operation?.use() : undefined;
      const { requests, weight } = measured(plain);
      return {
        requests,
        weight,
        compiled: compiled !== undefined,
        subscription,
        answer: async (accept, scope) => {
          const isStrict = accept?.includes(RESPONSE_JSON) ?? false;
          const contentType = `${isStrict ? RESPONSE_JSON : JSON_TYPE}; charset=utf-8`;
          const { operation, variables } = plain;
          if (operation === undefined || errors.length > 0) {
            const status = isStrict ? 400 : plain.refusalStatus;
            return { status, contentType, body: resultText({ errors }, scope) };
          }
          const begun = contexts.openQuery(scope, weight, plain.plan);
          const { context, end } = begun instanceof Promise ? await begun : begun;
          try {
            const result = await (compiled?.query(undefined, context, variables) ??
              interpreted(schema, operation, variables, context));
            return { status: 200, contentType, body: resultText(result, scope) };
          } finally {
            end();
          }
        },
      };
    },
  };
};

/** Of a request with many invalid variables. */
const MAX_ERRORS = { maxErrors: 50 };

const STREAM_ONLY = badInput(
  "a subscription is answered with events: send Accept: text/event-stream",
);

/** Why a request is refused, as members of `Plain`. */
const refused = (error: GraphQLError, refusalStatus: Plain["refusalStatus"]) => ({
  errors: [error],
  refusalStatus,
});

/** The members of a body, or why it is refused. A member that is null counts as absent. */
const bodyOf = (text: string) => {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return refused(badInput("POST body sent invalid JSON."), 200);
  }
  if (Array.isArray(given)) return refused(badInput("Batching is not supported."), 400);
  const members =
    typeof given === "object" && given !== null
      ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
      : given;
  const { data, error } = plainBody.safeParse(members);
  if (data === undefined) {
    const faults = error.issues.map(({ path, message }) => [...path, message].join(": "));
    return refused(badInput(`The body is not a GraphQL request: ${faults.join("; ")}`), 400);
  }
  const { query } = data;
  if (query === undefined) return refused(badInput("Must provide query string."), 200);
  return { ...data, query };
};

/** Not by `execute` of the package `graphql`, whose error messages differ from those of compiled queries. */
const interpreted = async (
  schema: GraphQLSchema,
  { document }: Operation,
  variableValues: Readonly<Record<string, unknown>>,
  contextValue: GraphContext,
) => {
  const result = await execute<Record<string, unknown>>({
    schema,
    document,
    variableValues,
    contextValue,
  });
  // The schema has neither @defer nor @stream.
  return "initialResult" in result ? result.initialResult : result;
};

const refusalOf = (cost: number, { introspections }: Operation): GraphQLError | undefined => {
  if (introspections > LIMITS.introspections) return tooOftenTheSchema(introspections);
  return cost > LIMITS.cost ? tooCostly(cost) : undefined;
};

const measured = (plain: Plain): Pick<ReadRequest, "requests" | "weight"> => {
  const { cost, operation, newTokens, errors } = plain;
  const reading = Math.ceil(newTokens / TOKENS_PER_REQUEST);
  if (operation === undefined || errors.length > 0) {
    return { requests: Math.max(1, reading), weight: 1 };
  }
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
