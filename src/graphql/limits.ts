/**
 * How much one request may ask for, checked before anything runs: size and tokens while parsing, depth and
 * aliases while validating, cost once the variables are known.
 */
import {
  type ASTVisitor,
  type GraphQLError,
  Kind,
  type SelectionSetNode,
  type ValidationContext,
} from "graphql";
import { badRequest } from "./errors.ts";

export const LIMITS = {
  /** Size of the JSON body; GraphiQL's introspection takes 2 KiB. */
  bodyBytes: 64 * 1024,
  /** Lexical tokens; GraphiQL's introspection takes some 350. */
  tokens: 1000,
  /** Nesting of fields. Data are 4 deep; the usual introspection query is 15. */
  depth: 16,
  aliases: 30,
  /**
   * Values the answer can hold: one per field, times the rows of its list; 100 rows skipped by an
   * offset count as one. The widest list at its limit of 1000 rows is some 15,000.
   */
  cost: 50_000,
  /** Times that one request may ask for the schema. */
  introspections: 2,
} as const;

/** Refuses fields more than `LIMITS.depth` deep, through fragments too. */
export const depthRule = (context: ValidationContext): ASTVisitor => {
  const measured = new Map<SelectionSetNode, number>();
  const open = new Set<SelectionSetNode>();

  const depthOf = (set: SelectionSetNode): number => {
    const known = measured.get(set);
    if (known !== undefined) return known;
    // Another rule refuses fragments that spread one another in a circle.
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

/** Refuses an operation whose answer could hold more than `LIMITS.cost` values. */
export const costError = (cost: number): GraphQLError =>
  badRequest(
    `the query costs ${cost}: fields, times the limit of their list; at most ${LIMITS.cost} is allowed. Ask for fewer fields or rows`,
  );

/** Refuses an operation that asks for the schema more than `LIMITS.introspections` times. */
export const introspectionError = (times: number): GraphQLError =>
  badRequest(
    `the query asks for the schema ${times} times; at most ${LIMITS.introspections} are allowed`,
  );
