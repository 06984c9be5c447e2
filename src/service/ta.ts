/** Processes the transfer agent's requests, with access to the ledgers. */

import { watchPackages } from "../log/packages.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Assets } from "../settings/assets.ts";
import type { Relay } from "../ta/ledgers/relay.ts";
import { suiKeySigner } from "../ta/ledgers/signer.ts";
import { openSuiNode } from "../ta/ledgers/sui-relay.ts";
import { heldIn } from "../ta/pii/vault.ts";
import {
  type LedgerAccess,
  processedAssets,
  warnOfLeftRequests,
} from "../ta/processing/processed-assets.ts";
import { startProcessing } from "../ta/processing/processing.ts";
import { sandboxEnding } from "../ta/processing/sandbox.ts";
import { type TaAsset, taAssets } from "../ta/requests/asset.ts";
import type { Figures } from "../telemetry/figures.ts";
import { pause } from "../waiting/backoff.ts";
import type { CallbackService } from "./callbacks.ts";
import { LOW_TRANSACTIONS } from "./health/process-health.ts";
import type { Ledger } from "./ledger-source.ts";
import type { Process } from "./process.ts";
import type { ProcessNotes } from "./process-notes.ts";
import type { Storage } from "./storage.ts";
import { evmSignerOf, nodeAddressOf, suiSignerOf } from "./ta-signers.ts";

type TransferAgentSettings = Process & {
  readonly storage: Storage;
  readonly assets: Assets;
  readonly ledger: Ledger;
  readonly callbacks: Pick<CallbackService, "queues">;
  readonly notes: ProcessNotes;
};

/** Processes requests of the configured assets until disposed. */
export const startTransferAgent = async (
  settings: TransferAgentSettings,
): Promise<AsyncDisposable> => {
  const { logger, telemetry, storage, callbacks, notes } = settings;
  const assets = taAssets(settings.assets);
  await using opened = new AsyncDisposableStack();
  const stopped = new AbortController();
  const demo = await demoAccess(settings, assets, stopped.signal, opened);
  const access = demo?.access ?? (await configuredAccess(settings, opened));
  await warnOfLeftRequests(storage.write.sql, new Set(assets.keys()), logger);
  const { sql } = storage.write;
  const processable = await processedAssets(assets.values(), access, sql, (asset, lacks) =>
    logger.warn(
      { asset },
      `requests for ${asset} wait: this process lacks ${lacks} (see TA_ settings)`,
    ),
  );
  const processed = processable.map((asset) =>
    isDemoAsset(settings.ledger, assets.get(asset.name))
      ? { ...asset, endingOf: sandboxEnding }
      : asset,
  );
  if (processed.length > 0) {
    const processing = await startProcessing({
      database: storage.write,
      queues: callbacks.queues,
      assets: processed,
      vault: heldIn(storage.write),
      logger,
      telemetry,
    });
    opened.defer(() => processing.stop());
    const { figures } = telemetry;
    const funded = demo?.funded ?? Promise.resolve();
    const gas = funded.then(() => watchGas(processed, { figures, notes, logger }, stopped.signal));
    opened.defer(() => gas);
  }
  opened.defer(() => stopped.abort());
  const all = opened.move();
  return { [Symbol.asyncDispose]: () => all.disposeAsync() };
};

/** Its wallets and its signer are of the simulated ledger: nothing of it is real. */
const isDemoAsset = ({ demo }: Ledger, asset: TaAsset | undefined): boolean =>
  asset?.ledger === "sui" && (demo?.coinTypes.includes(asset.coinType) ?? false);

/** @throws ConfigError */
const configuredAccess = async (
  { config, storage, ledger }: TransferAgentSettings,
  opened: AsyncDisposableStack,
): Promise<LedgerAccess> => {
  const suiSigner = await suiSignerOf(config);
  const evmSigner = await evmSignerOf(config);
  const address = nodeAddressOf(config);
  const node = address && openSuiNode(address);
  const packages = watchPackages(storage.write, ledger.packages);
  if (node !== undefined) opened.defer(() => node.close());
  return {
    ...(node !== undefined && {
      sui: { node, packages, signerOf: () => suiSigner, gasBudget: config.ta.suiGasBudget },
    }),
    ...(evmSigner !== undefined && { evm: { signer: evmSigner } }),
  };
};

