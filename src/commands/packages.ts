import { Command } from "commander";
import { acting } from "../audit/sequence/acts.ts";
import { provePossession } from "../audit/sequence/deployment-key.ts";
import { correctLog, hasSequence } from "../audit/sequence/sequence.ts";
import { connect } from "../database/connect.ts";
import { readerAt } from "../ledger/reading/read.ts";
import { runReader } from "../ledger/reading/reader.ts";
import { guidedRanges } from "../log/guided.ts";
import { factSource } from "../log/log.ts";
import { packagesInLog } from "../log/packages.ts";
import { exchangeLogs, prepareSecondLog, secondLogSettings } from "../log/second-log.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { resetPipelineIn, vacuumPipeline } from "../pipelines/register.ts";
import { configuredKey } from "../service/configured-keys.ts";
import { announceLedger, openLedgerSource, verificationOf } from "../service/ledger-source.ts";
import { addressArgument, checkpointArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { jsonOption, printLines, printList, printMessages } from "./output.ts";
import { progressLine, progressTerminal } from "./progress-line.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";
import { lockWriters } from "./writer-locks.ts";

/** `holderbook packages`: addresses of the contract whose facts are logged. */
export const packagesCommand = () =>
  new Command("packages")
    .addOption(jsonOption())
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      await using storage = await openDatabase({ readOnly: true });
      const packages = await packagesInLog(storage.read.sql);
      if (json) return printList(packages, json);
      const lines = packages.map(({ address, checkpoint }) =>
        checkpoint === null
          ? `${address}  from the log's beginning`
          : `${address}  joined at checkpoint ${checkpoint}`,
      );
      printLines(lines);
    })
    .addCommand(addCommand());

const addCommand = () =>
  new Command("add")
    .description(
      "add a package whose publication the log has passed: reads the checkpoints since then again; the next start or index refills the projections",
    )
    .argument("<address>", "address of the package", addressArgument)
    .option(
      "--from <checkpoint>",
      "first checkpoint to read; default: its publication, if the source knows it",
      checkpointArgument,
    )
    .action(async (address: string, { from }: { readonly from?: bigint }) => {
      const runtime = await openRuntime();
      const { config, logger, signal } = runtime;
      await announceLedger(config, logger);
      await using storage = await openDatabase({ by: "owner" }, runtime);
      const { source, demo } = await openLedgerSource(config, logger);
      await using _closing = { [Symbol.asyncDispose]: () => source.close() };
      // Nothing may read or project while logs are exchanged.
      const pipelines = ledgerPipelines.map(({ name }) => `pipeline ${name}`);
      await using locks = await lockWriters(storage, "log", ...pipelines);
      const log = await factSource(storage.write).highWater();
      if (log.packages.includes(address)) throw new UsageError(`${address} is in the log already`);
      const start = from ?? (await source.publishedAt?.(address, signal)) ?? log.firstCheckpoint;
      if (start > log.nextCheckpoint) {
        throw new UsageError(
          `the log has not reached checkpoint ${start}: an upgrade published there will join automatically`,
        );
      }
      const isBeforeLog = start < log.firstCheckpoint;
      const begin = isBeforeLog ? log.firstCheckpoint : start;
      const guided = (await guidedRanges(storage.write)).at(-1);
      if (guided !== undefined && begin <= guided.last) {
        throw new UsageError(
          `the log was read guided up to checkpoint ${guided.last}, and lacks checkpoints that concern ${address} alone: read the ledger into an empty database with SECURITY_TOKEN_PACKAGES=${[...log.packages.slice(0, 1), address].join(",")}`,
        );
      }
      // Before hours of reading: its key must record that the signed heads are of the replaced log.
      const keeping = configuredKey(config, { existing: true });
      const key = (await hasSequence(storage.write.sql)) ? await keeping.open(storage) : undefined;
      if (key !== undefined && keeping.signer !== undefined) await provePossession(keeping.signer);
      await storage.write.transaction((tx) => prepareSecondLog(tx, { address, from: begin }));
      await using second = connect({
        url: storage.url,
        max: config.databasePool,
        applicationName: "holderbook",
        runtime: await secondLogSettings(storage.write.sql),
      });
      const line = progressLine(logger, progressTerminal(config));
      const last = log.nextCheckpoint - 1n;
      if (log.last !== null) {
        await runReader(
          {
            database: second,
            lock: "second log",
            source,
            read: readerAt(config.verify.level),
            verification: verificationOf(config, demo?.source.committee),
            packages: [...log.packages.slice(0, 1), address],
            firstCheckpoint: log.firstCheckpoint,
            last,
            bounds: { facts: config.batchFacts, bytes: config.batchBytes },
            onProgress: line.report,
            onNotice: (message, err) => logger.warn({ ...(err !== undefined && { err }) }, message),
          },
          signal,
        );
      }
      line.clear();
      if (signal.aborted) {
        printMessages("interrupted: run the same command again to continue");
        process.exitCode = 1;
        return;
      }
      await acting(locks.session, async (tx) => {
        await exchangeLogs(tx);
        if (key !== undefined) {
          const why = `read again from checkpoint ${begin} with the package ${address}`;
          await correctLog(tx.sql, key, { why, through: last });
        }
        for (const pipeline of ledgerPipelines) await resetPipelineIn(tx, pipeline);
        const details = { address, from: `${begin}`, through: `${last}` };
        return [undefined, { command: "packages add", details, on: "deployment" }];
      });
      for (const pipeline of ledgerPipelines) await vacuumPipeline(locks.session, pipeline);
      printMessages(
        `${address} is in the log, read from checkpoint ${begin} to ${last}; the next start or index refills the projections from it. Until then queries that need them are refused (REBUILDING)`,
      );
    });
