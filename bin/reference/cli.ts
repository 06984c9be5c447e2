/** `docs/reference/cli.md`, from the program's own commands. */
import type { Command } from "commander";
import { code, head, table } from "./markdown.ts";

export const cliPage = ({ commands }: Command): string =>
  [
    head(
      "Command line",
      [
        "`npm run holderbook -- COMMAND`, or `node bin/holderbook.mjs COMMAND`. Settings come from the environment",
        "and `.env` ([settings](settings.md)). Every command takes `--help`. Exit codes: 0 done, 1 failed, 2 wrong usage",
        "or settings. From a command that checks something, 1 means that something is false, and 3 that nothing false was",
        "found, but not everything could be checked.",
        "",
        "Commands that print lists take `--json` and then print one JSON document, in which amounts are strings.",
        "Without it they print JSON, one item per line, or text for people. Messages go to standard error.",
      ].join("\n"),
    ),
    table(
      ["command", "what it does"],
      commands.map((command) => {
        const name = command.name();
        return [`[${name}](#${anchorOf(name)})`, command.description()];
      }),
    ),
    ...commands.flatMap((command) => sections(command, "")),
  ].join("\n");

const anchorOf = (path: string): string => path.replaceAll(" ", "-");

const sections = (command: Command, before: string): readonly string[] => {
  const path = `${before}${command.name()}`;
  const options = command.options.filter(({ hidden }) => !hidden);
  const own = options.length > 0 || command.registeredArguments.length > 0;
  const runs = own || command.commands.length === 0;
  const usage = [
    "holderbook",
    path,
    ...(options.length > 0 ? ["[options]"] : []),
    ...command.registeredArguments.map((argument) => {
      const shown = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? `<${shown}>` : `[${shown}]`;
    }),
  ].join(" ");
  const text = [
    `${before === "" ? "##" : "###"} ${path}`,
    command.description(),
    ...(runs ? [`\`\`\`console\n${usage}\n\`\`\``] : []),
    table(
      ["argument", "what it is"],
      command.registeredArguments.map((argument) => [
        code(argument.name()),
        withChoices(argument.description, argument.argChoices),
      ]),
    ),
    table(
      ["option", "what it does"],
      options.map(({ flags, description, argChoices, mandatory, defaultValue }) => [
        code(flags),
        [
          withChoices(description, argChoices),
          ...(mandatory ? ["Required."] : []),
          ...(defaultValue === undefined ? [] : [`Default: ${code(String(defaultValue))}.`]),
        ].join(" "),
      ]),
    ),
  ];
  return [
    `${text
      .filter((part) => part !== "")
      .map((part) => part.trimEnd())
      .join("\n\n")}\n`,
    ...command.commands.flatMap((below) => sections(below, `${path} `)),
  ];
};

const withChoices = (about: string, choices: readonly string[] = []): string =>
  choices.length === 0
    ? about
    : `${about}${about === "" ? "" : ": "}${choices.map(code).join(", ")}`;
