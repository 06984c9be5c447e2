/**
 * Each paged list as a connection, for clients that expect Relay's: `<list>Connection` with edges, opaque cursors
 * and pageInfo. Made from the list's field, which declares with `cursorOf` where each row is. A table's connection
 * has the table's other fields, too.
 */
import {
  GraphQLBoolean,
  type GraphQLField,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  type GraphQLFieldConfigMap,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  GraphQLSchema,
  GraphQLString,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from "graphql";
import { badInput } from "./errors.ts";
import { declaredReads, type FieldReads } from "./field-reads.ts";
import { DEFAULT_LIMIT, MAX_LIMIT, show } from "./input.ts";

/** One more row is read, to know whether a page follows. */
const MAX_FIRST = MAX_LIMIT - 1;

/** Arguments of a list that its connection replaces, or has none of. */
const REPLACED: ReadonlySet<string> = new Set(["limit", "after", "offset"]);

type Field = GraphQLField<unknown, unknown>;
type FieldConfig = GraphQLFieldConfig<unknown, unknown>;
type Arguments = Readonly<Record<string, unknown>>;

const PageInfo = new GraphQLObjectType({
  name: "PageInfo",
  description: "Where a page of a connection is in its list.",
  fields: {
    hasNextPage: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: "Whether rows follow in the chosen order.",
    },
    hasPreviousPage: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: "Whether the page begins after a row: for those before it, reverse the order.",
    },
    startCursor: {
      type: GraphQLString,
      description: "Cursor of the first row; null without rows.",
    },
    endCursor: { type: GraphQLString, description: "Cursor of the last row; null without rows." },
  },
});

