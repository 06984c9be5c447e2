/** Background work of an indexing process: callbacks, EVM chains, TA requests, integrity checks. */
import type { Assets } from "../settings/assets.ts";
import { configuredAssets } from "./assets.ts";
import { openCallbackService } from "./callbacks.ts";
import { configuredVault } from "./configured-keys.ts";
import { type DemoCallbacks, startDemoCallbacks, withDemoCallbacks } from "./demo-callbacks.ts";
import { type EvmService, startEvm } from "./evm.ts";
import type { Ledger } from "./ledger-source.ts";
import type { Process } from "./process.ts";
import type { ProcessNotes } from "./process-notes.ts";
import type { Storage } from "./storage.ts";
import { startTransferAgent } from "./ta.ts";
import { startWatch } from "./watch.ts";

/** Disposal stops the work and waits for what is under way. */
type BackgroundWork = AsyncDisposable & {
  readonly assets: Assets;
  /** Receiver of the demo's callbacks; undefined outside the demo. */
  readonly receiver: DemoCallbacks | undefined;
  readonly evm: EvmService;
  /**
   * Processes requests until disposed. Call it once, and dispose of it first.
   * @param opensData whether this process opens investors' data; if not, it needs no keys for it
   * @throws PiiKeysError | MasterKeyError (stop), ConfigError
   */
  startAgent(settings: { readonly opensData: boolean }): Promise<AsyncDisposable>;
};

/**
 * Starts delivering callbacks, reading EVM chains, and checking stored data.
 * @throws AssetsFileError | CallbackAddressError | NetworkSettingsError (stop), ConfigError
 */
export const startBackgroundWork = async (
  settings: Process & {
    readonly storage: Storage;
    readonly notes: ProcessNotes;
    readonly ledger: Ledger;
    readonly signal: AbortSignal;
    /** Ends the process for a permanent fault. */
    readonly giveUp: (error: Error) => void;
  },
): Promise<BackgroundWork> => {
  const { config, telemetry, storage, notes, ledger } = settings;
  await using opened = new AsyncDisposableStack();
  const callbacks = opened.use(
    await openCallbackService({ ...settings, config: withDemoCallbacks(config) }),
  );
  notes.watchQueues(callbacks.queues);
  const receiver = opened.use(await startDemoCallbacks({ ...settings, callbacks }));
  const known = receiver && { coinTypes: ledger.coinTypes, callbackUrl: receiver.url };
  const assets = await configuredAssets(config, known);
  await callbacks.deliver(assets);
  const { figures } = telemetry;
  const evm = opened.use(await startEvm({ ...settings, figures, database: storage.write, assets }));
  opened.use(await startWatch(settings));
  const all = opened.move();
  return {
    assets,
    receiver,
    evm,
    startAgent: async ({ opensData }) => {
      // Before any request is processed: with wrong keys, lost data would be reported as stored.
      if (opensData || config.ta.piiKeys !== undefined) {
        await (await configuredVault(config, storage)).checkKeys();
      }
      return startTransferAgent({ ...settings, assets, callbacks });
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};
