/**
 * How much one request may ask for. All of it is checked before anything runs: size and tokens while
 * reading, depth, aliases and operations while validating, cost once the variables are known.
 */
import { complexityFromQuery } from "@pothos/plugin-complexity";
import {
  type ASTVisitor,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type SelectionSetNode,
  type ValidationContext,
} from "graphql";
import { badRequest } from "./errors.ts";

export const LIMITS = {
  /** Of the JSON body; GraphiQL's introspection takes 2 KiB. */
  bodyBytes: 64 * 1024,
  /** Lexical tokens; GraphiQL's introspection takes some 350. */
  tokens: 1000,
  /** Fields inside one another. Data are 2 deep; the usual introspection query is 15. */
  depth: 16,
  aliases: 30,
  /**
   * Values the answer can hold: one per field, times the rows of its list; 100 rows skipped by an
   * offset count as one. The widest list at its limit of 1000 rows is some 15,000.
   */
  cost: 50_000,
} as const;

/** Refuses fields more than `LIMITS.depth` deep, through fragments too. */
export const depthRule = (context: ValidationContext): ASTVisitor => {
  const measured = new Map<SelectionSetNode, number>();
  const open = new Set<SelectionSetNode>();

  const depthOf = (set: SelectionSetNode): number => {
    const known = measured.get(set);
    if (known !== undefined) return known;
    // Fragments that spread one another for ever have a rule of their own.
    if (open.has(set)) return 0;
    open.add(set);
    let deepest = 0;
    for (const selection of set.selections) {
      const inner =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? context.getFragment(selection.name.value)?.selectionSet
          : selection.selectionSet;
      // A fragment puts its selections beside the others; only a field goes deeper.
      const step = selection.kind === Kind.FIELD ? 1 : 0;
      deepest = Math.max(deepest, step + (inner === undefined ? 0 : depthOf(inner)));
    }
    open.delete(set);
    measured.set(set, deepest);
    return deepest;
  };

  return {
    OperationDefinition: ({ selectionSet }) => {
      const depth = depthOf(selectionSet);
      if (depth > LIMITS.depth) {
        context.reportError(
          badRequest(`the query is ${depth} fields deep; at most ${LIMITS.depth} are allowed`),
        );
      }
    },
  };
};

/** Refuses more than `LIMITS.aliases` aliases, over the whole document. */
export const aliasRule = (context: ValidationContext): ASTVisitor => {
  let aliases = 0;
  return {
    Field: ({ alias }) => {
      if (alias !== undefined) aliases += 1;
    },
    Document: {
      leave: () => {
        if (aliases <= LIMITS.aliases) return;
        context.reportError(
          badRequest(`the query has ${aliases} aliases; at most ${LIMITS.aliases} are allowed`),
        );
      },
    },
  };
};

/**
 * Refuses an operation whose answer could hold more than `LIMITS.cost` values.
 * @throws BAD_USER_INPUT that names the cost and the bound, or what is wrong with a variable
 */
export const refuseCostly = (
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Readonly<Record<string, unknown>>,
  context: object,
): void => {
  const operation = getOperationAST(document, operationName);
  // Which operation is meant is for the executor to complain about; it then runs none.
  if (operation == null) return;
  const fragments = document.definitions.filter(
    (definition): definition is FragmentDefinitionNode =>
      definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  // The function takes the first operation there is, which need not be the one that will run.
  const { complexity } = complexityFromQuery(
    { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] },
    { schema, variables: { ...variables }, ctx: context },
  );
  if (complexity > LIMITS.cost) {
    throw badRequest(
      `the query costs ${complexity}: fields, times the limit of their list; at most ${LIMITS.cost} is allowed. Ask for fewer fields or rows at once`,
    );
  }
};
