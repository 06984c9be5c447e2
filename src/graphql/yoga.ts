/** The engine: parses, checks and runs GraphQL requests, and publishes their errors. */
import { type DocumentNode, GraphQLError, type GraphQLSchema, parse } from "graphql";
import { createLRUCache, createYoga, type Plugin } from "graphql-yoga";
import type { Logger } from "../logger.ts";
import { createContext, type GraphSources } from "./context.ts";
import { published } from "./errors.ts";
import { aliasRule, depthRule, LIMITS, refuseCostly } from "./limits.ts";

/** What a request brings besides its body. */
export type RequestScope = {
  readonly requestId: string;
  readonly log: Pick<Logger, "error">;
};

/** An answer, ready to be sent. */
export type GraphAnswer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};

export type GraphEngine = {
  /** Answers one request body, which must be JSON text. */
  answer(
    request: {
      readonly body: string;
      /** `Accept` of the caller: decides how refused requests show in the status. */
      readonly accept: string | undefined;
    },
    scope: RequestScope,
  ): Promise<GraphAnswer>;
};

/** Parsed documents kept for callers that send the same again; a document of 1000 tokens takes 0.5 MB. */
const KEPT_DOCUMENTS = 100;

/** Its status says whether the request was understood; `application/json` is 200 for whatever ran. */
const RESPONSE_JSON = "application/graphql-response+json";

export const createEngine = (schema: GraphQLSchema, sources: GraphSources): GraphEngine => {
  const yoga = createYoga<RequestScope>({
    schema,
    context: () => createContext(sources),
    plugins: [limits(schema), errorsForCallers],
    // Errors are masked by our own plugin, which knows the request's id.
    maskedErrors: false,
    logging: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    batching: false,
    maxRequestBodySize: LIMITS.bodyBytes,
    parserAndValidationCache: {
      documentCache: createLRUCache<DocumentNode>({ max: KEPT_DOCUMENTS }),
      errorCache: createLRUCache<Error>({ max: KEPT_DOCUMENTS }),
    },
  });
  return {
    async answer({ body, accept }, { requestId, log }) {
      const response = await yoga.fetch(
        "http://holderbook/graphql",
        {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: accept?.includes(RESPONSE_JSON) ? RESPONSE_JSON : "application/json",
          },
          body,
        },
        { requestId, log },
      );
      return {
        status: response.status,
        contentType: response.headers.get("content-type") ?? "application/json; charset=utf-8",
        body: await response.text(),
      };
    },
  };
};

/** The limits of limits.ts, each at the earliest moment it can be checked. */
const limits = (schema: GraphQLSchema): Plugin => ({
  onParse: ({ setParseFn }) => {
    setParseFn((source, options) => parse(source, { ...options, maxTokens: LIMITS.tokens }));
  },
  onValidate: ({ addValidationRule }) => {
    addValidationRule(depthRule);
    addValidationRule(aliasRule);
  },
  onExecute: ({ args, setResultAndStopExecution }) => {
    try {
      const { document, operationName, variableValues, contextValue } = args;
      refuseCostly(schema, document, operationName, variableValues ?? {}, contextValue);
    } catch (error) {
      // Anything else is a defect of ours and goes the way of all others.
      if (!(error instanceof GraphQLError)) throw error;
      setResultAndStopExecution({ errors: [error] });
    }
  },
});

/** Gives every error one of our codes, and masks those that are not for the caller. */
const errorsForCallers: Plugin<object, RequestScope> = {
  onResultProcess: ({ result, setResult, serverContext: { requestId, log } }) => {
    // No batches and no streams are made here; whatever else has no errors is passed on.
    if (Array.isArray(result) || !("errors" in result) || result.errors === undefined) return;
    const errors = result.errors.map((error) =>
      published(asGraphQLError(error), requestId, (cause) => {
        log.error({ err: cause, path: error.path?.join(".") }, "a query failed");
      }),
    );
    setResult({ ...result, errors });
  },
};

/** The engine's own errors are GraphQLError; its type only promises something like it. */
const asGraphQLError = (error: unknown): GraphQLError =>
  error instanceof GraphQLError
    ? error
    : new GraphQLError("", {
        originalError: error instanceof Error ? error : new Error(String(error)),
      });
