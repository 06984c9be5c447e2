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
      if (last !== undefined && last < firstCheckpoint) {
        throw new UsageError(`--last ${last} lies before the first checkpoint, ${firstCheckpoint}`);
      }
      await using storage = await openStorage(config, logger, { onLost: giveUp });
      // The first connection to the database does not wait for the code that needs it.
      const ledger = await found.open();
      const { configuredAssets } = await import("../service/assets.ts");
      const { openCallbackService } = await import("../service/callbacks.ts");
      const { startDemoCallbacks, withDemoCallbacks } = await import(
        "../service/demo-callbacks.ts"
      );
      const { startEvm } = await import("../service/evm.ts");
      const { startIndexing } = await import("../service/indexing.ts");
      const { configuredVault } = await import("../service/pii.ts");
      const { startTransferAgent } = await import("../service/ta.ts");
      const { failUndelivered } = await import("../ta/processing/record.ts");
      await ledger.recordDecimals(storage);
      // A run up to a checkpoint is about the Sui ledger alone.
      const live = last === undefined && pipelines === undefined;
      await using callbacks = live
        ? await openCallbackService({
            config: withDemoCallbacks(config),
            logger,
            storage,
            onGivenUp: failUndelivered,
          })
        : undefined;
      await using receiver =
        callbacks && (await startDemoCallbacks({ config, logger, storage, callbacks }));
      const assets = await configuredAssets(
        config,
        receiver && { coinTypes: ledger.coinTypes, callbackUrl: receiver.url },
      );
      await callbacks?.deliver(assets);
      await using _evm =
        callbacks === undefined
          ? undefined
          : await startEvm({
              config,
              logger,
              database: storage.write,
              assets,
              signal,
            });
      // It opens no data, and works without their keys; with wrong ones it would call lost data stored.
      if (callbacks !== undefined && config.ta.piiKeys !== undefined) {
        await (await configuredVault(config, storage)).checkKeys();
      }
      await using _agent =
        callbacks &&
        (await startTransferAgent({ config, logger, storage, assets, ledger, callbacks }));
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
