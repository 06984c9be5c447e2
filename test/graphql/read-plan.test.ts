import SchemaBuilder from "@pothos/core";
import ComplexityPlugin from "@pothos/plugin-complexity";
import { getVariableValues, graphql, Kind, parse } from "graphql";
import { expect, test } from "vitest";
import { UndeclaredReadsError } from "../../src/graphql/field-reads.ts";
import { fieldsOf, planOf } from "../../src/graphql/read-plan.ts";
import { FOR_HOLDERS, FOR_ROLES } from "../../src/projections/needed.ts";

/** A schema with a field that no code of the planner knows. */
const build = (add: (builder: ReturnType<typeof emptyBuilder>) => void = () => undefined) => {
  const builder = emptyBuilder();
  const Vote = builder.objectRef<object>("Vote").implement({
    fields: (t) => ({
      title: t.string({ resolve: () => "" }),
      turnout: t.int({
        complexity: 50,
        reads: { pipelines: () => FOR_ROLES, long: () => true },
        resolve: () => 0,
      }),
    }),
  });
  builder.queryType();
  builder.queryField("votes", (t) =>
    t.field({
      type: [Vote],
      args: { year: t.arg.int({ defaultValue: 2026 }), quorum: t.arg.boolean() },
      reads: {
        pipelines: () => FOR_HOLDERS,
        several: ({ quorum }) => quorum === true,
        long: ({ year }) => (year ?? 0) < 2000,
        unlimited: ({ year }) => ({ coinType: `${year}`, isPast: false }),
      },
      resolve: (_root, _args, { seen }) => {
        for (const name of seen) observed.push(name);
        return [{}];
      },
    }),
  );
  add(builder);
  return builder.toSchema();
};

const observed: string[] = [];

const emptyBuilder = () =>
  new SchemaBuilder<{
    Context: { readonly seen: readonly string[] };
    DefaultFieldNullability: false;
  }>({
    plugins: [ComplexityPlugin, "reads"],
    defaultFieldNullability: false,
    complexity: { defaultComplexity: 1, defaultListMultiplier: 1 },
  });

const planFor = (text: string, variables: Readonly<Record<string, unknown>> = {}) => {
  const schema = build();
  const { definitions } = parse(text);
  const fragments = definitions.filter((each) => each.kind === Kind.FRAGMENT_DEFINITION);
  const [operation] = definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  if (operation === undefined) throw new Error("no operation");
  const fields = [...fieldsOf(operation.selectionSet, fragments).values()];
  const { variableValues } = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    variables,
  );
  if (variableValues === undefined) throw new Error("wrong variables");
  return planOf(schema, fields, fragments)(variableValues);
};

const LIST_OF_2026 = [{ coinType: "2026", isPast: false }];

test("a new field is planned as declared, without the planner knowing its name", () => {
  expect(planFor("{ votes { title } }")).toEqual({ several: false, long: false, unlimited: [] });
  expect(planFor("{ votes(quorum: true) { title } }")).toEqual({
    several: true,
    long: false,
    unlimited: LIST_OF_2026,
  });
  const text =
    "query ($year: Int, $quorum: Boolean) { votes(year: $year, quorum: $quorum) { title } }";
  expect(planFor(text, { year: 1999, quorum: true })).toEqual({
    several: true,
    long: true,
    unlimited: [{ coinType: "1999", isPast: false }],
  });
  expect(planFor(text, { year: 1999 }).several).toBe(false);
  expect(planFor("{ a: votes { title } b: votes { title } }")).toEqual({
    several: true,
    long: false,
    unlimited: [...LIST_OF_2026, ...LIST_OF_2026],
  });
});

test("a field below it that reads on its own adds statements, in a fragment too", () => {
  const expected = { several: true, long: true, unlimited: LIST_OF_2026 };
  expect(planFor("{ votes { turnout } }")).toEqual(expected);
  expect(planFor("{ votes { ...F } } fragment F on Vote { t: turnout }")).toEqual(expected);
  expect(planFor("{ votes { ... on Vote { turnout } } votes { title } }")).toEqual(expected);
});

test("a field has the statements of its declared pipelines, and no others", async () => {
  const contextValue = {
    seen: [],
    readsOf: (pipelines: readonly { readonly name: string }[]) => ({
      seen: pipelines.map(({ name }) => name),
    }),
  };
  observed.length = 0;
  const { errors } = await graphql({
    schema: build(),
    source: "{ votes { title } }",
    contextValue,
  });
  expect(errors).toBeUndefined();
  expect(observed).toEqual(["holder_lifecycle"]);
});

test("a query without a declaration does not type-check", () => {
  expect(() =>
    build((builder) =>
      builder.queryField("ballots", (t) =>
        // @ts-expect-error it does not say what it reads
        t.int({ resolve: () => 1 }),
      ),
    ),
  ).toThrow(UndeclaredReadsError);
});

test("a nested field that reads needs a declaration to build", () => {
  const withComplexity = (complexity: number) => () =>
    build((builder) => {
      const Ballot = builder.objectRef<object>("Ballot").implement({
        fields: (t) => ({ count: t.int({ complexity, resolve: () => 1 }) }),
      });
      builder.queryField("ballot", (t) =>
        t.field({ type: Ballot, reads: { pipelines: () => [] }, resolve: () => ({}) }),
      );
    });
  expect(withComplexity(1)).not.toThrow();
  expect(withComplexity(2)).toThrow("Ballot.count: declare with `reads`");
});
