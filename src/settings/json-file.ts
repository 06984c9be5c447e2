/** JSON files of operators: readable faults with their place in the file. */
import type { z } from "zod";
import { parseStrictJson, StrictJsonError } from "./strict-json.ts";

/** The content, or a line for each fault with its place: `at line 3, column 7: …`. */
type JsonFile<T> =
  | { readonly content: T; readonly faults?: undefined }
  | { readonly content?: undefined; readonly faults: readonly string[] };

export const readJsonFile = <T>(text: string, schema: z.ZodType<T>): JsonFile<T> => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { faults: [syntaxFault(text)] };
  }
  const { success, data, error } = schema.safeParse(json, { error: wordsOf });
  if (success) return { content: data };
  return { faults: error.issues.map(({ path, message }) => `at ${pathOf(path)}: ${message}`) };
};

/** `projects[0].tokens[1].address` */
export const pathOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "") || "the top";

/** Position of a syntax error: the runtime's message does not always have it. */
const syntaxFault = (text: string): string => {
  try {
    parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const before = text.slice(0, error.at).split("\n");
    const column = (before.at(-1)?.length ?? 0) + 1;
    return `is not JSON: at line ${before.length}, column ${column}: ${error.why}`;
  }
  return "is not JSON";
};

/** Messages for the schema's plain issues. Never quotes a value: it may be a URL with a key. */
const wordsOf = (issue: z.core.$ZodRawIssue): string => {
  if (issue.input === undefined) return "is missing";
  switch (issue.code) {
    case "invalid_type":
      return `must be ${KINDS[issue.expected] ?? issue.expected}, and is ${kindOf(issue.input)}`;
    case "unrecognized_keys":
      return `has ${issue.keys.length === 1 ? "an unknown member" : "unknown members"}: ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_key":
      return `has an invalid name: it ${issue.issues.map(({ message }) => message).join(", ")}`;
    case "too_small":
      return bound(issue.origin, "at least", Number(issue.minimum));
    case "too_big":
      return bound(issue.origin, "at most", Number(issue.maximum));
    default:
      return "does not fit";
  }
};

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const kindOf = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  return typeof value === "boolean" ? String(value) : (KINDS[typeof value] ?? typeof value);
};

const bound = (origin: string, how: string, size: number): string => {
  if (origin === "array") return `must have ${how} ${size} ${size === 1 ? "entry" : "entries"}`;
  if (origin === "string" && how === "at least" && size === 1) return "must not be empty";
  return origin === "string" ? `must have ${how} ${size} characters` : `must be ${how} ${size}`;
};
