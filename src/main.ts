/** The command line. Exit codes: 0 done, 1 failed, 2 wrong usage. */
import { Command, CommanderError } from "commander";
import { demoCommand } from "./commands/demo.ts";
import { indexCommand } from "./commands/index-ledger.ts";
import { inspectCommand } from "./commands/inspect.ts";
import { keysCommand } from "./commands/keys.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { UsageError } from "./commands/runtime.ts";
import { serveCommand } from "./commands/serve.ts";
import { startCommand } from "./commands/start.ts";
import { statusCommand } from "./commands/status.ts";
import { ConfigError } from "./config.ts";
import { VERSION } from "./version.ts";

const program = new Command("holderbook")
  .description("Indexes security tokens and serves their holder register.")
  .version(VERSION)
  .addHelpText(
    "after",
    "\nSettings come from the environment and .env; .env.example lists them all.",
  );

for (const command of [
  startCommand(),
  indexCommand(),
  serveCommand(),
  inspectCommand(),
  statusCommand(),
  migrateCommand(),
  keysCommand(),
  demoCommand(),
]) {
  program.addCommand(command);
}

/** Commander's own way is to exit with 1; wrong usage is 2 here, on every level of sub-commands. */
const throwInsteadOfExit = (command: Command) => {
  command.exitOverride().showHelpAfterError("(--help shows how it goes)");
  command.commands.forEach(throwInsteadOfExit);
};
throwInsteadOfExit(program);

/** An error of ours tells all by its name and message; of any other one, where it came from helps. */
const report = (error: unknown) => {
  if (!(error instanceof Error)) {
    process.stderr.write(`holderbook: ${String(error)}\n`);
    return;
  }
  const ours = "remedy" in error || error instanceof UsageError;
  const text = ours ? `${error.name}: ${error.message}` : (error.stack ?? error.message);
  process.stderr.write(`holderbook: ${text}\n`);
  if (error.cause instanceof Error) process.stderr.write(`  because: ${error.cause.message}\n`);
};

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has already printed what was wrong, or the help that was asked for.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    report(error);
    process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
  }
}
