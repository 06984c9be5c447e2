/** The command line. Exit codes: 0 done, 1 failed, 2 wrong usage or settings; an error may have its own. */
import { Command, CommanderError } from "commander";
import { shownLines } from "../logging/foreign-text.ts";
import { ConfigError } from "../settings/config-error.ts";
import { VERSION } from "../telemetry/version.ts";
import { COMMANDS } from "./list.ts";
import { UsageError } from "./usage.ts";

/** Runs the command that the arguments name, and sets `process.exitCode` unless it is done. */
export const runCommandLine = async (args: readonly string[]): Promise<void> => {
  const program = await programFor(args);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed what was wrong, or the help that was asked for.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
    } else {
      report(error);
      process.exitCode = exitCodeOf(error);
    }
  }
};

const exitCodeOf = (error: unknown): number => {
  if (error instanceof UsageError || error instanceof ConfigError) return 2;
  const isOwn = error instanceof Error && "exitCode" in error;
  return isOwn && typeof error.exitCode === "number" ? error.exitCode : 1;
};

/** The program with the code of all its commands: for what tells of them all. */
export const wholeProgram = (): Promise<Command> => programFor(["completion"]);

/** The program with all its commands, of which only the named one is loaded. */
const programFor = async ([first = "", second = ""]: readonly string[]): Promise<Command> => {
  const program = new Command("holderbook")
    .description("Indexes security tokens and serves their holder register.")
    .version(VERSION)
    // What follows a sub-command is its own, also where the command has an option of the same name.
    .enablePositionalOptions()
    .addHelpText(
      "after",
      "\nSettings come from the environment and .env; .env.example lists them all.",
    );
  // `help NAME` shows the help of that command, and needs its code as the command itself does.
  const named = first === "help" ? second : first;
  // Completion is about all of them.
  const isLoaded = (name: string) => name === named || named === "completion";
  for (const [name, { about, load }] of Object.entries(COMMANDS)) {
    const command = isLoaded(name) ? await load() : new Command(name);
    program.addCommand(command.description(about).enablePositionalOptions());
  }
  program.configureHelp({
    // What follows a name in the list is known of commands that are not loaded, too.
    subcommandTerm: (command) => {
      const name = command.name();
      const usage = name in COMMANDS ? COMMANDS[name]?.usage : command.usage();
      return usage === undefined ? name : `${name} ${usage}`;
    },
  });
  throwInsteadOfExit(program);
  return program;
};

/** Commander's own way is to exit with 1; wrong usage is 2 here, on every level of sub-commands. */
const throwInsteadOfExit = (command: Command) => {
  command.exitOverride().showHelpAfterError("(--help shows how it goes)");
  command.commands.forEach(throwInsteadOfExit);
};

/** An error of ours tells all by its name and message; of any other one, where it came from helps. */
const report = (error: unknown) => {
  if (!(error instanceof Error)) {
    process.stderr.write(`holderbook: ${shownLines(String(error))}\n`);
    return;
  }
  const ours = "remedy" in error || error instanceof UsageError;
  // What the system refuses (a file) says itself what is wrong.
  const system = "syscall" in error;
  const text = ours ? `${error.name}: ${error.message}` : system ? error.message : error.stack;
  const said = text ?? error.message;
  // Settings have a line each; what else has several may have them from somebody else.
  const lines = error instanceof ConfigError ? said.split("\n") : [said];
  process.stderr.write(`holderbook: ${lines.map(shownLines).join("\n")}\n`);
  if (error.cause instanceof Error)
    process.stderr.write(`  because: ${shownLines(error.cause.message)}\n`);
};
