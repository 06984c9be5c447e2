// What the page does with the text of a query: words, colours, layout, and which operation is meant.

const TOKEN =
  /(?<comment>#[^\n]*)|(?<string>"""[\s\S]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?)|(?<variable>\$\w*)|(?<directive>@\w*)|(?<number>-?\d[\d.eE+-]*)|(?<name>[A-Za-z_]\w*)|(?<mark>\.\.\.|[!&(){}[\]:=|])|(?<space>[\s,]+|.)/g;

/** Words of a text with their places; together they are the text. */
export const tokensOf = (text) =>
  [...text.matchAll(TOKEN)].map(({ 0: word, index, groups }) => ({
    kind: Object.keys(groups).find((kind) => groups[kind] !== undefined),
    word,
    index,
  }));

const KEYWORDS = new Set([
  "query",
  "mutation",
  "subscription",
  "fragment",
  "on",
  "true",
  "false",
  "null",
]);

/** What a word is shown as. */
export const styleOf = ({ kind, word }) =>
  kind === "name" && KEYWORDS.has(word) ? "keyword" : kind;

const matches = ({ kind }) => kind !== "space";

/** What stands between two words in brackets. */
const gapInBrackets = ({ kind, word }, before, after, bracket) => {
  if ("([".includes(before) || ")]:!".includes(word)) return "";
  if (before === "{" || word === "}" || ":=".includes(before) || word === "=") return " ";
  return kind === "variable" || after === ":" || bracket === "[" ? ", " : " ";
};

/** Whether a word of a selection begins a line. */
const beginsLine = ({ kind, word }, before) =>
  (kind === "name" || word === "...") && ![":", "...", "on"].includes(before);

/** Laid out anew: one field a line, two blanks a level; comments have lines of their own. */
export const prettified = (text) => {
  const words = tokensOf(text).filter(matches);
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

/** Operations of a text: what they are, their names and where they stand. */
export const operationsOf = (text) => {
  const found = [];
  let depth = 0;
  let open;
  const words = tokensOf(text).filter(({ kind }) => kind !== "space" && kind !== "comment");
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
  const meant = all.find(({ from, to }) => from <= place && place <= to) ?? all[0];
  return meant && { ...meant, isOnly: all.length === 1 };
};
