import pino, { type Logger } from "pino";
import { openQueues } from "../../../src/lanes/queues.ts";
import type { Relay } from "../../../src/ta/ledgers/relay.ts";
import { type SuiSigner, suiKeySigner } from "../../../src/ta/ledgers/signer.ts";
import { openSuiNode } from "../../../src/ta/ledgers/sui-relay.ts";
import { heldIn } from "../../../src/ta/pii/vault.ts";
import { processedAssets } from "../../../src/ta/processing/processed-assets.ts";
import { type ProcessingSettings, startProcessing } from "../../../src/ta/processing/processing.ts";
import type { ProcessedAsset } from "../../../src/ta/processing/request.ts";
import { ASSET, type Circle, GROUP } from "./circle.ts";

/** The most a transaction may cost, MIST. */
export const GAS_BUDGET = 50_000_000n;

/** Times that suit tests. */
export const QUICK = {
  leaseMs: 3_000,
  turnMs: 2_000,
  lookMs: 25,
  holdMs: 500,
  recheckMs: { least: 50, most: 250 },
  troubleMs: 200,
  pollMs: 200,
  wakeAgainMs: 2_000,
};

export type Processor = AsyncDisposable & { readonly logged: readonly string[] };

type AssetSettings = {
  readonly signer?: SuiSigner;
  /** The group that the assets file names. */
  readonly group?: number;
  /** Puts something between the processing and the ledger's node. */
  readonly around?: (relay: Relay) => Relay;
};

type OnLedger = Pick<Circle, "database" | "source" | "node" | "coinType" | "registrar">;

/** The circle's asset, as processing has it. */
export const openAsset = async (circle: OnLedger, settings: AssetSettings = {}) => {
  const { database, source } = circle;
  const { around = (relay: Relay) => relay, group = GROUP } = settings;
  const signer = settings.signer ?? suiKeySigner(source.secretKey(circle.registrar));
  const node = openSuiNode({ host: circle.node.host, tls: false });
  const [asset] = await processedAssets(
    [
      {
        name: ASSET,
        project: "demo",
        callbackUrl: "http://unused.example",
        whitelistGroupId: group,
        ledger: "sui",
        coinType: circle.coinType,
      },
    ],
    {
      sui: { node, signerOf: () => signer, packages: () => source.packages, gasBudget: GAS_BUDGET },
    },
    database.sql,
    (name, what) => {
      throw new Error(`${name} lacks ${what}`);
    },
  );
  if (asset === undefined) throw new Error("no asset is processed");
  const opened: ProcessedAsset = { ...asset, relay: around(asset.relay) };
  return { asset: opened, [Symbol.dispose]: () => node.close() };
};

/** Processes the circle's requests in this process. */
export const startProcessor = async (
  circle: OnLedger,
  settings: Partial<ProcessingSettings> & AssetSettings = {},
): Promise<Processor> => {
  const { database } = circle;
  const { around, group, signer, ...rest } = settings;
  const logged: string[] = [];
  const logger: Logger = pino(
    { level: "debug" },
    { write: (line: string) => void logged.push(line) },
  );
  const queues = openQueues({ databaseUrl: database.url, onError: (err) => logger.warn({ err }) });
  const opened = await openAsset(circle, {
    ...(around && { around }),
    ...(group !== undefined && { group }),
    ...(signer && { signer }),
  });
  const processing = await startProcessing({
    database,
    queues,
    assets: [opened.asset],
    vault: heldIn(database),
    logger,
    ...QUICK,
    ...rest,
  });
  return {
    logged,
    [Symbol.asyncDispose]: async () => {
      await processing.stop();
      await queues.close();
      opened[Symbol.dispose]();
    },
  };
};
