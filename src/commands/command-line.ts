/**
 * The command line. Exit codes: 0 done, 1 failed, 2 wrong usage or settings; errors may define
 * others.
 */
import { Command, CommanderError } from "commander";
import { isArchived } from "../log/facts-archived.ts";
import { shownLines } from "../logging/foreign-text.ts";
import { ConfigError } from "../settings/config-error.ts";
import { VERSION } from "../telemetry/version.ts";
import { COMMANDS } from "./list.ts";
import { UsageError } from "./usage.ts";

/** Runs the named command; sets `process.exitCode` on failure. */
export const runCommandLine = async (args: readonly string[]): Promise<void> => {
  // `help NAME` needs that command's code.
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

/** All commands with their code, for the reference. */
export const wholeProgram = (): Promise<Command> => programWith(() => true);

/** @param isLoaded which commands' code to load */
const programWith = async (isLoaded: (name: string) => boolean): Promise<Command> => {
  const program = new Command("holderbook")
    .description("Indexes security tokens and serves their holder register.")
    .version(VERSION)
    // Options after a sub-command belong to it, even if its parent has the same ones.
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
    // Commands that are not loaded show their listed usage.
    subcommandTerm: (command) => {
      const name = command.name();
      const usage = name in COMMANDS ? COMMANDS[name]?.usage : command.usage();
      return usage === undefined ? name : `${name} ${usage}`;
    },
  });
  throwInsteadOfExit(program);
  return program;
};

/** Commander exits with 1 for wrong usage; here it is 2, also in sub-commands. */
const throwInsteadOfExit = (command: Command) => {
  command.exitOverride().showHelpAfterError("(see --help)");
  command.commands.forEach(throwInsteadOfExit);
};

/** Documented errors are printed with their name, unforeseen ones with their stack. */
const report = (error: unknown) => {
  if (!(error instanceof Error)) {
    process.stderr.write(`holderbook: ${shownLines(String(error))}\n`);
    return;
  }
  if (error.name === "AbortError") {
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    process.stderr.write(`holderbook: interrupted: ${shownLines(reason)}\n`);
    return;
  }
  const { name, message: text, stack, cause } = error;
  // Messages of system calls name the file, those of lost database connections the address.
  const isPlain =
    error instanceof UsageError || "syscall" in error || "address" in error || isArchived(error);
  const message = "remedy" in error ? `${name}: ${text}` : isPlain ? text : (stack ?? text);
  // Only ConfigError has trusted line breaks; elsewhere they may come from foreign text.
  const lines = error instanceof ConfigError ? message.split("\n") : [message];
  process.stderr.write(`holderbook: ${lines.map(shownLines).join("\n")}\n`);
  if (cause instanceof Error && !text.includes(cause.message)) {
    process.stderr.write(`  because: ${shownLines(cause.message)}\n`);
  }
};
