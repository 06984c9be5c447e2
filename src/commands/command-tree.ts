/** All commands with their options and arguments as plain values, for completion and for the reference. */
import type { Argument, Command, Option } from "commander";

export type TreeOption = {
  /** With its hyphens, such as `--json`. */
  readonly names: readonly string[];
  /** As help shows it, such as `--limit <n>`. */
  readonly flags: string;
  readonly about: string;
  readonly takesValue: boolean;
  /** What the value may be; empty: anything. */
  readonly choices: readonly string[];
  readonly mandatory: boolean;
  /** As help shows it; null for none. */
  readonly defaultValue: string | null;
};

export type TreeArgument = {
  readonly name: string;
  readonly about: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly choices: readonly string[];
};

export type TreeCommand = {
  readonly name: string;
  readonly about: string;
  readonly options: readonly TreeOption[];
  readonly arguments: readonly TreeArgument[];
  readonly commands: readonly TreeCommand[];
};

/** What is below the program, or below a command. */
export const commandTree = (program: Command): readonly TreeCommand[] =>
  program.commands.map(treeOf);

const treeOf = (command: Command): TreeCommand => ({
  name: command.name(),
  about: command.description(),
  options: command.options.filter(({ hidden }) => !hidden).map(optionOf),
  arguments: command.registeredArguments.map(argumentOf),
  commands: commandTree(command),
});

const optionOf = (option: Option): TreeOption => ({
  names: [option.short, option.long].filter((name) => name != null),
  flags: option.flags,
  about: option.description,
  takesValue: option.required || option.optional,
  choices: option.argChoices ?? [],
  mandatory: option.mandatory,
  defaultValue: option.defaultValue === undefined ? null : String(option.defaultValue),
});

const argumentOf = (argument: Argument): TreeArgument => ({
  name: argument.name(),
  about: argument.description,
  required: argument.required,
  variadic: argument.variadic,
  choices: argument.argChoices ?? [],
});
