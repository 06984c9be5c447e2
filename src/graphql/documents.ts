/**
 * The documents that callers send, read once: parsed, validated, with their cost, and compiled when
 * they come a second time. Most callers send the same few for ever.
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
   * Values that the answer can hold: see `LIMITS.cost`.
   * @param variables coerced; only integers matter
   */
  costOf(variables: Readonly<Record<string, unknown>>): number;
  /** Statements or the like that it begins: fields of the query itself. */
  readonly rootFields: number;
  /** How it is read, with coerced variables. */
  plan(variables: Coerced): ReadPlan;
  /** How often it asks for the schema: much work that its cost does not show. */
  readonly introspections: number;
  /** Whether its variables matter to nothing but the arguments of the operation's own fields. */
  readonly isPlain: boolean;
  /** Counts a use; gives the compiled form from the second one on, where there is one. */
  use(): CompiledQuery | undefined;
};

/** A document, and what is wrong with it. */
export type KnownDocument = {
  /** Undefined when the text is no document at all. */
  readonly document: DocumentNode | undefined;
  /** Empty when it can run. */
  readonly errors: readonly GraphQLError[];
  /**
   * The operation of this name, or the only one; undefined when it is not clear which is meant, or
   * the document cannot run.
   */
  operation(name: string | null | undefined): Operation | undefined;
};

export type Documents = {
  /**
   * @param text as the caller sent it
   * @returns `newTokens`: lexical tokens that had to be read for it; 0 when it was known
   */
  read(text: string): { readonly known: KnownDocument; readonly newTokens: number };
};

/** Tokens of all documents kept; one takes about 700 bytes, its compiled form included. */
const KEPT_TOKENS = 50_000;

/** What a document takes besides, in tokens: the least that is compiled for it. */
const TOKENS_BESIDE = 100;

/** What a text that is no document counts for. */
const TOKENS_OF_NONE = 200;

/** Comments and long strings are text without tokens: so many characters count as one. */
const CHARACTERS_PER_TOKEN = 20;

/** Costs kept by the integers they depend on: callers page with a few limits. */
const KEPT_COSTS = 50;

/** Reads documents for one schema. */
export const createDocuments = (schema: GraphQLSchema): Documents => {
  /** In the order of their last use. */
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
  // Without the operations beside it: neither the cost nor the compiler is to take one of those.
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

/** Fields, fragments spread where they are used; compiling takes time for each. */
const MOST_COMPILED_FIELDS = 500;

/**
 * Whether the compiler can be trusted with an operation. It goes wrong over `@skip` and `@include` on a
 * fragment that is spread twice, and over names that every object has; and it follows a fragment as often
 * as it is spread, so that fragments which spread others twice would keep it for years.
 */
const isCompilable = (
  operation: OperationDefinitionNode,
  fragments: readonly FragmentDefinitionNode[],
): boolean => {
  const sets = new Map(fragments.map(({ name, selectionSet }) => [name.value, selectionSet]));
  let left = MOST_COMPILED_FIELDS;
  const isPlain = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      left -= 1;
      if (left < 0 || (selection.directives?.length ?? 0) > 0) return false;
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const set = sets.get(selection.name.value);
        return set === undefined || isPlain(set);
      }
      const named = selection.kind === Kind.FIELD ? (selection.alias ?? selection.name).value : "";
      return !isEverywhere(named) && (!selection.selectionSet || isPlain(selection.selectionSet));
    });
  const variables = operation.variableDefinitions ?? [];
  return (
    [operation, ...fragments, ...variables].every(
      ({ directives = [] }) => directives.length === 0,
    ) &&
    variables.every(({ variable }) => !isEverywhere(variable.name.value)) &&
    isPlain(operation.selectionSet)
  );
};

const isEverywhere = (name: string): boolean => name in Object.prototype;

/** Undefined when the compiler does not take it: then it is interpreted. */
const compile = (
  schema: GraphQLSchema,
  document: DocumentNode,
  { name }: OperationDefinitionNode,
): CompiledQuery | undefined => {
  const result = compileQuery(schema, document, name?.value);
  return isCompiledQuery(result) ? result : undefined;
};

/**
 * The cost of an operation as a function of its variables. Costs depend on nothing but limits, offsets and
 * whether an argument is given, so one is worked out for each choice of these.
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
