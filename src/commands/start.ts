import { Command } from "commander";
import { configuredAssets } from "../service/assets.ts";
import { openCallbackService } from "../service/callbacks.ts";
import { startDemoCallbacks, withDemoCallbacks } from "../service/demo-callbacks.ts";
import { startEvm } from "../service/evm.ts";
import { startIndexing } from "../service/indexing.ts";
import { openLedger } from "../service/ledger-source.ts";
import { configuredVault } from "../service/pii.ts";
import { startServing } from "../service/serving.ts";
import { demoTaKey, startKey } from "../service/start-key.ts";
import { openStorage } from "../service/storage.ts";
import { startTransferAgent } from "../service/ta.ts";
import { failUndelivered } from "../ta/processing/record.ts";
import { progressLine } from "./progress-line.ts";
import { openRuntime } from "./runtime.ts";
import { ended } from "./serve.ts";
import { welcome } from "./welcome.ts";

/** `holderbook start`: index and serve in one process; without settings, the demo ledger. */
export const startCommand = () =>
  new Command("start").description("index the ledger and serve it").action(async () => {
    const { config, logger, giveUp, signal: asked } = openRuntime();
    // Indexing ends too when serving cannot begin, such as on a port that is taken.
    const ending = new AbortController();
    const signal = AbortSignal.any([asked, ending.signal]);
    const ledger = await openLedger(config, logger);
    await using storage = await openStorage(config, logger, { onLost: giveUp });
    await ledger.recordDecimals(storage);
    await using callbacks = await openCallbackService({
      config: withDemoCallbacks(config),
      logger,
      storage,
      onGivenUp: failUndelivered,
    });
    await using receiver = await startDemoCallbacks({ config, logger, callbacks });
    const assets = await configuredAssets(
      config,
      receiver && { coinTypes: ledger.coinTypes, callbackUrl: receiver.url },
    );
    await callbacks.deliver(assets);
    await using evm = await startEvm({
      config,
      logger,
      database: storage.write,
      assets,
      signal,
    });
    const line = progressLine(logger, process.stderr.isTTY ? process.stderr : undefined);
    const indexing = startIndexing({
      config,
      logger,
      storage,
      ledger,
      firstCheckpoint: ledger.firstCheckpoint,
      signal,
      onProgress: line.report,
    });
    try {
      // Another chain's log must not be served as this one's.
      await indexing.opened;
      // Before any request is processed: data that nobody can open would be called stored.
      await (await configuredVault(config, storage)).checkKeys();
      const office = { config, logger, storage, assets, ledger, callbacks };
      await using _agent = await startTransferAgent(office);
      await using serving = await startServing({
        config,
        logger,
        storage,
        packages: ledger.packages,
        assets,
        local: indexing.local,
        evm,
      });
      const key = await startKey(config, storage);
      const demo = receiver && { ...receiver, taKeyFile: await demoTaKey(config, storage) };
      line.clear();
      process.stdout.write(welcome({ config, ledger, storage, url: serving.url, key, demo }));
      await ended(signal);
    } finally {
      ending.abort();
      await indexing.ended;
      line.clear();
      await ledger.source.close();
    }
  });
