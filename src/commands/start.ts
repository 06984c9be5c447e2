import { Command } from "commander";
import { isAllDemo } from "../service/demo.ts";
import { makeDemoLink } from "../service/kept-keys.ts";
import { announceLedger, findLedger } from "../service/ledger-source.ts";
import { keepProcessNotes } from "../service/process-notes.ts";
import { keepServing } from "../service/serving-process/keep.ts";
import { openStorage, watchPools } from "../service/storage.ts";
import type { Config } from "../settings/config.ts";
import { watchProcess } from "../telemetry/process-figures.ts";
import { aborted } from "../waiting/aborted.ts";
import { progressLine, progressTerminal } from "./progress-line.ts";
import { reloadOnHangUp } from "./reload-on-hang-up.ts";
import { openRuntime } from "./runtime.ts";
import { localUrl, welcome } from "./welcome.ts";

/** `holderbook start`: indexes, and serves in a second process; by default the demo ledger. */
export const startCommand = () =>
  new Command("start").action(async () => {
    const runtime = await openRuntime("indexing");
    const { config, logger, telemetry, giveUp } = runtime;
    await using _tracing = telemetry.tracing;
    await announceLedger(config, logger);
    await (await import("../service/settings-checks.ts")).checkSettings(config, "start");
    // First of all, so that a taken port ends this with nothing begun.
    await using serving = await keepServing({ logger, bodyBytes: config.ta.bodyBytes });
    const found = await findLedger(config, logger, telemetry.figures);
    // Indexing also ends when serving cannot start.
    const ending = new AbortController();
    const signal = AbortSignal.any([runtime.signal, ending.signal]);
    await using storage = await openStorage(config, logger, { onLost: giveUp });
    // Loaded late: the first connection to the database must not wait for this code.
    const ledger = await found.open();
    const { startBackgroundWork } = await import("../service/background-work.ts");
    const { evmReading } = await import("../service/evm.ts");
    const { startIndexing } = await import("../service/indexing.ts");
    const { demoOperatorKey, demoTaKey, startKey } = await import("./start-key.ts");
    await ledger.recordDecimals(storage);
    await using notes = keepProcessNotes(storage.write, telemetry.figures);
    const indexed = { ...runtime, storage, ledger, signal };
    await using work = await startBackgroundWork({ ...indexed, notes });
    const { receiver } = work;
    reloadOnHangUp(runtime, storage);
    const line = progressLine(logger, progressTerminal(config));
    watchPools(telemetry.figures, "indexing", storage);
    using _watched = watchProcess(telemetry.figures, {
      process: "indexing",
      dataDir: storage.kind === "embedded" ? config.dataDir : undefined,
    });
    const { firstCheckpoint } = ledger;
    const indexing = startIndexing({ ...indexed, firstCheckpoint, onProgress: line.report });
    notes.watchBulk(indexing.bulk);
    try {
      // Another chain's log must not be served as this one's.
      await indexing.opened;
      await using _agent = await work.startAgent({ opensData: true });
      const packages = [...ledger.packages];
      const opening = () => ({ databaseUrl: storage.url, packages, assets: work.assets() });
      const open = serving.open(opening, () => ({
        progress: indexing.local(),
        evm: evmReading(work.evm(), Date.now()),
        unwritable: notes.unwritable(),
        ...ownFigures(),
        figures: telemetry.figures.look(),
      }));
      // May take as long as the serving process lacks memory; a signal to end does not wait.
      await Promise.race([open, aborted(signal)]);
      if (signal.aborted) {
        open.catch(() => undefined);
        return;
      }
      const isDemo = isAllDemo(config);
      const key = await startKey(config, storage, { seesLabels: isDemo });
      if (isDemo) await demoOperatorKey(config, storage, ledger.demo?.labels);
      const link = key === undefined ? undefined : await demoLink(config, serving.url);
      const demo = receiver && { ...receiver, taKeyFile: await demoTaKey(config, storage) };
      line.clear();
      process.stdout.write(welcome({ config, ledger, storage, url: serving.url, key, link, demo }));
      await aborted(signal);
    } finally {
      ending.abort();
      // Before the storage that it reads is closed.
      await serving.stop();
      await indexing.ended;
      line.clear();
      await ledger.source.close();
    }
  });

/** A link that signs in, where no data is real. */
const demoLink = (config: Config, url: string): Promise<string> | undefined =>
  isAllDemo(config) ? makeDemoLink(config, localUrl(url)) : undefined;

const ownFigures = () => {
  const { user, system } = process.cpuUsage();
  return { residentBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6 };
};
