/** The list of commands for `--help`. A command's code is loaded only when it is named. */
import type { Command } from "commander";

type Listed = {
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
  backfill: {
    about: "read the ledger up to a checkpoint; --guided: only what concerns the contract",
    usage: "[options]",
    load: async () => (await import("./index-ledger.ts")).backfillCommand(),
  },
  work: {
    about: "read ranges of checkpoints for a `backfill --from` elsewhere",
    load: async () => (await import("./work.ts")).workCommand(),
  },
  serve: {
    about: "serve a register that another process indexes",
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
      "check checkpoints against the validators' signatures; with --log, check that the log is unchanged",
    usage: "[options] [files...]",
    load: async () => (await import("./verify.ts")).verifyCommand(),
  },
  status: {
    about: "show the progress of the log and of each pipeline",
    usage: "[options]",
    load: async () => (await import("./status.ts")).statusCommand(),
  },
  doctor: {
    about:
      "check that this deployment has what it needs, with a remedy for each finding; changes nothing",
    usage: "[options]",
    load: async () => (await import("./doctor.ts")).doctorCommand(),
  },
  "cap-table": {
    about: "print a token's cap table at a checkpoint or time, as CSV, JSON or Open Cap Format",
    usage: "[options]",
    load: async () => (await import("./cap-table.ts")).capTableCommand(),
  },
  reconcile: {
    about: "check that supply, movements, balances, memberships and digests of the register agree",
    usage: "[options]",
    load: async () => (await import("./reconcile.ts")).reconcileCommand(),
  },
  prove: {
    about: "show that no transaction of a token is missing from the log, and sign a certificate",
    load: async () => (await import("./prove.ts")).proveCommand(),
  },
  digest: {
    about: "print digests of all rows up to a checkpoint, to compare with another deployment",
    usage: "[options]",
    load: async () => (await import("./digest.ts")).digestCommand(),
  },
  compare: {
    about: "compare the rows that another deployment serves with the rows here",
    usage: "[options] <url>",
    load: async () => (await import("./compare.ts")).compareCommand(),
  },
  statement: {
    about: "write a signed statement of a holder's row in a cap table; verify checks one",
    usage: "[options]",
    load: async () => (await import("./statement.ts")).statementCommand(),
  },
  "audit-pack": {
    about:
      "write a register at two dates, the changes between and their proof; verify checks a pack, papers writes working papers",
    usage: "[options]",
    load: async () => (await import("./audit-pack.ts")).auditPackCommand(),
  },
  archive: {
    about: "write the log to files that outlive the network, check them, or make a log of them",
    load: async () => (await import("./archive.ts")).archiveCommand(),
  },
  acts: {
    about: "list who ran which command that changes something, and when",
    usage: "[options]",
    load: async () => (await import("./acts.ts")).actsCommand(),
  },
  migrate: {
    about: "apply missing database migrations (start, index and serve do so too)",
    load: async () => (await import("./migrate.ts")).migrateCommand(),
  },
  quarantine: {
    about:
      "list tokens with a fact that cannot be applied, apply their facts again, or leave one out for ever",
    load: async () => (await import("./quarantine.ts")).quarantineCommand(),
  },
  replay: {
    about: "build projections beside the served ones, compare both, and change over",
    usage: "[options]",
    load: async () => (await import("./replay.ts")).replayCommand(),
  },
  rebuild: {
    about: "replace a pipeline's rows by those of a replay, or empty it",
    usage: "[options] <pipeline>",
    load: async () => (await import("./rebuild.ts")).rebuildCommand(),
  },
  packages: {
    about:
      "list the contract addresses that the log follows, or add one whose publication it has passed",
    usage: "[options]",
    load: async () => (await import("./packages.ts")).packagesCommand(),
  },
  evm: {
    about: "list the EVM tokens in the log, or read a chain again",
    load: async () => (await import("./evm.ts")).evmCommand(),
  },
  keys: {
    about:
      "manage callers' keys (create, list, callback-url, revoke) and the deployment's (rotate, revoke-deployment-key)",
    load: async () => (await import("./keys.ts")).keysCommand(),
  },
  labels: {
    about: "name holders, wallets, roles and treasuries, for keys made with --labels",
    load: async () => (await import("./labels.ts")).labelsCommand(),
  },
  assets: {
    about: "check the assets file, or have the running processes read it again",
    load: async () => (await import("./assets.ts")).assetsCommand(),
  },
  pause: {
    about: "pause a pipeline, an asset's requests or a receiver, or list what is paused",
    load: async () => (await import("./pause.ts")).pauseCommand(),
  },
  resume: {
    about: "resume what was paused",
    load: async () => (await import("./pause.ts")).resumeCommand(),
  },
  callbacks: {
    about: "list, redeliver and enable callbacks, or renew the key that signs them",
    load: async () => (await import("./callbacks.ts")).callbacksCommand(),
  },
  ta: {
    about: "sign a request to the transfer agent, or list its requests",
    load: async () => (await import("./ta.ts")).taCommand(),
  },
  pii: {
    about: "show or delete an investor's stored data, or renew the keys that seal it",
    load: async () => (await import("./pii.ts")).piiCommand(),
  },
  demo: {
    about: "write the demo ledger to files, or print a link to a running demo",
    load: async () => (await import("./demo.ts")).demoCommand(),
  },
};
