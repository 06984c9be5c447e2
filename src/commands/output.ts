/** How commands print: nothing that others wrote steers the terminal or begins a line of its own. */
import { Option } from "commander";
import { shownJson, shownLines } from "../logging/foreign-text.ts";

const escapedLines = (lines: readonly string[]): string =>
  lines.map((line) => `${shownLines(line)}\n`).join("");

/** Prints lines of text. */
export const printLines = (lines: readonly string[]): void => {
  process.stdout.write(escapedLines(lines));
};

/** Prints lines for people on standard error, beside what programs read. */
export const tellLines = (...lines: readonly string[]): void => {
  process.stderr.write(escapedLines(lines));
};

/** Prints one JSON document; a bigint as decimal digits in quotes, which no reader of JSON rounds. */
export const printJson = (value: unknown, indent?: number): void =>
  printJsonText(JSON.stringify(value, bigintAsText, indent));

/** Prints a JSON document that is made already. */
export const printJsonText = (json: string): void => {
  process.stdout.write(`${shownJson(json)}\n`);
};

/** `--json`, which every command that lists has. */
export const jsonOption = () => new Option("--json", "one JSON document: a list of what is listed");

/** Prints what was listed: JSON, one a line, or one document. */
export const printList = (items: readonly object[], json: boolean): void => {
  if (json) printJson(items);
  else for (const item of items) printJson(item);
};

const bigintAsText = (_: string, member: unknown): unknown =>
  typeof member === "bigint" ? member.toString() : member;
