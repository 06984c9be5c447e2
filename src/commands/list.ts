/** The list of commands for `--help`. A command's code is loaded only when it is named. */
import type { Command } from "commander";

export type Listed = {
  /** What it does, also shown in its own help. */
  readonly about: string;
  /** Arguments shown after its name. */
  readonly usage?: string;
  readonly load: () => Promise<Command>;
};

export const COMMANDS: Readonly<Record<string, Listed>> = {
  start: {
    about: "index the ledger and serve it",
    load: async () => (await import("./start.ts")).startCommand(),
  },
  index: {
    about: "read the ledger into the log and the projections",
    usage: "[options]",
    load: async () => (await import("./index-ledger.ts")).indexCommand(),
  },
  serve: {
    about: "serve what another process indexes",
    usage: "[interface]",
    load: async () => (await import("./serve.ts")).serveCommand(),
  },
  inspect: {
    about: "print a checkpoint as canonical JSON, from a file or by number from LEDGER_SOURCE",
    usage: "[options] <file-or-sequence>",
    load: async () => (await import("./inspect.ts")).inspectCommand(),
  },
  verify: {
    about:
      "check that checkpoints are what the validators signed; with --log, that the log is unchanged",
    usage: "[options] [files...]",
    load: async () => (await import("./verify.ts")).verifyCommand(),
  },
  status: {
    about: "how far the log and each pipeline are",
    usage: "[options]",
    load: async () => (await import("./status.ts")).statusCommand(),
  },
  doctor: {
    about: "whether this deployment has what it needs, and what to do where not; changes nothing",
    usage: "[options]",
    load: async () => (await import("./doctor.ts")).doctorCommand(),
  },
  "cap-table": {
    about: "who held a token at a checkpoint or moment, as CSV, JSON or Open Cap Format",
    usage: "[options]",
    load: async () => (await import("./cap-table.ts")).capTableCommand(),
  },
  reconcile: {
    about: "whether supply, movements, balances, memberships and digests of the register agree",
    usage: "[options]",
    load: async () => (await import("./reconcile.ts")).reconcileCommand(),
  },
  digest: {
    about: "digests of all rows up to a checkpoint, to compare with another deployment",
    usage: "[options]",
    load: async () => (await import("./digest.ts")).digestCommand(),
  },
  compare: {
    about: "compare what another deployment serves with this one, row by row",
    usage: "[options] <url>",
    load: async () => (await import("./compare.ts")).compareCommand(),
  },
  statement: {
    about: "what a holder can keep of a cap table and check by itself; verify checks one",
    usage: "[options]",
    load: async () => (await import("./statement.ts")).statementCommand(),
  },
  "audit-pack": {
    about:
      "a register at two dates, what happened between, and its proof; verify checks one, papers makes working papers of it",
    usage: "[options]",
    load: async () => (await import("./audit-pack.ts")).auditPackCommand(),
  },
  acts: {
    about: "who ran which command, and when: rebuild, packages, keys and similar ones",
    usage: "[options]",
    load: async () => (await import("./acts.ts")).actsCommand(),
  },
  migrate: {
    about: "apply missing database migrations and end (start, index and serve do so too)",
    load: async () => (await import("./migrate.ts")).migrateCommand(),
  },
  rebuild: {
    about: "empty a pipeline; the next start or index fills it again from the log",
    usage: "<pipeline>",
    load: async () => (await import("./rebuild.ts")).rebuildCommand(),
  },
  packages: {
    about: "addresses of the contract that the log follows: list them, or add one it has passed",
    usage: "[options]",
    load: async () => (await import("./packages.ts")).packagesCommand(),
  },
  evm: {
    about: "the log of EVM chains: list its tokens, or read it again",
    load: async () => (await import("./evm.ts")).evmCommand(),
  },
  keys: {
    about:
      "keys of the interfaces: create, list, callback-url, revoke; the deployment's own: rotate, revoke-deployment-key",
    load: async () => (await import("./keys.ts")).keysCommand(),
  },
  callbacks: {
    about:
      "callbacks of projects and of the transfer agent's assets: list, redeliver, enable, rotate",
    load: async () => (await import("./callbacks.ts")).callbacksCommand(),
  },
  ta: {
    about: "the transfer agent: sign a request; list requests",
    load: async () => (await import("./ta.ts")).taCommand(),
  },
  pii: {
    about: "investors' data at rest: show or delete an investor, renew the keys",
    load: async () => (await import("./pii.ts")).piiCommand(),
  },
  demo: {
    about: "the demo ledger: a simulated issuer of security tokens",
    load: async () => (await import("./demo.ts")).demoCommand(),
  },
};
