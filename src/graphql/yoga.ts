/** The interpreter: yoga answers what is not compiled, and is the reference for what is. */
import { type DocumentNode, GraphQLError, type GraphQLSchema, parse } from "graphql";
import { createYoga, type Plugin } from "graphql-yoga";
import type { GraphContext } from "./context.ts";
import { badRequest, published, reportTo, throwDatabaseTrouble } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import type { GraphAnswer, RequestScope } from "./request.ts";

/** A request as the engine read it. */
export type InterpretedRequest = {
  readonly body: string;
  /** Media type of the answer. */
  readonly contentType: string;
  readonly context: GraphContext;
  /** Undefined for a request without a valid document: yoga reports what is wrong. */
  readonly document?: DocumentNode | undefined;
  /** Why the document, or its operation, must not run; empty when it may. */
  readonly errors?: readonly GraphQLError[] | undefined;
  /** Called with the errors of a result, before they are masked. */
  readonly onErrors: (errors: readonly GraphQLError[]) => void;
};

type ServerContext = RequestScope & Omit<InterpretedRequest, "body" | "contentType">;

/** Makes the interpreter of a schema. */
export const createInterpreter = (
  schema: GraphQLSchema,
): ((request: InterpretedRequest, scope: RequestScope) => Promise<GraphAnswer>) => {
  const yoga = createYoga<ServerContext>({
    schema,
    context: ({ context }) => context,
    plugins: [asRead, errorsForCallers, leftOutForCallers],
    // Our own plugin masks errors, because it knows the request's id.
    maskedErrors: false,
    logging: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    batching: false,
    maxRequestBodySize: LIMITS.bodyBytes,
    // `documents.ts` has the cache.
    parserAndValidationCache: false,
  });
  return async ({ body, contentType, ...read }, scope) => {
    let errors: readonly GraphQLError[] = [];
    const onErrors: ServerContext["onErrors"] = (seen) => {
      errors = seen;
      read.onErrors(seen);
    };
    const response = await yoga.fetch(
      "http://holderbook/graphql",
      {
        method: "POST",
        headers: { "content-type": "application/json", accept: contentType },
        body,
      },
      { ...scope, ...read, onErrors },
    );
    throwDatabaseTrouble(errors);
    return {
      status: response.status,
      contentType: response.headers.get("content-type") ?? `${contentType}; charset=utf-8`,
      body: await response.text(),
    };
  };
};

/** Runs the document that was read already and no other: only that one was weighed. */
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
    // There are no batches and no streams here.
    if (Array.isArray(result) || !("errors" in result) || result.errors === undefined) return;
    const seen = result.errors.map(asGraphQLError);
    serverContext.onErrors(seen);
    const unforeseen = reportTo(serverContext);
    const errors = seen.map((error) => published(error, serverContext.requestId, unforeseen));
    setResult({ ...result, errors });
  },
};

/** Names the coins that lists left out. */
const leftOutForCallers: Plugin<object, ServerContext> = {
  onResultProcess: ({ result, setResult, serverContext: { context } }) => {
    const extensions = context.leftOut.extensions();
    if (Array.isArray(result) || extensions === undefined) return;
    setResult({ ...result, extensions });
  },
};

/** The engine's errors are of GraphQLError; its type promises only the same members. */
const asGraphQLError = (error: unknown): GraphQLError =>
  error instanceof GraphQLError
    ? error
    : new GraphQLError("", {
        originalError: error instanceof Error ? error : new Error(String(error)),
      });
