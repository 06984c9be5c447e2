/**
 * A cache of the documents that callers send: parsed, validated, with their cost, and compiled on their second
 * use. Most callers send the same few all the time.
 */
import { complexityFromQuery } from "@pothos/plugin-complexity";
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  specifiedRules,
  validate,
} from "graphql";
import { type CompiledQuery, compileQuery, isCompiledQuery } from "graphql-jit";
import { aliasRule, depthRule, LIMITS } from "./limits.ts";
import { type Coerced, fieldsOf, planOf, type ReadPlan } from "./read-plan.ts";

/** One operation of a document. */
export type Operation = {
  readonly node: OperationDefinitionNode;
  /**
   * Values that the answer can hold, see `LIMITS.cost`.
   * @param variables coerced
   */
  costOf(variables: Readonly<Record<string, unknown>>): number;
  /** Fields of the query itself, about the statements that it runs. */
  readonly rootFields: number;
  /** How it is read, with coerced variables. */
  plan(variables: Coerced): ReadPlan;
  /** How often it asks for the schema, which takes work that its cost does not show. */
  readonly introspections: number;
  /** Whether variables occur in nothing but field arguments, and the compiler takes it. */
  readonly isPlain: boolean;
  /** Counts a use; returns the compiled form, if there is one, from the second use on. */
  use(): CompiledQuery | undefined;
};

/** A document and its errors. */
export type KnownDocument = {
  /** Undefined when the text does not parse. */
  readonly document: DocumentNode | undefined;
  /** Empty when it can run. */
  readonly errors: readonly GraphQLError[];
  /**
   * The operation of this name, or the only one; undefined when the name is ambiguous or unknown, or the
   * document has errors.
   */
  operation(name: string | null | undefined): Operation | undefined;
};

type Documents = {
  /**
   * @param text as the caller sent it
   * @returns `newTokens`: lexical tokens that were parsed for it; 0 when it was cached
   */
  read(text: string): { readonly known: KnownDocument; readonly newTokens: number };
};

/** Tokens of all cached documents; one takes about 700 bytes, its compiled form included. */
const KEPT_TOKENS = 50_000;

/** Overhead of a document in tokens: the smallest compiled form. */
const TOKENS_BESIDE = 100;

/** Tokens that a text counts for that does not parse. */
const TOKENS_OF_NONE = 200;

/** Comments and long strings have few tokens: so many characters count as one. */
const CHARACTERS_PER_TOKEN = 20;

/** Cached costs of a document: callers page with a few limits. */
const KEPT_COSTS = 50;

/** Reads documents for one schema. */
export const createDocuments = (schema: GraphQLSchema): Documents => {
  /** Least recently used first. */
  const kept = new Map<string, { readonly known: KnownDocument; readonly tokens: number }>();
  let tokensKept = 0;

  const keep = (text: string, known: KnownDocument, read: number): void => {
    const size = Math.max(read, Math.ceil(text.length / CHARACTERS_PER_TOKEN));
    const tokens = TOKENS_BESIDE + size;
    kept.set(text, { known, tokens });
    tokensKept += tokens;
    for (const [oldest, { tokens: freed }] of kept) {
      if (tokensKept <= KEPT_TOKENS) break;
      kept.delete(oldest);
      tokensKept -= freed;
    }
  };

  return {
    read(text) {
      const found = kept.get(text);
      if (found !== undefined) {
        kept.delete(text);
        kept.set(text, found);
        return { known: found.known, newTokens: 0 };
      }
      const known = readDocument(schema, text);
      const newTokens = known.document?.tokenCount ?? TOKENS_OF_NONE;
      keep(text, known, newTokens);
      return { known, newTokens };
    },
  };
};

