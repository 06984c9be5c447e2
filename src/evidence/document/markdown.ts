import { shownLines } from "../../logging/foreign-text.ts";
import { type Block, type Inline, type Paper, partsOf, type Table, type Text } from "./document.ts";

export const markdownOf = ({ number, title, blocks }: Paper): string =>
  [`# ${number} ${plain(title)}`, ...blocks.map(blockText)].map((part) => `${part}\n`).join("\n");

const blockText = (block: Block): string => {
  switch (block.kind) {
    case "heading":
      return `## ${plain(block.text)}`;
    case "text":
      return inline(block.text);
    case "list":
      return block.items.map((item) => `- ${inline(item)}`).join("\n");
    case "table":
      return tableText(block);
    case "qr":
      return `${inline(block.caption)}: ${codeText(block.text, false)}`;
    case "fill":
      return block.labels
        .map((label) => `${plain(label)}${label === "" ? "" : ": "}${"_".repeat(40)}`)
        .join("\n\n");
  }
};

const tableText = ({ columns, rows, total, more }: Table): string => {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const text = [
    line(columns.map(({ title }) => plain(title))),
    line(columns.map(({ isNumber }) => (isNumber ? "---:" : "---"))),
    ...[...rows, ...(total === undefined ? [] : [total])].map((cells) =>
      line(cells.map((cell) => inline(cell, true))),
    ),
  ].join("\n");
  if (more === undefined || more.all <= rows.length) return text;
  return `${text}\n\n${rows.length} of ${more.all} are listed; all are in ${inline({ code: more.at })}.`;
};

const inline = (of: Inline, isCell = false): string => {
  const text = partsOf(of)
    .map((part) => shown(part, isCell))
    .join("");
  // A number with a dot, or a dash, would start a list.
  return isCell ? text : text.replace(/^(\d*)([-+=.)])(?=\s|$)/, "$1\\$2");
};

const shown = (part: Text, isCell: boolean): string =>
  typeof part === "string"
    ? plain(part)
    : "strong" in part
      ? `**${plain(part.strong)}**`
      : codeText(part.code, isCell);

/** Escapes characters with meaning in Markdown, its HTML, or autolinks. */
const plain = (of: string): string =>
  visible(of)
    .replace(/[\\`*_[\]<>|~#&@]/g, "\\$&")
    .replace(/:(?=\/\/)/g, "\\:")
    .replace(/\b(www)\./gi, "$1\\.");

/** A line break in foreign text would start a block. */
const visible = (of: string): string => shownLines(of.replaceAll("\n", "\\u{a}"));

/** The fence is longer than any run of backticks inside. In tables, the pipe must be escaped. */
const codeText = (of: string, isCell: boolean): string => {
  if (of === "") return "";
  const text = isCell ? visible(of).replaceAll("|", "\\|") : visible(of);
  const runs = [...text.matchAll(/`+/g)].map(([run]) => run.length);
  const fence = "`".repeat(1 + runs.reduce((most, length) => Math.max(most, length), 0));
  const room = runs.length > 0 || text.trim() === "" || /^ .* $/.test(text) ? " " : "";
  return `${fence}${room}${text}${room}${fence}`;
};
