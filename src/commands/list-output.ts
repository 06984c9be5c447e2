/** How commands that list print: JSON, one a line, or one JSON document. */
import { Option } from "commander";

/** `--json`, which every command that lists has. */
export const jsonOption = () => new Option("--json", "one JSON document: a list of what is listed");

/** Prints what was listed; a bigint as decimal digits in quotes, which no reader of JSON rounds. */
export const printList = (items: readonly object[], json: boolean): void => {
  process.stdout.write(
    json ? `${printed(items)}\n` : items.map((item) => `${printed(item)}\n`).join(""),
  );
};

const printed = (value: object): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint" ? member.toString() : member,
  );
