import { Command } from "commander";
import { exportLog } from "../archive/export-log.ts";
import { importLog } from "../archive/import-log.ts";
import { nextOf } from "../archive/manifest.ts";
import {
  type ArchiveTrust,
  type VerifiedArchive,
  verifyArchive,
} from "../archive/verify-archive.ts";
import { checkpointArgument, keyArgument, textArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { onFaith, printLines } from "./output.ts";
import { progressTerminal, redrawnLine } from "./progress-line.ts";
import { progressOf } from "./replay-group.ts";
import { openRuntime, type Runtime } from "./runtime.ts";
import { askedOf } from "./verify-log.ts";
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
      const { onProgress, line } = progress(opened, "exporting");
      const options = { folder: dir, from, to, signal, onProgress };
      const { root, first, last, files, facts } = await exportLog(write, options);
      line.clear();
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
      printLines(inWords(folder, await verified(await openRuntime(), folder, trust)));
    });

const verified = async (runtime: Runtime, folder: string, trust: ArchiveTrust) => {
  const { onProgress, line } = progress(runtime, "checking");
  const { trusted: committee } = await askedOf(runtime);
  const given = { ...trust, committee };
  const found = await verifyArchive(folder, given, runtime.signal, onProgress);
  line.clear();
  return found;
};

const importCommand = () =>
  trusting(new Command("import"))
    .description("verify an archive and make a log of it in an empty database")
    .action(async (folder: string, trust: ArchiveTrust) => {
      const runtime = await openRuntime();
      const { signal } = runtime;
      // Completely before the first append: a log cannot be undone.
      const archive = await verified(runtime, folder, trust);
      await using opened = await openDatabase({ tables: "current or new" }, runtime);
      await using lock = await lockWriters(opened, "log");
      const { write } = opened;
      const { manifest } = archive;
      const { session } = lock;
      const { onProgress, line } = progress(runtime, "importing");
      const options = { folder, manifest, session, signal, onProgress };
      const { facts, files } = await importLog(write, options);
      line.clear();
      printLines([
        ...inWords(folder, archive),
        `${facts} facts in ${files} files were imported; verify --log checks the log that they made`,
      ]);
    });

const LOG_EVERY_MS = 10_000;

/** Progress on a terminal, else in the log. */
const progress = ({ config, logger }: Runtime, doing: string) => {
  const terminal = progressTerminal(config);
  const line = redrawnLine(terminal);
  const shown = progressOf(line.draw, doing);
  let loggedMs = performance.now();
  const onProgress = (next: bigint, of: bigint) => {
    shown({ pipeline: "the log", next, of });
    if (terminal !== undefined || performance.now() - loggedMs < LOG_EVERY_MS) return;
    loggedMs = performance.now();
    logger.info({ next: `${next}`, of: `${of}` }, `${doing} the log`);
  };
  return { onProgress, line };
};

const inWords = (
  folder: string,
  { manifest, root, facts, signatures, faith }: VerifiedArchive,
): readonly string[] => [
  `${folder}: whole, checkpoints ${manifest.first} to ${nextOf(manifest) - 1n}, ${facts} facts`,
  `root ${root}; ${signatures} signatures of the validators verified`,
  ...faith.map(onFaith),
];
