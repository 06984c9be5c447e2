import { Command, Option } from "commander";
import { lockExports } from "../archive/export-lock.ts";
import { exportLog } from "../archive/export-log.ts";
import { exportRaw } from "../archive/export-raw.ts";
import { importLog } from "../archive/import-log.ts";
import { type ArchiveSize, nextOf, type RawSize } from "../archive/manifest.ts";
import {
  type ArchiveTrust,
  type VerifiedArchive,
  verifyArchive,
} from "../archive/verify-archive.ts";
import { isGone } from "../audit/verify/source-check.ts";
import { attachCommand, detachCommand } from "./archive-facts.ts";
import { jsonOption, megabytes, progress } from "./archive-output.ts";
import { checkpointArgument, keyArgument, retryForOption, textArgument } from "./arguments.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { onFaith, printJson, printLines } from "./output.ts";
import { openRuntime, type Runtime } from "./runtime.ts";
import { askedOf, openNamedSource, retried } from "./sources.ts";
import { UsageError } from "./usage.ts";
import { lockWriters } from "./writer-locks.ts";

/** `holderbook archive`: the log as files that outlive the network. */
export const archiveCommand = () =>
  new Command("archive")
    .addCommand(exportCommand())
    .addCommand(verifyCommand())
    .addCommand(importCommand())
    .addCommand(detachCommand())
    .addCommand(attachCommand());

type ExportOptions = Json & {
  readonly dir: string;
  readonly format: "log" | "parquet";
  readonly from?: bigint;
  readonly to?: bigint;
  readonly at?: bigint;
  readonly raw?: "facts" | "all";
  readonly retryFor: number;
};

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
    .addOption(
      new Option(
        "--format <format>",
        "log is an archive, from which a log can be made again; parquet has facts, movements and the register, for DuckDB and the like",
      )
        .choices(["log", "parquet"])
        .default("log"),
    )
    .option(
      "--at <checkpoint>",
      "for parquet: checkpoint of the register; default: the last one exported",
      checkpointArgument,
    )
    .addOption(
      new Option(
        "--raw [which]",
        "also keep raw checkpoints of LEDGER_SOURCE, which LEDGER_SOURCE=archive:FOLDER reads: those with facts, or all",
      )
        .choices(["facts", "all"])
        .preset("facts"),
    )
    .addOption(retryForOption())
    .addOption(jsonOption())
    .action(async (asked: ExportOptions) => {
      const { dir, from, to, at, format, raw, retryFor, json = false } = asked;
      if (format === "parquet") {
        if (raw !== undefined) throw new UsageError("--raw: only --format log has it");
        const { exportAsParquet } = await import("./archive-parquet.ts");
        return exportAsParquet({ folder: dir, from, to, at, json });
      }
      if (at !== undefined) throw new UsageError("--at: only --format parquet has it");
      await using opened = await openDatabase({ readOnly: true });
      const { write, signal } = opened;
      await using _lock = await lockExports(write, signal);
      const { onProgress, line } = progress(opened, "exporting");
      const options = { folder: dir, from, to, signal, onProgress };
      const exported = await exportLog(write, options);
      line.clear();
      const kept = raw === undefined ? undefined : await withRaw(opened, dir, raw, retryFor);
      const root = kept?.root ?? exported.root;
      if (json) return printJson({ folder: dir, ...exported, root, raw: kept?.added });
      const { first, last, added, whole } = exported;
      printLines([
        `${dir}: checkpoints ${first} to ${last}; added ${sizeInWords(added)}; whole ${sizeInWords(whole)}`,
        ...(kept === undefined ? [] : [`added ${rawInWords(kept.added)}`]),
        `root ${root}`,
      ]);
    });

const withRaw = async (
  opened: OpenDatabase,
  folder: string,
  keeps: "facts" | "all",
  forMs: number,
) => {
  const { write, config, logger, signal } = opened;
  const { source: named } = await openNamedSource(config, undefined, logger);
  const source = retried(named, logger, { forMs, isFinal: isGone });
  const { onProgress, line } = progress(opened, "keeping raw checkpoints of");
  try {
    return await exportRaw({ database: write, folder, source, keeps, signal, onProgress });
  } finally {
    line.clear();
    await source.close();
  }
};

type Json = { readonly json?: boolean };

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
    )
    .addOption(jsonOption());

const verifyCommand = () =>
  trusting(new Command("verify"))
    .description("check an archive by itself, without a database")
    .action(async (folder: string, { json = false, ...trust }: ArchiveTrust & Json) => {
      const archive = await verified(await openRuntime(), folder, trust);
      if (json) printJson(inJson(folder, archive));
      else printLines(inWords(folder, archive));
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
    .action(async (folder: string, { json = false, ...trust }: ArchiveTrust & Json) => {
      const runtime = await openRuntime();
      const { signal } = runtime;
      // Completely before the first append: a log cannot be undone.
      const archive = await verified(runtime, folder, trust);
      await using opened = await openDatabase({ tables: "current or new" }, runtime);
      await using lock = await lockWriters(opened, "log");
      const { write } = opened;
      const { session } = lock;
      const { onProgress, line } = progress(runtime, "importing");
      const shownBy = trust.root !== undefined ? "root" : trust.key !== undefined ? "key" : null;
      const options = { folder, archive, shownBy, session, signal, onProgress } as const;
      const imported = await importLog(write, options);
      line.clear();
      if (json) return printJson({ ...inJson(folder, archive), imported });
      const { facts, files } = imported;
      printLines([
        ...inWords(folder, archive),
        `imported ${facts} facts of ${files} files; verify --log checks the log that they made`,
      ]);
    });

const sizeInWords = ({ facts, files, bytes }: ArchiveSize): string =>
  `${facts} facts in ${files} files, ${megabytes(bytes)}`;

const rawInWords = ({ checkpoints, files, bytes }: RawSize): string =>
  `${checkpoints} raw checkpoints in ${files} files, ${megabytes(bytes)}`;

const inWords = (
  folder: string,
  { manifest, root, size, rawCheckpoints, signatures, faith }: VerifiedArchive,
): readonly string[] => [
  `${folder}: whole, checkpoints ${manifest.first} to ${nextOf(manifest) - 1n}; ${sizeInWords(size)}`,
  `root ${root}; ${signatures} signatures of the validators verified`,
  ...(manifest.raw === null
    ? []
    : [`${rawCheckpoints} raw checkpoints have the digests and facts of the log`]),
  ...faith.map(onFaith),
];

const inJson = (folder: string, archive: VerifiedArchive) => {
  const { manifest, root, size, rawCheckpoints, signatures, faith } = archive;
  const { chainId, first, head } = manifest;
  const signedBy = head && { checkpoint: head.checkpoint, keyId: head.keyId };
  const last = nextOf(manifest) - 1n;
  return {
    folder,
    root,
    chainId,
    first,
    last,
    ...size,
    rawCheckpoints,
    signatures,
    head: signedBy,
    faith,
  };
};
