/** How commands print: foreign text is escaped, so that it cannot steer the terminal or begin a line. */
import { Option } from "commander";
import { shownJson, shownLines } from "../logging/foreign-text.ts";

const escapedLines = (lines: readonly string[]): string =>
  lines.map((line) => `${shownLines(line)}\n`).join("");

/** Prints lines of text. */
export const printLines = (lines: readonly string[]): void => {
  process.stdout.write(escapedLines(lines));
};

/** Prints lines for people on standard error; programs read standard output. */
export const tellLines = (...lines: readonly string[]): void => {
  process.stderr.write(escapedLines(lines));
};

/** Prints one JSON document, with bigints as strings of digits, so that no reader rounds them. */
export const printJson = (value: unknown, indent?: number): void =>
  printJsonText(JSON.stringify(value, bigintAsText, indent));

/** Prints a finished JSON document. */
export const printJsonText = (json: string): void => {
  process.stdout.write(`${shownJson(json)}\n`);
};

/** `--json` of every command that lists. */
export const jsonOption = () => new Option("--json", "one JSON document: a list");

/** Prints a list: one JSON document, or one a line. */
export const printList = (items: readonly object[], json: boolean): void => {
  if (json) printJson(items);
  else for (const item of items) printJson(item);
};

/** Lines of a check's report. */
export const notShown = (what: string): string => `not shown: ${what}`;
export const onFaith = (what: string): string => `taken on faith: ${what}`;

/** The exit code of a check: 1 if something is false, 3 if nothing is, but something could not be shown. */
export const endCheck = ({
  isFalse,
  isUnshown,
}: {
  readonly isFalse: boolean;
  readonly isUnshown: boolean;
}): void => {
  if (isFalse) process.exitCode = 1;
  else if (isUnshown) process.exitCode = 3;
};

const bigintAsText = (_: string, member: unknown): unknown =>
  typeof member === "bigint" ? member.toString() : member;
