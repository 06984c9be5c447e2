/** The command line. Exit codes: 0 done, 1 failed, 2 wrong usage. */
import { Command, CommanderError } from "commander";
import { UsageError } from "./commands/usage.ts";
import { ConfigError } from "./config.ts";
import { VERSION } from "./version.ts";

/** Loaded when named: a command does not wait for the code of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import("./commands/start.ts")).startCommand(),
  index: async () => (await import("./commands/index-ledger.ts")).indexCommand(),
  serve: async () => (await import("./commands/serve.ts")).serveCommand(),
  inspect: async () => (await import("./commands/inspect.ts")).inspectCommand(),
  status: async () => (await import("./commands/status.ts")).statusCommand(),
  migrate: async () => (await import("./commands/migrate.ts")).migrateCommand(),
  rebuild: async () => (await import("./commands/rebuild.ts")).rebuildCommand(),
  evm: async () => (await import("./commands/evm.ts")).evmCommand(),
  keys: async () => (await import("./commands/keys.ts")).keysCommand(),
  callbacks: async () => (await import("./commands/callbacks.ts")).callbacksCommand(),
  ta: async () => (await import("./commands/ta.ts")).taCommand(),
  pii: async () => (await import("./commands/pii.ts")).piiCommand(),
  demo: async () => (await import("./commands/demo.ts")).demoCommand(),
};

const program = new Command("holderbook")
  .description("Indexes security tokens and serves their holder register.")
  .version(VERSION)
  .addHelpText(
    "after",
    "\nSettings come from the environment and .env; .env.example lists them all.",
  );

const named = COMMANDS[process.argv[2] ?? ""];
for (const load of named === undefined ? Object.values(COMMANDS) : [named]) {
  program.addCommand(await load());
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
  // What the system refuses (a file) says itself what is wrong.
  const system = "syscall" in error;
  const text = ours ? `${error.name}: ${error.message}` : system ? error.message : error.stack;
  process.stderr.write(`holderbook: ${text ?? error.message}\n`);
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
