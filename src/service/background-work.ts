/** Background work of an indexing process: callbacks, EVM chains, TA requests, integrity checks. */
import { canonicalJson } from "../../client/canonical-json.ts";
import { recordDecimals } from "../log/coins.ts";
import { assetEntries, assetsDigest } from "../settings/asset-changes.ts";
import type { Assets } from "../settings/assets.ts";
import { taAssets } from "../ta/requests/asset.ts";
import { projectsOf } from "../transfers/projects.ts";
import { configuredAssets } from "./assets.ts";
import { openCallbackService } from "./callbacks.ts";
import { configuredVault } from "./configured-keys.ts";
import { type DemoCallbacks, startDemoCallbacks, withDemoCallbacks } from "./demo-callbacks.ts";
import { type EvmService, startEvm } from "./evm.ts";
import { followAssets } from "./followed-assets.ts";
import { knownDecimals, type Ledger } from "./ledger-source.ts";
import type { Process } from "./process.ts";
import type { ProcessNotes } from "./process-notes.ts";
import type { Storage } from "./storage.ts";
import { startTransferAgent } from "./ta.ts";
import { startWatch } from "./watch.ts";

/** Disposal stops the work and waits for what is under way. */
type BackgroundWork = AsyncDisposable & {
  /** As an operator last had them reloaded. */
  assets(): Assets;
  /** Receiver of the demo's callbacks; undefined outside the demo. */
  readonly receiver: DemoCallbacks | undefined;
  evm(): EvmService;
  /**
   * Processes requests until disposed. Call it once, and dispose of it first. From then on
   * reloaded assets are followed.
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
  const evmOf = (of: Assets) =>
    startEvm({ ...settings, figures, database: storage.write, assets: of });
  let evm = await evmOf(assets);
  opened.defer(() => evm[Symbol.asyncDispose]());
  opened.use(await startWatch(settings));
  const agentOf = (of: Assets) => startTransferAgent({ ...settings, assets: of, callbacks });
  let agent: AsyncDisposable | undefined;
  const note = (of: Assets) => {
    if (config.assetsFile === undefined) return;
    notes.noteAssets({ digest: assetsDigest(of), entries: [...assetEntries(of)] });
  };
  let current = assets;
  const apply = async (next: Assets) => {
    await recordDecimals(storage.write, "assets_file", knownDecimals(next));
    await using made = new AsyncDisposableStack();
    // Before addresses change: if it cannot begin, the former one goes on, with its addresses.
    const isOther = differ(current, next, (of) => [...taAssets(of).values()]);
    const nextAgent = isOther ? made.use(await agentOf(next)) : undefined;
    await callbacks.redirect(next);
    made.move();
    if (nextAgent !== undefined) {
      const former = agent;
      agent = nextAgent;
      await former?.[Symbol.asyncDispose]();
    }
    if (differ(current, next, evmProjects)) {
      // The former one first: its readers hold the locks of their chains.
      await evm[Symbol.asyncDispose]();
      evm = await evmOf(next);
    }
    current = next;
    note(next);
  };
  const all = opened.move();
  return {
    assets: () => current,
    receiver,
    evm: () => evm,
    startAgent: async ({ opensData }) => {
      // Before any request is processed: with wrong keys, lost data would be reported as stored.
      if (opensData || config.ta.piiKeys !== undefined) {
        await (await configuredVault(config, storage)).checkKeys();
      }
      await using began = new AsyncDisposableStack();
      agent = await agentOf(assets);
      began.defer(async () => agent?.[Symbol.asyncDispose]());
      note(assets);
      began.use(followAssets({ ...settings, sql: storage.write.sql, assets, apply }));
      return began.move();
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

const evmProjects = (assets: Assets) =>
  projectsOf(assets).filter(({ tokens }) => tokens.length > 0);

const differ = (a: Assets, b: Assets, part: (of: Assets) => unknown): boolean =>
  canonicalJson(JSON.parse(JSON.stringify(part(a)))) !==
  canonicalJson(JSON.parse(JSON.stringify(part(b))));
