// The language of queries: words, colours, layout, operations, and completion from the schema.

const TOKEN =
  /(?<comment>#[^\n]*)|(?<string>"""[\s\S]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?)|(?<variable>\$\w*)|(?<directive>@\w*)|(?<number>-?\d[\d.eE+-]*)|(?<name>[A-Za-z_]\w*)|(?<mark>\.\.\.|[!&(){}[\]:=|])|(?<space>[\s,]+|.)/g;

/** Words of a text with their places; together they are the text. */
export const tokensOf = (text) =>
  [...text.matchAll(TOKEN)].map(({ 0: word, index, groups }) => ({
    kind: Object.keys(groups).find((kind) => groups[kind] !== undefined),
    word,
    index,
  }));

const KEYWORDS = new Set("query mutation subscription fragment on true false null".split(" "));

/** The style of a word. */
export const styleOf = ({ kind, word }) =>
  kind === "name" && KEYWORDS.has(word) ? "keyword" : kind;

/** Words without blanks and comments. */
const wordsOf = (text) =>
  tokensOf(text).filter(({ kind }) => kind !== "space" && kind !== "comment");

/** The text between two words in brackets. */
const gapInBrackets = ({ kind, word }, before, after, bracket) => {
  if ("([".includes(before) || ")]:!".includes(word)) return "";
  if (before === "{" || word === "}" || ":=".includes(before) || word === "=") return " ";
  return kind === "variable" || after === ":" || bracket === "[" ? ", " : " ";
};

/** Whether a word of a selection begins a line. */
const beginsLine = ({ kind, word }, before) =>
  (kind === "name" || word === "...") && ![":", "...", "on"].includes(before);

/** Formats a text: one field a line, two blanks a level; comments have lines of their own. */
export const prettified = (text) => {
  const words = tokensOf(text).filter(({ kind }) => kind !== "space");
  const brackets = [];
  let out = "";
  let depth = 0;
  const line = () => {
    out = out.trim() === "" ? "" : `${out.trimEnd()}\n${"  ".repeat(depth)}`;
  };
  for (const [at, token] of words.entries()) {
    const { kind, word } = token;
    const before = words[at - 1]?.word ?? "";
    const after = words[at + 1]?.word;
    const bracket = brackets.at(-1);
    if (kind === "comment") {
      line();
      out += word;
      line();
    } else if (bracket !== undefined) {
      out += `${gapInBrackets(token, before, after, bracket)}${word}`;
      if ("([{".includes(word)) brackets.push(word);
      if (")]}".includes(word)) brackets.pop();
    } else if (word === "(") {
      out += word;
      brackets.push(word);
    } else if (word === "{") {
      out += /(^|\s)$/.test(out) ? "{" : " {";
      depth += 1;
      line();
    } else if (word === "}") {
      depth = Math.max(0, depth - 1);
      line();
      out += "}";
      if (depth === 0) out += "\n\n";
      else line();
    } else {
      if (depth > 0 && beginsLine(token, before)) line();
      else if (word !== ":" && !/(^|\s)$/.test(out) && !(before === "..." && word !== "on")) {
        out += " ";
      }
      out += word;
    }
  }
  return `${out.trim()}\n`;
};

/** The operations of a text: kind, name and range. */
const operationsOf = (text) => {
  const found = [];
  let depth = 0;
  let open;
  const words = wordsOf(text);
  words.forEach(({ word, kind, index }, at) => {
    if (depth === 0 && open === undefined && (word === "{" || kind === "name")) {
      const next = words[at + 1];
      const name = word !== "{" && next?.kind === "name" ? next.word : undefined;
      open = { kind: word === "{" ? "query" : word, name, from: index, to: text.length };
    }
    if ("({[".includes(word)) depth += 1;
    if (")}]".includes(word)) depth -= 1;
    if (word === "}" && depth === 0 && open !== undefined) {
      found.push({ ...open, to: index + 1 });
      open = undefined;
    }
  });
  if (open !== undefined) found.push(open);
  return found.filter(({ kind }) => kind !== "fragment");
};

/** The operation at a place of the text, else the first one. */
export const operationAt = (text, place) => {
  const all = operationsOf(text);
  const found = all.find(({ from, to }) => from <= place && place <= to) ?? all[0];
  return found && { ...found, isOnly: all.length === 1 };
};

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

/** Types by name, without introspection types. */
export const schemaOf = ({ __schema: { queryType, subscriptionType, types } }) => ({
  roots: { query: queryType?.name, subscription: subscriptionType?.name },
  types: new Map(types.filter(({ name }) => !name.startsWith("__")).map((one) => [one.name, one])),
});

const memberOf = (members, name) => members?.find((member) => member.name === name);

/**
 * Completions at a place of a text: the beginning of the word there, and the words that it may become, each with
 * its type and description.
 */
export const suggestions = (schema, text, place) => {
  const begun = /\w*$/.exec(text.slice(0, place))?.[0] ?? "";
  const words = wordsOf(text.slice(0, place - begun.length));
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