const readDocument = (schema: GraphQLSchema, text: string): KnownDocument => {
  let document: DocumentNode;
  try {
    document = parse(text, { maxTokens: LIMITS.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    return { document: undefined, errors: [error], operation: () => undefined };
  }
  const errors = validate(schema, document, [...specifiedRules, depthRule, aliasRule]);
  const operations = new Map<OperationDefinitionNode, Operation>();
  return {
    document,
    errors,
    operation: (name) => {
      const node = errors.length > 0 ? undefined : getOperationAST(document, name);
      if (node == null) return undefined;
      const operation = operations.get(node) ?? operationOf(schema, document, node);
      operations.set(node, operation);
      return operation;
    },
  };
};

const operationOf = (
  schema: GraphQLSchema,
  document: DocumentNode,
  node: OperationDefinitionNode,
): Operation => {
  const fragments = document.definitions.filter(
    (definition): definition is FragmentDefinitionNode =>
      definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  // Only this operation, so that neither cost nor compiler takes another one.
  const alone: DocumentNode = { kind: Kind.DOCUMENT, definitions: [node, ...fragments] };
  const fields = [...fieldsOf(node.selectionSet, fragments).values()];
  const introspections = fields.filter(
    ({ name }) => name.value === "__schema" || name.value === "__type",
  ).length;
  const compiles = introspections === 0 && isCompilable(node, fragments);
  let uses = 0;
  let compiled: CompiledQuery | undefined;
  return {
    node,
    costOf: costs(schema, alone),
    rootFields: fields.length,
    plan: planOf(schema, fields, fragments),
    introspections,
    isPlain: compiles,
    use: () => {
      uses += 1;
      if (uses === 2 && compiles) compiled = compile(schema, alone, node);
      return compiled;
    },
  };
};

/** Fields of a compiled operation, fragments counted at each use: each takes time to compile. */
const MAX_COMPILED_FIELDS = 500;

/**
 * Whether the compiler handles an operation correctly. It fails on `@skip` and `@include` on a fragment that is
 * spread twice, and on names of `Object.prototype`. It also expands a fragment at each use, so fragments that
 * spread others twice would take exponential time.
 */
const isCompilable = (
  operation: OperationDefinitionNode,
  fragments: readonly FragmentDefinitionNode[],
): boolean => {
  const sets = new Map(fragments.map(({ name, selectionSet }) => [name.value, selectionSet]));
  let left = MAX_COMPILED_FIELDS;
  const isPlain = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      left -= 1;
      if (left < 0 || (selection.directives?.length ?? 0) > 0) return false;
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const set = sets.get(selection.name.value);
        return set === undefined || isPlain(set);
      }
      const named = selection.kind === Kind.FIELD ? (selection.alias ?? selection.name).value : "";
      return (
        !isOnEveryObject(named) && (!selection.selectionSet || isPlain(selection.selectionSet))
      );
    });
  const variables = operation.variableDefinitions ?? [];
  return (
    [operation, ...fragments, ...variables].every(
      ({ directives = [] }) => directives.length === 0,
    ) &&
    variables.every(({ variable }) => !isOnEveryObject(variable.name.value)) &&
    isPlain(operation.selectionSet)
  );
};

const isOnEveryObject = (name: string): boolean => name in Object.prototype;

/** Undefined when the compiler refuses it; it is then interpreted. */
const compile = (
  schema: GraphQLSchema,
  document: DocumentNode,
  { name }: OperationDefinitionNode,
): CompiledQuery | undefined => {
  const result = compileQuery(schema, document, name?.value);
  return isCompiledQuery(result) ? result : undefined;
};

/**
 * The cost of an operation as a function of its variables. It depends only on integers and on whether an argument
 * is given, so it is cached by these.
 */
const costs = (schema: GraphQLSchema, alone: DocumentNode): Operation["costOf"] => {
  const [operation] = alone.definitions;
  const names =
    operation?.kind === Kind.OPERATION_DEFINITION
      ? (operation.variableDefinitions ?? []).map(({ variable, type }) => {
          const named = type.kind === Kind.NON_NULL_TYPE ? type.type : type;
          const isInt = named.kind === Kind.NAMED_TYPE && named.name.value === "Int";
          return { name: variable.name.value, isInt };
        })
      : [];
  const known = new Map<string, number>();
  return (variables) => {
    const choice = names
      .map(({ name, isInt }) => (isInt ? `${variables[name]}` : `${variables[name] != null}`))
      .join();
    const found = known.get(choice);
    if (found !== undefined) return found;
    const { complexity } = complexityFromQuery(alone, {
      schema,
      variables: { ...variables },
      ctx: {},
    });
    if (known.size < KEPT_COSTS) known.set(choice, complexity);
    return complexity;
  };
};
