/** How an operation is read: what its fields declare decides whether it needs a snapshot, and whether it is long. */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  type getVariableValues,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import { highest } from "../values/bigints.ts";
import { declaredReads, type FieldReads, type UnlimitedList } from "./field-reads.ts";

export type ReadPlan = {
  /** More than one statement: they must see one state of the database. */
  readonly several: boolean;
  /** One of several may take long, whatever the answer's size. */
  readonly long: boolean;
  /** Lists without a limit among several statements. */
  readonly unlimited: readonly UnlimitedList[];
  /** Must be committed before the answer is read. */
  readonly minCheckpoint?: bigint | undefined;
};

export type Coerced = Extract<
  ReturnType<typeof getVariableValues>,
  { variableValues: object }
>["variableValues"];

/** A field of an operation that reads. */
type ReadingField = {
  readonly node: FieldNode;
  readonly field: GraphQLField<unknown, unknown>;
  readonly reads: FieldReads;
};

const ONE: ReadPlan = { several: false, long: false, unlimited: [] };

/**
 * The plan of a query, as a function of its variables.
 * @param fields of the query itself
 */
export const planOf = (
  schema: GraphQLSchema,
  fields: readonly FieldNode[],
  fragments: readonly FragmentDefinitionNode[],
): ((variables: Coerced) => ReadPlan) => {
  const reading = fields.flatMap((node) => readingFields(schema, node, fragments));
  const isSeveral = reading.length > 1;
  const isOne = ({ reads }: ReadingField) =>
    reads.several === undefined && reads.minCheckpoint === undefined;
  if (!isSeveral && reading.every(isOne)) return () => ONE;

  return (variables) => {
    const each = reading.flatMap(({ node, field, reads }) => {
      const args = argumentsOf(field, node, variables);
      return args === undefined ? [] : [{ args, reads }];
    });
    const wanted = each.flatMap(({ args, reads }) => reads.minCheckpoint?.(args) ?? []);
    const minCheckpoint = wanted.length === 0 ? undefined : highest(0n, ...wanted);
    if (!isSeveral && !each.some(({ args, reads }) => reads.several?.(args))) {
      return minCheckpoint === undefined ? ONE : { ...ONE, minCheckpoint };
    }
    return {
      minCheckpoint,
      several: true,
      long: each.some(({ args, reads }) => reads.long?.(args)),
      unlimited: each.flatMap(({ args, reads }) => reads.unlimited?.(args) ?? []),
    };
  };
};

/** The fields of one root field that declare what they read, itself first; each fragment counts once. */
const readingFields = (
  schema: GraphQLSchema,
  root: FieldNode,
  fragments: readonly FragmentDefinitionNode[],
): readonly ReadingField[] => {
  const found: ReadingField[] = [];
  const left = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));

  const visitField = (node: FieldNode, parent: unknown): void => {
    if (!isObjectType(parent) && !isInterfaceType(parent)) return;
    const field = parent.getFields()[node.name.value];
    if (field === undefined) return;
    const reads = declaredReads(field);
    if (reads !== undefined) found.push({ node, field, reads });
    if (node.selectionSet !== undefined) visit(node.selectionSet, getNamedType(field.type));
  };

  const visit = ({ selections }: SelectionSetNode, parent: unknown): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        visitField(selection, parent);
        continue;
      }
      const fragment =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : left.get(selection.name.value);
      if (selection.kind === Kind.FRAGMENT_SPREAD) left.delete(selection.name.value);
      if (fragment === undefined) continue;
      const { typeCondition, selectionSet } = fragment;
      visit(selectionSet, typeCondition ? schema.getType(typeCondition.name.value) : parent);
    }
  };

  visitField(root, schema.getQueryType());
  return found;
};

/** Undefined when null is given for what must not be null: the field is refused where it runs. */
const argumentsOf = (
  ...given: Parameters<typeof getArgumentValues>
): Readonly<Record<string, unknown>> | undefined => {
  try {
    return getArgumentValues(...given);
  } catch {
    return undefined;
  }
};

/**
 * Fields of a selection by their names in the answer, also those in fragments. The selections of a field
 * that is asked for several times are merged.
 */
export const fieldsOf = (
  { selections }: OperationDefinitionNode["selectionSet"],
  fragments: readonly FragmentDefinitionNode[],
): ReadonlyMap<string, FieldNode> => {
  const fields = new Map<string, FieldNode>();
  // A fragment adds nothing the second time, and fragments that spread others twice would never end.
  const left = new Map(fragments.map(({ name, selectionSet }) => [name.value, selectionSet]));
  const gather = (set: Pick<SelectionSetNode, "selections">): void => {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const name = (selection.alias ?? selection.name).value;
        fields.set(name, merged(fields.get(name), selection));
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        gather(selection.selectionSet);
      } else {
        const spread = left.get(selection.name.value);
        left.delete(selection.name.value);
        if (spread !== undefined) gather(spread);
      }
    }
  };
  gather({ selections });
  return fields;
};

const merged = (one: FieldNode | undefined, other: FieldNode): FieldNode => {
  if (one?.selectionSet === undefined || other.selectionSet === undefined) return other;
  const selections = [...one.selectionSet.selections, ...other.selectionSet.selections];
  return { ...other, selectionSet: { ...other.selectionSet, selections } };
};
