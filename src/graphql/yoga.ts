/** The interpreter: yoga answers whatever is not compiled, and is the measure of what is. */
import { type DocumentNode, GraphQLError, type GraphQLSchema, parse } from "graphql";
import { createYoga, type Plugin } from "graphql-yoga";
import type { GraphContext } from "./context.ts";
import { badRequest, published, reportTo } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import type { GraphAnswer, RequestScope } from "./request.ts";

/** A request as the engine read it. */
export type InterpretedRequest = {
  readonly body: string;
  /** In which the answer is asked for. */
  readonly contentType: string;
  readonly context: GraphContext;
  /** Absent for a request in which there is none: yoga says what is wrong with it. */
  readonly document?: DocumentNode | undefined;
  /** Why the document, or its operation, is not to run; empty when it is. */
  readonly errors?: readonly GraphQLError[] | undefined;
};

type ServerContext = RequestScope & Omit<InterpretedRequest, "body" | "contentType">;

/** Makes the interpreter of a schema. */
export const createInterpreter = (
  schema: GraphQLSchema,
): ((request: InterpretedRequest, scope: RequestScope) => Promise<GraphAnswer>) => {
  const yoga = createYoga<ServerContext>({
    schema,
    context: ({ context }) => context,
    plugins: [asRead, errorsForCallers],
    // Errors are masked by our own plugin, which knows the request's id.
    maskedErrors: false,
    logging: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    batching: false,
    maxRequestBodySize: LIMITS.bodyBytes,
    // Documents are kept where they are read.
    parserAndValidationCache: false,
  });
  return async ({ body, contentType, ...read }, scope) => {
    const response = await yoga.fetch(
      "http://holderbook/graphql",
      {
        method: "POST",
        headers: { "content-type": "application/json", accept: contentType },
        body,
      },
      { ...scope, ...read },
    );
    return {
      status: response.status,
      contentType: response.headers.get("content-type") ?? `${contentType}; charset=utf-8`,
      body: await response.text(),
    };
  };
};

/** Takes a document as it was read already, and runs no other: only that one was weighed. */
const asRead: Plugin<ServerContext, ServerContext> = {
  onParse: ({ context: { document }, setParsedDocument, setParseFn }) => {
    if (document !== undefined) setParsedDocument(document);
    else setParseFn((source, options) => parse(source, { ...options, maxTokens: LIMITS.tokens }));
  },
  onValidate: ({ context: { document, errors = [] }, setResult }) => {
    setResult(document === undefined ? [badRequest("the request has a form not served")] : errors);
  },
};

/** Gives every error one of our codes, and masks those that are not for the caller. */
const errorsForCallers: Plugin<object, ServerContext> = {
  onResultProcess: ({ result, setResult, serverContext }) => {
    // No batches and no streams are made here; whatever else has no errors is passed on.
    if (Array.isArray(result) || !("errors" in result) || result.errors === undefined) return;
    const unforeseen = reportTo(serverContext);
    const errors = result.errors.map((error) =>
      published(asGraphQLError(error), serverContext.requestId, unforeseen),
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