/** The demo ledger's node, with each token's registrar as its signer; `funded` once these have gas. */
const demoAccess = async (
  { config, storage, ledger: { demo, packages }, logger }: TransferAgentSettings,
  assets: ReadonlyMap<string, TaAsset>,
  signal: AbortSignal,
  opened: AsyncDisposableStack,
): Promise<{ readonly access: LedgerAccess; readonly funded: Promise<void> } | undefined> => {
  if (demo === undefined) return undefined;
  const { host } = opened.use(await demo.startNode());
  const node = openSuiNode({ host, tls: false });
  opened.defer(() => node.close());
  const coins = [...assets.values()].flatMap((asset) =>
    asset.ledger === "sui" && demo.coinTypes.includes(asset.coinType) ? [asset.coinType] : [],
  );
  const funded = demo.fundRegistrars(coins, signal).catch((error: unknown) => {
    if (!signal.aborted) logger.warn({ err: error }, "the demo's signers have no coins");
  });
  opened.defer(() => funded);
  const signerOf = (name: string) => {
    const asset = assets.get(name);
    if (asset?.ledger !== "sui" || !demo.coinTypes.includes(asset.coinType)) return undefined;
    return suiKeySigner(demo.registrarSecret(asset.coinType));
  };
  const evmSigner = await evmSignerOf(config);
  const access = {
    sui: {
      node,
      packages: watchPackages(storage.write, packages),
      signerOf,
      gasBudget: config.ta.suiGasBudget,
    },
    ...(evmSigner !== undefined && { evm: { signer: evmSigner } }),
  };
  return { access, funded };
};

type Paying = { readonly name: string; readonly relay: Pick<Relay, "payer" | "transactionsLeft"> };

const LOOK_EVERY_MS = 60_000;

/** Interval while gas is low, or was just sent. */
const LOOK_LOW_MS = 5_000;

/** Upper bound of reported transactions. */
const ENOUGH = 1_000_000n;

/**
 * Checks once a minute, more often while gas is low, until aborted. Never rejects: a node's failure
 * is logged, and the last value stays.
 */
export const watchGas = async (
  assets: readonly Paying[],
  {
    figures,
    notes,
    logger,
    everyMs = LOOK_EVERY_MS,
  }: {
    readonly figures: Figures;
    readonly notes: Pick<ProcessNotes, "noteSigners">;
    readonly logger: Logger;
    readonly everyMs?: number;
  },
  signal: AbortSignal,
): Promise<void> => {
  const rarely = createRareLines();
  const left = new Map<string, number>();
  // Assets of one account share a request.
  const payers = new Map(assets.map(({ relay }) => [relay.payer, relay]));
  const look = async (relay: Paying["relay"]) => {
    const most = await relay.transactionsLeft(signal);
    const transactionsLeft = Number(most < ENOUGH ? most : ENOUGH);
    for (const { name: asset } of assets.filter((one) => one.relay.payer === relay.payer)) {
      left.set(asset, transactionsLeft);
      figures.set("holderbook_signer_transactions_left", { asset }, transactionsLeft);
    }
  };
  while (!signal.aborted) {
    for (const relay of payers.values()) {
      await look(relay).catch((err: unknown) => {
        if (signal.aborted) return;
        const asset = assets.find((one) => one.relay.payer === relay.payer)?.name;
        rarely(`${asset} ${err}`, (repeats) =>
          logger.warn({ asset, err, ...repeats }, "cannot see the gas of a signer's account"),
        );
      });
    }
    notes.noteSigners([...left].map(([asset, transactionsLeft]) => ({ asset, transactionsLeft })));
    const isLow = [...left.values()].some((most) => most < LOW_TRANSACTIONS);
    await pause(isLow ? Math.min(everyMs, LOOK_LOW_MS) : everyMs, signal);
  }
};
