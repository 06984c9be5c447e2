/** The transfer agent's work in this process: processing requests, and what that needs of ledgers. */
import { readGrpcAddress } from "../ledger/sources/grpc-address.ts";
import { watchPackages } from "../log/packages.ts";
import type { Logger } from "../logging/logger.ts";
import type { Assets } from "../settings/assets.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import {
  type EvmSigner,
  SigningError,
  type SuiSigner,
  suiKeySigner,
} from "../ta/ledgers/signer.ts";
import { openSuiNode, type SuiNode } from "../ta/ledgers/sui-relay.ts";
import { heldIn } from "../ta/pii/vault.ts";
import { warnOfLeftRequests } from "../ta/processing/left-requests.ts";
import { type LedgerAccess, processedAssets } from "../ta/processing/processed-assets.ts";
import { startProcessing } from "../ta/processing/processing.ts";
import { type TaAsset, taAssets } from "../ta/requests/asset.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { CallbackService } from "./callbacks.ts";
import type { Ledger } from "./ledger-source.ts";
import type { ProcessNotes } from "./process-notes.ts";
import { watchGas } from "./signer-gas.ts";
import type { Storage } from "./storage.ts";

export type TransferAgentSettings = {
  readonly config: Config;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly storage: Storage;
  readonly assets: Assets;
  readonly ledger: Ledger;
  readonly callbacks: Pick<CallbackService, "queues">;
  readonly notes: ProcessNotes;
};

/** Processes requests of the configured assets until disposed of; without any it does nothing. */
export const startTransferAgent = async (
  settings: TransferAgentSettings,
): Promise<AsyncDisposable> => {
  const { logger, telemetry, storage, callbacks, notes } = settings;
  const assets = taAssets(settings.assets);
  await using opened = new AsyncDisposableStack();
  const stopped = new AbortController();
  const demo = await demoAccess(settings, assets, stopped.signal, opened);
  const access = demo ?? (await configuredAccess(settings, opened));
  await warnOfLeftRequests(storage.write.sql, new Set(assets.keys()), logger);
  const { sql } = storage.write;
  const processed = await processedAssets(assets.values(), access, sql, (asset, lacks) =>
    logger.warn(
      { asset },
      `requests for ${asset} wait: this process lacks ${lacks} (see TA_ settings)`,
    ),
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
    const gas = watchGas(processed, { figures, notes, logger }, stopped.signal);
    opened.defer(() => gas);
  }
  opened.defer(() => stopped.abort());
  const all = opened.move();
  return { [Symbol.asyncDispose]: () => all.disposeAsync() };
};

/** Node and signers as configured. @throws ConfigError */
const configuredAccess = async (
  { config, storage, ledger }: TransferAgentSettings,
  opened: AsyncDisposableStack,
): Promise<LedgerAccess> => {
  const suiSigner = await suiSignerOf(config);
  const evmSigner = await evmSignerOf(config);
  const node = nodeOf(config);
  const packages = watchPackages(storage.write, ledger.packages);
  if (node !== undefined) opened.defer(() => node.close());
  return {
    ...(node !== undefined && {
      sui: { node, packages, signerOf: () => suiSigner, gasBudget: config.ta.suiGasBudget },
    }),
    ...(evmSigner !== undefined && { evm: { signer: evmSigner } }),
  };
};

/** @throws ConfigError */
const nodeOf = ({ ta, ledgerSources }: Config): SuiNode | undefined => {
  // Headers are the source's: a provider's key goes to no other host.
  const own = ta.node === undefined ? undefined : { setting: ta.node, headers: {} };
  const node = own ?? ledgerSources.find(({ setting }) => setting.startsWith("grpc+"));
  if (node === undefined) return undefined;
  const address = readGrpcAddress(node.setting);
  // The ledger's source was opened from the same text: only a TA_NODE can be wrong here.
  if ("problem" in address) throw new ConfigError(`TA_NODE: ${address.problem}`);
  return openSuiNode({ ...address, headers: node.headers });
};

const suiSignerOf = async ({ ta }: Config): Promise<SuiSigner | undefined> => {
  const { suiKey } = ta;
  if (suiKey !== undefined) return keyOf("TA_SUI_KEY", () => suiKeySigner(suiKey));
  if (ta.signerUrl === undefined || ta.suiAddress === undefined) return undefined;
  const { httpSuiSigner } = await import("../ta/ledgers/http-signer.ts");
  return httpSuiSigner({ url: ta.signerUrl, token: ta.signerToken, address: ta.suiAddress });
};

const evmSignerOf = async ({ ta }: Config): Promise<EvmSigner | undefined> => {
  const { evmKey } = ta;
  if (evmKey !== undefined) {
    const { evmKeySigner } = await import("../ta/ledgers/evm-key-signer.ts");
    return keyOf("TA_EVM_KEY", () => evmKeySigner(evmKey));
  }
  if (ta.signerUrl === undefined) return undefined;
  if (ta.evmAddress === undefined && ta.suiAddress === undefined) {
    throw new ConfigError(
      "TA_SIGNER_URL: needs TA_SUI_ADDRESS or TA_EVM_ADDRESS, the signer's own",
    );
  }
  if (ta.evmAddress === undefined) return undefined;
  const { httpEvmSigner } = await import("../ta/ledgers/http-signer.ts");
  return httpEvmSigner({ url: ta.signerUrl, token: ta.signerToken, address: ta.evmAddress });
};

/** @throws ConfigError naming the setting whose key cannot be read */
const keyOf = <Signer>(setting: string, read: () => Signer): Signer => {
  try {
    return read();
  } catch (error) {
    if (error instanceof SigningError) throw new ConfigError(`${setting}: ${error.message}`);
    throw error;
  }
};

/** The demo ledger's own node, and the registrar of each token as its signer. */
const demoAccess = async (
  { config, storage, ledger: { demo, packages }, logger }: TransferAgentSettings,
  assets: ReadonlyMap<string, TaAsset>,
  signal: AbortSignal,
  opened: AsyncDisposableStack,
): Promise<LedgerAccess | undefined> => {
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
  return {
    sui: {
      node,
      packages: watchPackages(storage.write, packages),
      signerOf,
      gasBudget: config.ta.suiGasBudget,
    },
    ...(evmSigner !== undefined && { evm: { signer: evmSigner } }),
  };
};
