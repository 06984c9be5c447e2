/** The command line. Exit codes: 0 done, 1 failed, 2 wrong usage or settings; an error may have its own. */
import { Command, CommanderError } from "commander";
import { shownLines } from "../logging/foreign-text.ts";
import { ConfigError } from "../settings/config-error.ts";
import { VERSION } from "../telemetry/version.ts";
import { COMMANDS } from "./list.ts";
import { UsageError } from "./usage.ts";

/** Runs the command that the arguments name, and sets `process.exitCode` unless it is done. */
export const runCommandLine = async (args: readonly string[]): Promise<void> => {
  // `help NAME` needs the code of that command, as the command itself does.
  const named = args[0] === "help" ? args[1] : args[0];
  const program = await programWith((name) => name === named);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed the fault or the help.
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

/** The program with the code of all its commands, for the reference. */
export const wholeProgram = (): Promise<Command> => programWith(() => true);

/** The program with all its commands, whose code is loaded where `isLoaded`. */
const programWith = async (isLoaded: (name: string) => boolean): Promise<Command> => {
  const program = new Command("holderbook")
    .description("Indexes security tokens and serves their holder register.")
    .version(VERSION)
    // Options after a sub-command are its own, even if the command has one of the same name.
    .enablePositionalOptions()
    .addHelpText(
      "after",
      "\nSettings come from the environment and .env; .env.example lists them all.",
    );
  for (const [name, { about, load }] of Object.entries(COMMANDS)) {
    const command = isLoaded(name) ? await load() : new Command(name);
    program.addCommand(command.description(about).enablePositionalOptions());
  }
  program.configureHelp({
    // The list has the usage of commands that are not loaded.
    subcommandTerm: (command) => {
      const name = command.name();
      const usage = name in COMMANDS ? COMMANDS[name]?.usage : command.usage();
      return usage === undefined ? name : `${name} ${usage}`;
    },
  });
  throwInsteadOfExit(program);
  return program;
};

/** Commander exits with 1; wrong usage is 2 here, at every level of sub-commands. */
const throwInsteadOfExit = (command: Command) => {
  command.exitOverride().showHelpAfterError("(see --help)");
  command.commands.forEach(throwInsteadOfExit);
};

/** Our errors need only name and message; other errors are printed with their stack. */
const report = (error: unknown) => {
  if (!(error instanceof Error)) {
    process.stderr.write(`holderbook: ${shownLines(String(error))}\n`);
    return;
  }
  if (error.name === "AbortError") {
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    process.stderr.write(`holderbook: stopped before it was done: ${shownLines(reason)}\n`);
    return;
  }
  const ours = "remedy" in error || error instanceof UsageError;
  // Errors of system calls name the file.
  const system = "syscall" in error;
  const text = ours ? `${error.name}: ${error.message}` : system ? error.message : error.stack;
  const message = text ?? error.message;
  // Only ConfigError has trusted line breaks; elsewhere they may come from foreign text.
  const lines = error instanceof ConfigError ? message.split("\n") : [message];
  process.stderr.write(`holderbook: ${lines.map(shownLines).join("\n")}\n`);
  if (error.cause instanceof Error)
    process.stderr.write(`  because: ${shownLines(error.cause.message)}\n`);
};
