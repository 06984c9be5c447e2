// The schema as the page knows it, once it was asked for: for its documentation, and to complete words.
import { tokensOf } from "./text.mjs";

export const INTROSPECTION = `query Schema {
  __schema {
    queryType { name }
    subscriptionType { name }
    types {
      kind name description
      fields { name description args { name description defaultValue type { ...T } } type { ...T } }
      inputFields { name description type { ...T } }
      enumValues { name description }
    }
  }
}
fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`;

/** A type as it is written. */
export const typeText = ({ kind, name, ofType }) => {
  if (kind === "NON_NULL") return `${typeText(ofType)}!`;
  return kind === "LIST" ? `[${typeText(ofType)}]` : name;
};

/** Name of a type without its lists and marks. */
export const typeName = ({ name, ofType }) => (ofType ? typeName(ofType) : name);

/** Types by name, without those of the language itself. */
export const schemaOf = ({ __schema: { queryType, subscriptionType, types } }) => ({
  roots: {
    query: queryType?.name,
    subscription: subscriptionType?.name,
  },
  types: new Map(types.filter(({ name }) => !name.startsWith("__")).map((one) => [one.name, one])),
});

const memberOf = (members, name) => members?.find((member) => member.name === name);

/**
 * What may stand at a place of a text: the beginning of the word there, and what it may become, each with its
 * type and description.
 */
export const suggestions = (schema, text, place) => {
  const begun = /\w*$/.exec(text.slice(0, place))?.[0] ?? "";
  const words = tokensOf(text.slice(0, place - begun.length)).filter(
    ({ kind }) => kind !== "space" && kind !== "comment",
  );
  const stack = [];
  let entering;
  let field;
  let inside = 0;
  let argument;
  words.forEach(({ word, kind }, at) => {
    const next = words[at + 1]?.word ?? /^\w*\s*(:)/.exec(text.slice(place))?.[1];
    const before = words[at - 1]?.word;
    if (word === "(") inside += 1;
    else if (word === ")") inside -= 1;
    else if (inside > 0) {
      if (kind === "name" && words[at + 1]?.word === ":") argument = memberOf(field?.args, word);
      else if (word !== ":") argument = undefined;
    } else if (word === "{") {
      stack.push(schema.types.get(entering ?? (stack.length === 0 ? schema.roots.query : "")));
      field = undefined;
    } else if (word === "}") {
      stack.pop();
      entering = undefined;
    } else if (kind === "name" && stack.length === 0) {
      if (word in schema.roots) entering = schema.roots[word];
      else if (before === "on") entering = word;
    } else if (kind === "name" && before === "on") entering = word;
    else if (kind === "name" && next !== ":") {
      field = memberOf(stack.at(-1)?.fields, word);
      entering = field && typeName(field.type);
    }
  });
  const last = words.at(-1)?.word;
  const offered = () => {
    if (inside > 0) {
      if (last === ":" && argument)
        return schema.types.get(typeName(argument.type))?.enumValues ?? [];
      return last === "(" || last !== ":" ? (field?.args ?? []) : [];
    }
    if (stack.length === 0) {
      const isStart = last === undefined || last === "}";
      return isStart ? Object.keys(schema.roots).map((name) => ({ name })) : [];
    }
    return stack.at(-1)?.fields ?? [];
  };
  const fits = ({ name }) => name.toLowerCase().startsWith(begun.toLowerCase()) && name !== begun;
  return {
    begun,
    all: offered()
      .filter(fits)
      .map((one) => ({
        name: one.name,
        insert: inside > 0 && last !== ":" ? `${one.name}: ` : one.name,
        type: one.type ? typeText(one.type) : "",
        description: one.description ?? "",
      })),
  };
};
