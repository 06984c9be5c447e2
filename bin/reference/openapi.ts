/** `docs/reference/rest.md` and `ta.md`, from a service's OpenAPI document. */
import { z } from "zod";
import { cell, code, head, table } from "./markdown.ts";

const schema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  $ref: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
});

const operation = z.object({
  tags: z.array(z.string()),
  summary: z.string(),
  description: z.string().optional(),
  security: z.array(z.record(z.string(), z.unknown())).optional(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.string(),
        required: z.boolean().optional(),
        description: z.string().optional(),
        schema,
      }),
    )
    .optional(),
  requestBody: z
    .object({ content: z.record(z.string(), z.object({ schema: schema.optional() })) })
    .optional(),
  responses: z.record(
    z.string(),
    z.object({
      description: z.string(),
      content: z.record(z.string(), z.object({ schema: schema.optional() })).optional(),
    }),
  ),
});

export const openApiDocument = z.object({
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  webhooks: z.record(z.string(), z.object({ post: operation })),
  components: z.object({ schemas: z.record(z.string(), schema) }),
});

export type OpenApiDocument = z.infer<typeof openApiDocument>;
type Schema = z.infer<typeof schema>;

/** Tags on the transfer agent's page. */
const TA = /transfer agent/i;

export const openApiPage = (document: OpenApiDocument, which: "rest" | "ta"): string => {
  const isHere = (tag: string) => TA.test(tag) === (which === "ta");
  const tags = document.tags.filter(({ name }) => isHere(name));
  const names = new Set<string>();
  const parts = tags.flatMap(({ name: tag, description }) => [
    `## ${tag}\n\n${description}\n`,
    ...Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, one]) =>
        one.tags[0] === tag ? [shown(`${method.toUpperCase()} ${path}`, one, names)] : [],
      ),
    ),
    ...Object.values(document.webhooks).flatMap(({ post }) =>
      post.tags[0] === tag ? [shown(`Callback: ${post.summary}`, post, names)] : [],
    ),
  ]);
  // Referenced schemas may reference others.
  const schemas: string[] = [];
  for (const name of names) {
    const found = document.components.schemas[name];
    if (found !== undefined) schemas.push(`### ${name}\n\n${members(found, names)}`);
  }
  return [HEADS[which], ...parts, "## Bodies\n", ...schemas.toSorted()].join("\n");
};

const HEADS = {
  rest: head(
    "REST",
    [
      "Everything over HTTP that is neither GraphQL nor the [transfer agent's interface](ta.md). A running service",
      "serves the same as `/openapi.json`, and at `/docs` for reading. Refusals are `{ error, details, requestId }`",
      "([errors](errors.md)).",
    ].join("\n"),
  ),
  ta: head(
    "Transfer agent",
    [
      "Signed requests to whitelist and to identify investors, and their results. How they are signed and",
      "processed: [transfer agent](../how-to/transfer-agent.md). A running service serves the same as `/openapi.json`.",
    ].join("\n"),
  ),
};

const shown = (title: string, one: z.infer<typeof operation>, names: Set<string>): string => {
  const { summary, description, parameters = [], requestBody, responses, security } = one;
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  return [
    `### ${title}\n`,
    `${summary}.${description === undefined ? "" : ` ${description}`}\n`,
    ...(security?.length === 0 && !title.startsWith("Callback") ? ["No key is needed.\n"] : []),
    ...(parameters.length === 0
      ? []
      : [
          table(
            ["parameter", "in", "type", "what it is"],
            parameters.map(({ name, in: where, required, description: about = "", schema: of }) => [
              code(name),
              where,
              typeOf(of, names),
              `${about}${defaultOf(of) ?? (required ? " Required." : "")}`,
            ]),
          ),
        ]),
    ...(body === undefined
      ? []
      : [`Body: ${typeOf(body, names)}\n`, table(MEMBERS, rowsOf(body, names, ""))]),
    table(
      ["answer", "what it means", "body"],
      Object.entries(responses).map(([status, { description: about, content = {} }]) => {
        const [kind, given] = Object.entries(content)[0] ?? [];
        const of = given?.schema && typeOf(given.schema, names);
        return [status, about, of ?? (kind === undefined ? "" : code(kind))];
      }),
    ),
  ]
    .filter((part) => part !== "")
    .join("\n");
};

const defaultOf = (of: Schema): string | undefined =>
  of.default === undefined ? undefined : ` Default: ${code(JSON.stringify(of.default))}.`;

const typeOf = (value: unknown, names: Set<string>): string => {
  const of = schema.safeParse(value).data;
  if (of === undefined) return "";
  const name = of.$ref?.split("/").at(-1);
  if (name !== undefined) {
    names.add(name);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (of.enum !== undefined) return of.enum.map((one) => code(JSON.stringify(one))).join(", ");
  if (of.const !== undefined) return code(JSON.stringify(of.const));
  if (of.anyOf !== undefined) return of.anyOf.map((one) => typeOf(one, names)).join(" or ");
  if (of.type === "array") return `list of ${typeOf(of.items, names) || "values"}`;
  const type = [of.type ?? ""].flat().join(" or ");
  return of.format === undefined ? type : `${type} (${of.format})`;
};

const MEMBERS = ["member", "type", "what it is"];

/** Members of an object and its nested objects. */
const members = (of: Schema, names: Set<string>): string => {
  const rows = rowsOf(of, names, "");
  if (rows.length > 0) return table(MEMBERS, rows);
  const type = typeOf(of, names);
  return type === "" ? "" : `${cell(type)}\n`;
};

const rowsOf = (of: Schema, names: Set<string>, before: string): readonly string[][] =>
  Object.entries(of.properties ?? {}).flatMap(([name, member]) => {
    const one = schema.parse(member);
    const inner = one.type === "array" ? schema.safeParse(one.items).data : one;
    const path = `${before}${name}`;
    const optional = of.required !== undefined && !of.required.includes(name);
    const about = [one.description ?? "", ...(optional ? ["May be absent."] : [])].join(" ");
    return [
      [code(path), typeOf(one, names), about],
      ...(inner === undefined || inner.$ref !== undefined
        ? []
        : rowsOf(inner, names, `${path}${one.type === "array" ? "[]" : ""}.`)),
    ];
  });
