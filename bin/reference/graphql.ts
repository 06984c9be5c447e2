/** `docs/reference/graphql.md`, from the served schema. */
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLSchema,
  isEnumType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from "graphql";
import { code, head, table } from "./markdown.ts";

/** @param codes values of `extensions.code` */
export const graphqlPage = (schema: GraphQLSchema, codes: readonly string[]): string => {
  const roots = [
    ["Queries", schema.getQueryType()],
    ["Subscriptions", schema.getSubscriptionType()],
  ] as const;
  const types = Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .filter((type) => !roots.some(([, root]) => root === type))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [
    head(
      "GraphQL",
      [
        "`POST /graphql` with a key of the kind `graphql` or `operator` in `X-API-Key`. Amounts, checkpoints and times",
        "(Unix seconds) are decimal strings. [Query and subscribe](../how-to/graphql.md) shows how to use it.",
        "",
        `An error has one of these in \`extensions.code\`: ${codes.map(code).join(", ")} ([errors](errors.md)).`,
      ].join("\n"),
    ),
    ...roots.flatMap(([title, root]) =>
      root == null ? [] : [`## ${title}\n`, ...Object.values(root.getFields()).map(operation)],
    ),
    "## Types\n",
    ...types.map((type) => {
      const title = `### ${type.name}\n\n${type.description ?? ""}\n`;
      if (isObjectType(type)) {
        const rows = Object.values(type.getFields()).map(({ name, type: of, description }) => [
          code(name),
          code(String(of)),
          description ?? "",
        ]);
        return `${title}\n${table(["field", "type", "what it is"], rows)}`;
      }
      if (isEnumType(type)) {
        const rows = type
          .getValues()
          .map(({ name, description }) => [code(name), description ?? ""]);
        return `${title}\n${table(["value", "what it means"], rows)}`;
      }
      return title;
    }),
  ].join("\n");
};

const operation = ({ name, type, description, args }: GraphQLField<unknown, unknown>): string =>
  [
    `### ${name}\n`,
    `Answers ${code(String(type))}. ${description ?? ""}\n`,
    table(
      ["argument", "type", "what it is"],
      args.map((argument: GraphQLArgument) => [
        code(argument.name),
        code(String(argument.type)),
        argument.description ?? "",
      ]),
    ),
  ].join("\n");
