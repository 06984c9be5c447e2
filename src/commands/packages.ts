import { Command, InvalidArgumentError } from "commander";
import { acting } from "../audit/sequence/acts.ts";
import { provePossession } from "../audit/sequence/deployment-key.ts";
import { correctLog, hasSequence } from "../audit/sequence/sequence.ts";
import { connect } from "../database/connect.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import { readerAt } from "../ledger/reading/read.ts";
import { runReader } from "../ledger/reading/reader.ts";
import { factSource } from "../log/log.ts";
import { packagesInLog } from "../log/packages.ts";
import { exchangeLogs, prepareSecondLog, secondLogSettings } from "../log/second-log.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { resetPipelineIn, vacuumPipeline } from "../pipelines/register.ts";
import { configuredKey } from "../service/deployment-key.ts";
import { announceLedger, openLedgerSource } from "../service/ledger-source.ts";
import { openStorage, type Storage } from "../service/storage.ts";
import { verificationOf } from "../service/verification.ts";
import { canonicalAddress } from "../values/move-type.ts";
import { checkpointArgument } from "./arguments.ts";
import { jsonOption, printLines, printList, tellLines } from "./output.ts";
import { PipelineBusyError } from "./pipeline-busy-error.ts";
import { progressLine } from "./progress-line.ts";
import { openReading } from "./reading.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** `holderbook packages`: addresses of the contract whose facts are logged. */
export const packagesCommand = () =>
  new Command("packages")
    .addOption(jsonOption())
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      await using storage = await openReading();
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
      "keep facts of a package whose publication the log has passed: reads the checkpoints since then again; the next start or index refills the projections",
    )
    .argument("<address>", "of the package", addressArgument)
    .option(
      "--from <checkpoint>",
      "where to begin; by default where it was published, if the source knows",
      checkpointArgument,
    )
    .action(async (address: string, { from }: { readonly from?: bigint }) => {
      const { config, logger, signal } = await openRuntime();
      await announceLedger(config, logger);
      await using storage = await openStorage(config, logger, {
        tables: "current",
        by: "owner",
      });
      const { source, demo } = await openLedgerSource(config, logger);
      await using _closing = { [Symbol.asyncDispose]: () => source.close() };
      await using locks = await lockEverything(storage, signal);
      const log = await factSource(storage.write).highWater();
      if (log.packages.includes(address)) throw new UsageError(`${address} is in the log already`);
      const start = from ?? (await source.publishedAt?.(address, signal)) ?? log.firstCheckpoint;
      if (start > log.nextCheckpoint) {
        throw new UsageError(
          `the log has not come to checkpoint ${start}: an upgrade published there joins by itself`,
        );
      }
      // Before hours of reading: the sequence must record that its signed heads are of the replaced
      // log.
      const keeping = configuredKey(config, { existing: true });
      const key = (await hasSequence(storage.write.sql)) ? await keeping.open(storage) : undefined;
      if (key !== undefined && keeping.signer !== undefined) await provePossession(keeping.signer);
      const isBeforeLog = start < log.firstCheckpoint;
      const begin = isBeforeLog ? log.firstCheckpoint : start;
      await storage.write.transaction((tx) => prepareSecondLog(tx, { address, from: begin }));
      await using second = connect({
        url: storage.url,
        max: config.databasePool,
        applicationName: "holderbook",
        runtime: await secondLogSettings(storage.write.sql),
      });
      const line = progressLine(logger, process.stderr.isTTY ? process.stderr : undefined);
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
        tellLines("not done: the same command goes on from here");
        process.exitCode = 1;
        return;
      }
      await acting(locks.session, async (tx) => {
        await exchangeLogs(tx);
        if (key !== undefined) {
          const why = `read anew from checkpoint ${begin} with the package ${address}`;
          await correctLog(tx.sql, key, { why, through: last });
        }
        for (const pipeline of ledgerPipelines) await resetPipelineIn(tx, pipeline);
        const details = { address, from: `${begin}`, through: `${last}` };
        return [undefined, { command: "packages add", details, on: "deployment" }];
      });
      for (const pipeline of ledgerPipelines) await vacuumPipeline(locks.session, pipeline);
      tellLines(
        `${address} is in the log, read from checkpoint ${begin} to ${last}; start or index fills the projections from it, and until then answers that need them are refused (REBUILDING)`,
      );
    });

/** Locks the log and all pipelines: nothing may read or project while logs are exchanged. */
const lockEverything = async ({ write }: Storage, signal: AbortSignal) => {
  await using held = new AsyncDisposableStack();
  const busy = new AbortController();
  const acquire = async (lock: string, name: string) =>
    held.use(
      // Never waits: that could exchange the logs hours later, unexpectedly.
      await acquireWriterLock(write, lock, {
        signal: AbortSignal.any([signal, busy.signal]),
        onStandby: () => busy.abort(new PipelineBusyError(name)),
      }),
    );
  const { session } = await acquire("log", "the log");
  for (const { name } of ledgerPipelines) await acquire(`pipeline ${name}`, name);
  const all = held.move();
  return { session, [Symbol.asyncDispose]: () => all.disposeAsync() };
};

const addressArgument = (text: string): string => {
  if (!/^0x[0-9a-f]{1,64}$/i.test(text)) {
    throw new InvalidArgumentError("It must be 0x and up to 64 hex digits.");
  }
  return canonicalAddress(text);
};
