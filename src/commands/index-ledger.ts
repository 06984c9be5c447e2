import { Command } from "commander";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { announceLedger, findLedger } from "../service/ledger-source.ts";
import { openStorage } from "../service/storage.ts";
import { checkpointArgument, namesArgument } from "./arguments.ts";
import { progressLine } from "./progress-line.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type IndexOptions = {
  readonly pipelines?: readonly string[];
  readonly first?: bigint;
  readonly last?: bigint;
};

const NAMES = ledgerPipelines.map(({ name }) => name);

/** `holderbook index`: read and project, serve nothing. */
export const indexCommand = () =>
  new Command("index")
    .option(
      "--pipelines <names>",
      `only these, separated by commas: ${NAMES.join(", ")}`,
      namesArgument(NAMES),
    )
    .option(
      "--first <checkpoint>",
      "where an empty log begins (FIRST_CHECKPOINT)",
      checkpointArgument,
    )
    .option("--last <checkpoint>", "end once every pipeline has committed it", checkpointArgument)
    .action(async ({ pipelines, first, last }: IndexOptions) => {
      const { config, logger, giveUp, signal } = await openRuntime();
      await announceLedger(config, logger);
      const found = await findLedger(config, logger);
      const firstCheckpoint = first ?? found.firstCheckpoint;
      if (last !== undefined && firstCheckpoint !== undefined && last < firstCheckpoint) {
        throw new UsageError(`--last ${last} lies before the first checkpoint, ${firstCheckpoint}`);
      }
      await using storage = await openStorage(config, logger, { onLost: giveUp });
      // The first connection to the database does not wait for the code that needs it.
      const ledger = await found.open();
      const { configuredAssets } = await import("../service/assets.ts");
      const { startIndexing } = await import("../service/indexing.ts");
      await ledger.recordDecimals(storage);
      // A run up to a checkpoint is about the Sui ledger alone.
      const live = last === undefined && pipelines === undefined;
      const { startBackgroundWork } = await import("../service/background-work.ts");
      await using work = live
        ? await startBackgroundWork({ config, logger, storage, ledger, signal })
        : undefined;
      // A fault in the assets file ends every run.
      if (work === undefined) await configuredAssets(config);
      await using _agent = await work?.startAgent({ opensData: false });
      const line = progressLine(logger, process.stderr.isTTY ? process.stderr : undefined);
      const { ended } = startIndexing({
        config,
        logger,
        storage,
        ledger,
        firstCheckpoint,
        last,
        pipelines,
        signal,
        onProgress: line.report,
      });
      try {
        const { failures } = await ended;
        line.clear();
        const [failure] = failures;
        if (failure !== undefined) throw failure;
        if (last !== undefined && !signal.aborted) logger.info(`committed checkpoint ${last}`);
      } finally {
        await ledger.source.close();
      }
    });
