/**
 * Answers GraphQL requests, each by the shortest way that is right.
 *
 * A request is read first: its document, variables and cost decide whether it is let in. What came
 * before runs compiled. Everything else (new documents, refusals, whatever is not plain) goes through
 * yoga, which says what the compiled form would: a test holds the two against each other.
 */
import { type GraphQLSchema, getVariableValues } from "graphql";
import type { CompiledQuery } from "graphql-jit";
import { z } from "zod";
import { contextsOver, type GraphSources, type RequestScope } from "./context.ts";
import { createDocuments, type KnownDocument, type Operation } from "./documents.ts";
import { printed, reportTo } from "./errors.ts";
import { LIMITS, tooCostly } from "./limits.ts";
import { createInterpreter, type InterpretedRequest } from "./yoga.ts";

/** An answer, ready to be sent. */
export type GraphAnswer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};

/** A request that was read and not run. */
export type ReadRequest = {
  /** What it counts against the rate limit of its key. */
  readonly requests: number;
  /** What it weighs while it is under way: see `Admission`. */
  readonly weight: number;
  /** Whether it runs compiled. */
  readonly compiled: boolean;
  /**
   * Runs it, once.
   * @param accept `Accept` of the caller: decides how refused requests show in the status
   */
  answer(accept: string | undefined, scope: RequestScope): Promise<GraphAnswer>;
};

export type GraphEngine = {
  /** Reads a request's body, whatever it is. */
  read(body: string): ReadRequest;
};

/** Values of an answer that count as one request. */
const COST_PER_REQUEST = 1_000;

/** The schema is long, and asked for by tools and not by the hundred. */
const INTROSPECTION_REQUESTS = 10;
const INTROSPECTION_WEIGHT = 25_000;

/** A statement holds a connection, whatever it gives. */
const STATEMENT_WEIGHT = 500;

/** Its status says whether the request was understood; `application/json` is 200 for whatever ran. */
export const RESPONSE_JSON = "application/graphql-response+json";
export const JSON_TYPE = "application/json";

/** A body in the form nearly all have; others are for yoga to judge. */
const plainBody = z.strictObject({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

/** What became of a body: a document and perhaps an operation with its variables. */
type Plain = {
  readonly known: KnownDocument;
  readonly operation?: Operation | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Of the operation with these variables; 0 when they do not fit. */
  readonly cost: number;
  readonly fits: boolean;
};

export const createEngine = (schema: GraphQLSchema, sources: GraphSources): GraphEngine => {
  const documents = createDocuments(schema);
  const contextOf = contextsOver(sources);
  const interpreter = createInterpreter(schema);

  const readPlain = (body: string): Plain | undefined => {
    const given = plainBody.safeParse(parsedJson(body));
    if (!given.success) return undefined;
    const variables = given.data.variables ?? {};
    const known = documents.read(given.data.query);
    const operation = known.operation(given.data.operationName);
    if (operation === undefined) return { known, variables, cost: 0, fits: false };
    const definitions = operation.node.variableDefinitions ?? [];
    const { variableValues } = getVariableValues(schema, definitions, variables);
    if (variableValues === undefined) return { known, operation, variables, cost: 0, fits: false };
    const cost = operation.costOf(variableValues.coerced);
    return { known, operation, variables, cost, fits: cost <= LIMITS.cost };
  };

  return {
    read(body) {
      const plain = readPlain(body);
      const compiled = plain?.fits ? plain.operation?.use() : undefined;
      return {
        ...measured(plain),
        compiled: compiled !== undefined,
        answer: async (accept, scope) => {
          const contentType = accept?.includes(RESPONSE_JSON) ? RESPONSE_JSON : JSON_TYPE;
          const context = contextOf(scope.signal);
          if (compiled !== undefined && plain !== undefined) {
            return {
              status: 200,
              contentType: `${contentType}; charset=utf-8`,
              body: await run(compiled, context, plain.variables, scope),
            };
          }
          return interpreter({ body, contentType, context, ...judged(plain) }, scope);
        },
      };
    },
  };
};

/** Undefined for what is no JSON: nothing that could be a request. */
const parsedJson = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};

/** What the interpreter need not find out again. */
const judged = (plain: Plain | undefined): Pick<InterpretedRequest, "document" | "refusal"> => {
  if (plain?.operation === undefined) return {};
  const { document } = plain.known;
  return plain.cost > LIMITS.cost ? { document, refusal: tooCostly(plain.cost) } : { document };
};

const measured = (plain: Plain | undefined): Pick<ReadRequest, "requests" | "weight"> => {
  if (plain?.operation === undefined || !plain.fits) return { requests: 1, weight: 1 };
  const { cost, operation } = plain;
  const { introspects, rootFields } = operation;
  const weight = cost + rootFields * STATEMENT_WEIGHT;
  const requests = Math.max(1, Math.ceil(cost / COST_PER_REQUEST));
  if (!introspects) return { requests, weight };
  return {
    requests: Math.max(INTROSPECTION_REQUESTS, requests),
    weight: weight + INTROSPECTION_WEIGHT,
  };
};

/** Runs a compiled query; the text of its answer. */
const run = async (
  { query }: CompiledQuery,
  context: object,
  variables: Readonly<Record<string, unknown>>,
  scope: RequestScope,
): Promise<string> => {
  const { data, errors } = await query(undefined, context, { ...variables });
  if (errors === undefined) return JSON.stringify({ data });
  const unforeseen = reportTo(scope);
  const shown = errors.map((error) => printed(error, scope.requestId, unforeseen));
  return JSON.stringify({ errors: shown, data });
};
