import { Command } from "commander";
import { exportLog } from "../archive/export-log.ts";
import { importLog } from "../archive/import-log.ts";
import { nextOf } from "../archive/manifest.ts";
import {
  type ArchiveTrust,
  type VerifiedArchive,
  verifyArchive,
} from "../archive/verify-archive.ts";
import { runStretches } from "../audit/sequence/stretches.ts";
import { logRange } from "../audit/verify/blocks-and-packages.ts";
import { checkProofs } from "../audit/verify/check-proofs.ts";
import { MOST_FAULTS } from "../audit/verify/verify-log.ts";
import type { LogFault } from "../log/chain.ts";
import { checkpointArgument, keyArgument, textArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { endCheck, onFaith, printLines } from "./output.ts";
import { lockWriters } from "./writer-locks.ts";

/** `holderbook archive`: the log as files that outlive the network. */
export const archiveCommand = () =>
  new Command("archive")
    .addCommand(exportCommand())
    .addCommand(verifyCommand())
    .addCommand(importCommand());

type ExportOptions = { readonly dir: string; readonly from?: bigint; readonly to?: bigint };

const exportCommand = () =>
  new Command("export")
    .description("write the log to a folder, or append what is new to its archive")
    .requiredOption("--dir <folder>", "folder of the archive; is created")
    .option(
      "--from <checkpoint>",
      "first checkpoint of a new archive; default: the log's",
      checkpointArgument,
    )
    .option("--to <checkpoint>", "last checkpoint; default: the log's newest", checkpointArgument)
    .action(async ({ dir, from, to }: ExportOptions) => {
      await using opened = await openDatabase({ readOnly: true });
      const { write, signal } = opened;
      const { root, first, last, files, facts } = await exportLog(write, {
        folder: dir,
        from,
        to,
        signal,
      });
      printLines([
        `${dir}: checkpoints ${first} to ${last}; ${facts} facts in ${files} files were added`,
        `root ${root}`,
      ]);
    });

/** What is known of an archive from elsewhere. */
const trusting = (command: Command): Command =>
  command
    .argument("<folder>", "folder of the archive")
    .option(
      "--root <hash>",
      "root that the export printed, known from elsewhere",
      textArgument(/^[0-9a-f]{64}$/, "64 hexadecimal digits"),
    )
    .option(
      "--key <base64>",
      "public key of the deployment that signed the log's heads",
      keyArgument,
    );

const verifyCommand = () =>
  trusting(new Command("verify"))
    .description("check an archive by itself, without a database")
    .action(async (folder: string, trust: ArchiveTrust) => {
      const { signal } = await (await import("./runtime.ts")).openRuntime();
      printLines(inWords(folder, await verifyArchive(folder, trust, signal)));
    });

const importCommand = () =>
  trusting(new Command("import"))
    .description("verify an archive and make a log of it in an empty database")
    .action(async (folder: string, trust: ArchiveTrust) => {
      const runtime = await (await import("./runtime.ts")).openRuntime();
      const { signal } = runtime;
      // Completely before the first append: a log cannot be undone.
      const verified = await verifyArchive(folder, trust, signal);
      await using opened = await openDatabase({ tables: "current or new" }, runtime);
      await using lock = await lockWriters(opened, "log");
      const { write } = opened;
      const { manifest } = verified;
      const { session } = lock;
      const { facts, files } = await importLog(write, { folder, manifest, session, signal });
      const faults: LogFault[] = [];
      const options = { asked: false, trusted: null, ...(await logRange(write.sql)) };
      const proofs = await runStretches(checkProofs(write, options), faults, signal);
      printLines([
        ...inWords(folder, verified),
        `${facts} facts in ${files} files were imported; ${proofs.signatures} signatures of the validators verified`,
        ...faults
          .slice(0, MOST_FAULTS)
          .map(({ checkpoint, what }) => `checkpoint ${checkpoint}: ${what}`),
        ...[...proofs.faith, ...proofs.beyond].map(onFaith),
      ]);
      endCheck({ isFalse: faults.length > 0, isUnshown: false });
    });

const inWords = (folder: string, { manifest, root, facts, faith }: VerifiedArchive) => [
  `${folder}: whole, checkpoints ${manifest.first} to ${nextOf(manifest) - 1n}, ${facts} facts`,
  `root ${root}`,
  ...faith.map(onFaith),
];
