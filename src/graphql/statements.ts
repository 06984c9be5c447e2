/** How many statements an operation needs: several are run in one snapshot. */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getArgumentValues,
  type getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";

/** What the statements of an operation are like. */
export type Statements = {
  /** More than one: they must see one state of the database. */
  readonly several: boolean;
  /** One of them may take long, whatever the answer's size. */
  readonly long: boolean;
  /** Lists without a limit among several statements. */
  readonly lists: readonly RoleQuery[];
};

/** A list of roles that is asked for, its coin type as the caller wrote it. */
export type RoleQuery = { readonly coinType: string; readonly isPast: boolean };

export type Coerced = Extract<
  ReturnType<typeof getVariableValues>,
  { variableValues: object }
>["variableValues"];

const ONE: Statements = { several: false, long: false, lists: [] };

/** Fields of a token that are counted over all its owners. */
const COUNTED: ReadonlySet<string> = new Set(["holderCount", "ownerCount"]);

/** Offsets beyond it take longer than a page does. */
export const SHORT_OFFSET = 1_000;

/**
 * What an operation needs, as a function of its variables.
 * @param fields of the query itself
 */
export const statementsOf = (
  schema: GraphQLSchema,
  fields: readonly FieldNode[],
  fragments: readonly FragmentDefinitionNode[],
): ((variables: Coerced) => Statements) => {
  const asked = fields.filter(({ name }) => !name.value.startsWith("__"));
  const isCounted = (field: FieldNode): boolean =>
    field.selectionSet !== undefined &&
    [...fieldsOf(field.selectionSet, fragments).values()].some(({ name }) =>
      COUNTED.has(name.value),
    );
  /** Whether one field needs several statements although it is about the present. */
  const isWide = (field: FieldNode): boolean =>
    field.name.value === "capTable" ||
    ((field.name.value === "token" || field.name.value === "tokens") && isCounted(field));
  const mayBePast = ({ arguments: given = [] }: FieldNode): boolean =>
    given.some(({ name }) => name.value === "atCheckpoint" || name.value === "atTimestamp");
  const always = asked.length > 1 || asked.some(isWide);
  if (!always && !asked.some(mayBePast)) return () => ONE;

  return (variables) => {
    const each = asked.map((field) => {
      const definition = schema.getQueryType()?.getFields()[field.name.value];
      const args = definition === undefined ? {} : argumentsOf(definition, field, variables);
      return { field, args, isPast: args.atCheckpoint != null || args.atTimestamp != null };
    });
    // A checkpoint is looked at together with its rows; that of a time has to be found first.
    const several =
      always ||
      each.some(
        ({ args, field, isPast }) =>
          args.atTimestamp != null || (isPast && field.name.value === "_meta"),
      );
    if (!several) return ONE;
    return {
      several,
      long: each.some(
        ({ field, args, isPast }) =>
          isWide(field) ||
          // Put together from all owners the first time.
          (isPast && field.name.value === "tokenHolders") ||
          Number(args.offset ?? 0) > SHORT_OFFSET ||
          args.activityType != null,
      ),
      lists: each.flatMap(({ field, args, isPast }) =>
        field.name.value === "walletRoles" ? [{ coinType: String(args.coinType), isPast }] : [],
      ),
    };
  };
};

const argumentsOf = (...given: Parameters<typeof getArgumentValues>): Record<string, unknown> => {
  try {
    return getArgumentValues(...given);
  } catch {
    // Null for what must not be null: the field is refused where it runs.
    return {};
  }
};

/**
 * Fields of a selection by the name they have in the answer, through fragments too. One that is asked for
 * several times has all that is selected of it.
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
