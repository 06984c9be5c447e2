/**
 * Output of commands; foreign text is escaped, so that it cannot control the terminal or fake a
 * line.
 */
import { Option } from "commander";
import { shownJson, shownLines } from "../logging/foreign-text.ts";

const escapedLines = (lines: readonly string[]): string =>
  lines.map((line) => `${shownLines(line)}\n`).join("");

export const printLines = (lines: readonly string[]): void => {
  process.stdout.write(escapedLines(lines));
};

/** Prints lines for people on standard error; standard output is for programs. */
export const printMessages = (...lines: readonly string[]): void => {
  process.stderr.write(escapedLines(lines));
};

/** Prints one JSON document; bigints become strings, so that no reader rounds them. */
export const printJson = (value: unknown, indent?: number): void =>
  printJsonText(JSON.stringify(value, bigintAsText, indent));

export const printJsonText = (json: string): void => {
  process.stdout.write(`${shownJson(json)}\n`);
};

export const jsonOption = () => new Option("--json", "print one JSON document, a list");

/** Prints one JSON document, or one per line. */
export const printList = (items: readonly object[], json: boolean): void => {
  if (json) printJson(items);
  else for (const item of items) printJson(item);
};

export const notShown = (what: string): string => `not shown: ${what}`;
export const onFaith = (what: string): string => `taken on faith: ${what}`;

/** Exit code of a check: 1 if something is false, else 3 if something could not be shown. */
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