/** The schema with a connection beside each list that declares `cursorOf`, and beside each table of such rows. */
export const withConnections = (schema: GraphQLSchema): GraphQLSchema => {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    const prefix = type === schema.getQueryType() ? "" : type.name;
    const connections = Object.entries(type.getFields()).flatMap(([name, field]) => {
      const paged = pagedIn(field);
      if (paged === undefined) return [];
      const typeName = `${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      const connection = connectionOf({ name, typeName }, field.toConfig(), paged);
      return [[`${name}Connection`, connection] as const];
    });
    const added = new GraphQLObjectType({
      name: type.name,
      fields: Object.fromEntries(connections),
    });
    // In place, because other types refer to this one.
    Object.assign(type.getFields(), added.getFields());
  }
  return new GraphQLSchema(schema.toConfig());
};

/** Rows that a field's arguments page: of the list that it answers, or of a list in the table that it answers. */
type Paged = {
  readonly row: GraphQLObjectType;
  readonly cursorOf: (row: unknown) => unknown;
  /** Null where the answer is. */
  readonly rowsOf: Resolver;
  /** What a table has beside its rows. */
  readonly beside: GraphQLFieldConfigMap<unknown, unknown>;
};

type Resolver = (
  answer: unknown,
  context: unknown,
  info: GraphQLResolveInfo,
) => Promise<unknown> | unknown;

const pagedIn = (field: Field): Paged | undefined => {
  if (!isPaging(field)) return undefined;
  const own = declaredCursor(field);
  if (own !== undefined) {
    return { row: rowOf(field.type), cursorOf: own, rowsOf: (rows) => rows, beside: {} };
  }
  const table = getNullableType(field.type);
  if (!isObjectType(table)) return undefined;
  const fields = table.getFields();
  for (const [name, rows] of Object.entries(fields)) {
    const cursorOf = declaredCursor(rows);
    if (cursorOf === undefined || isPaging(rows)) continue;
    const { [name]: _rows, ...beside } = table.toConfig().fields;
    return {
      row: rowOf(rows.type),
      cursorOf,
      rowsOf: (answer, context, info) => answer && rows.resolve?.(answer, {}, context, info),
      beside,
    };
  }
  return undefined;
};

/** Whether arguments of its own choose a page. */
const isPaging = ({ args }: Field): boolean => args.some(({ name }) => name === "after");

const connectionOf = (
  { name, typeName }: { readonly name: string; readonly typeName: string },
  list: FieldConfig,
  { row, cursorOf, rowsOf, beside }: Paged,
): FieldConfig => {
  const edge = new GraphQLObjectType({
    name: `${typeName}Edge`,
    description: `A row of ${name}, and where it is.`,
    fields: {
      cursor: {
        type: new GraphQLNonNull(GraphQLString),
        description: "Opaque; pass it as after for the rows after this one.",
      },
      node: { type: new GraphQLNonNull(row), description: "The row." },
    },
  });
  const type = new GraphQLObjectType({
    name: `${typeName}Connection`,
    description: `A page of ${name}.`,
    fields: {
      ...beside,
      edges: {
        type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(edge))),
        description: "The rows of the page.",
        // The connection itself counts its rows.
        extensions: { complexity: { field: 1, multiplier: 1 } },
      },
      pageInfo: { type: new GraphQLNonNull(PageInfo), description: "What is around the page." },
    },
  });
  const kept = Object.entries(list.args ?? {}).filter(([argument]) => !REPLACED.has(argument));
  const args: GraphQLFieldConfigArgumentMap = {
    ...Object.fromEntries(kept),
    first: {
      type: GraphQLInt,
      defaultValue: DEFAULT_LIMIT,
      description: `Most rows to return, 1 to ${MAX_FIRST}.`,
    },
    after: { type: GraphQLString, description: "Cursor of the last row seen." },
  };
  return {
    type,
    description: `${name} as a connection: the same rows and arguments, with first in place of limit, and order in place of last and before.`,
    args,
    extensions: {
      complexity: costOf(list),
      reads: readsOf(declaredReads({ extensions: list.extensions ?? {} })),
    },
    resolve: async (parent, given: Arguments, context, info) => {
      const first = firstOf(given.first);
      const after = decoded(given.after);
      const asked = { ...given, limit: first + 1, after };
      const answer: unknown = await list.resolve?.(parent, asked, context, info);
      const rows = await rowsOf(answer, context, info);
      if (rows === null) return null;
      if (!Array.isArray(rows)) throw new Error(`${name} is no list`);
      const edges = rows
        .slice(0, first)
        .map((node: unknown) => ({ cursor: encoded(cursorOf(node)), node }));
      return {
        ...(answer === rows ? {} : Object(answer)),
        edges,
        pageInfo: {
          hasNextPage: rows.length > first,
          hasPreviousPage: after !== undefined,
          startCursor: edges.at(0)?.cursor ?? null,
          endCursor: edges.at(-1)?.cursor ?? null,
        },
      };
    },
  };
};

/** The type of a list's rows. */
const rowOf = (type: GraphQLOutputType): GraphQLObjectType => {
  const list = getNullableType(type);
  const row = getNamedType(type);
  if (isListType(list) && isObjectType(row)) return row;
  throw new Error(`${type} is no list, and has no cursors`);
};

/** The cost of the list, with its edges. */
const costOf = (list: FieldConfig) => {
  const complexity: unknown = list.extensions?.complexity;
  if (typeof complexity !== "function") throw new Error("a list of rows has a cost");
  return (args: Arguments): unknown => complexity(asList(args));
};

/** What a list reads, of arguments of its connection. */
const readsOf = (reads: FieldReads | undefined): FieldReads | undefined =>
  reads && {
    pipelines: (args) => reads.pipelines(asList(args)),
    several: (args) => reads.several?.(asList(args)) ?? false,
    long: (args) => reads.long?.(asList(args)) ?? false,
  };

const asList = (args: object): object => ({
  ...args,
  limit: "first" in args ? args.first : undefined,
});

const firstOf = (first: unknown): number => {
  const rows = typeof first === "number" ? first : DEFAULT_LIMIT;
  if (rows >= 1 && rows <= MAX_FIRST) return rows;
  throw badInput(`first must be from 1 to ${MAX_FIRST}; it is ${rows}`, {
    argument: "first",
    reason: "OUT_OF_RANGE",
  });
};

const encoded = (cursor: unknown): string => Buffer.from(String(cursor)).toString("base64url");

const decoded = (after: unknown): string | undefined => {
  if (typeof after !== "string") return undefined;
  const cursor = Buffer.from(after, "base64url").toString();
  if (encoded(cursor) === after && cursor !== "") return cursor;
  throw badInput(`after must be the cursor of an edge; it is ${show(after)}`, {
    argument: "after",
    reason: "MALFORMED",
  });
};

const declaredCursor = ({ extensions }: Field): ((row: unknown) => unknown) | undefined => {
  const cursorOf: unknown = extensions?.cursorOf;
  return isFunction(cursorOf) ? cursorOf : undefined;
};

const isFunction = (value: unknown): value is (row: unknown) => unknown =>
  typeof value === "function";
