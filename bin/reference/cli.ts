/** `docs/reference/cli.md`, from the program's own commands. */
import type { TreeCommand } from "../../src/commands/command-tree.ts";
import { code, head, table } from "./markdown.ts";

/** The page. */
export const cliPage = (commands: readonly TreeCommand[]): string =>
  [
    head(
      "Command line",
      [
        "`npm run holderbook -- COMMAND`, or `node bin/holderbook.mjs COMMAND`. Settings come from the environment",
        "and `.env` ([settings](settings.md)). Every command takes `--help`. Exit codes: 0 done, 1 failed, 2 wrong usage",
        "or settings. Of a command that checks something 1 says that something is false, 3 that nothing false was found, but",
        "not everything that was asked for could be shown.",
        "",
        "Every command that lists takes `--json` and then prints one JSON document, in which amounts are strings.",
        "Without it, lists are JSON, one item a line, or text for people. What is no data goes to standard error.",
      ].join("\n"),
    ),
    table(
      ["command", "what it does"],
      commands.map(({ name, about }) => [`[${name}](#${anchorOf(name)})`, about]),
    ),
    ...commands.flatMap((command) => sections(command, "")),
  ].join("\n");

const anchorOf = (path: string): string => path.replaceAll(" ", "-");

const sections = (command: TreeCommand, before: string): readonly string[] => {
  const path = `${before}${command.name}`;
  const own = command.options.length > 0 || command.arguments.length > 0;
  const runs = own || command.commands.length === 0;
  const usage = [
    "holderbook",
    path,
    ...(command.options.length > 0 ? ["[options]"] : []),
    ...command.arguments.map(({ name, required, variadic }) => {
      const shown = variadic ? `${name}...` : name;
      return required ? `<${shown}>` : `[${shown}]`;
    }),
  ].join(" ");
  const text = [
    `${before === "" ? "##" : "###"} ${path}`,
    command.about,
    ...(runs ? [`\`\`\`console\n${usage}\n\`\`\``] : []),
    table(
      ["argument", "what it is"],
      command.arguments.map(({ name, about, choices }) => [
        code(name),
        withChoices(about, choices),
      ]),
    ),
    table(
      ["option", "what it does"],
      command.options.map(({ flags, about, choices, mandatory, defaultValue }) => [
        code(flags),
        [
          withChoices(about, choices),
          ...(mandatory ? ["Required."] : []),
          ...(defaultValue === null ? [] : [`Default: ${code(defaultValue)}.`]),
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

const withChoices = (about: string, choices: readonly string[]): string =>
  choices.length === 0
    ? about
    : `${about}${about === "" ? "" : ": "}${choices.map(code).join(", ")}`;
