/**
 * What a service takes from the demo ledger: the only file here that it imports, and not before its
 * settings name the demo. The simulation and the node take a while to load, so they are loaded when they
 * are asked for.
 */
import { checkDemoFolder, holdsDemoLedger } from "./journal.ts";
import { demoReceiverPort, startDemoReceiver } from "./receiver.ts";
import type { DemoSource, DemoSourceOptions } from "./source.ts";

/** The demo ledger of one data folder, not opened yet. */
export type Demo = {
  /**
   * Sees that the data folder can hold this ledger; nothing is made but the folder.
   * @throws ConfigError naming DATA_DIR, FormerDemoLedgerError, OtherDemoLedgerError, JournalDamagedError
   */
  check(): void;
  /** Whether it is in the data folder already; makes nothing. @throws as `check`, but for DATA_DIR */
  isThere(): boolean;
  /** Opens the ledger, new or not. @throws as `check` */
  open(): Promise<OpenDemo>;
  /** Starts a receiver of callbacks on loopback. */
  readonly startReceiver: typeof startDemoReceiver;
  /** The port of loopback that an address of such a receiver names; undefined for other addresses. */
  readonly receiverPort: typeof demoReceiverPort;
};

/** An open demo ledger: where checkpoints come from, and what executes transactions on it. */
export type OpenDemo = {
  readonly source: DemoSource;
  /** Every published address of the security-token package, original first. */
  readonly packages: readonly string[];
  readonly coinTypes: readonly string[];
  /** Starts a node that takes signed transactions; the source must be read meanwhile. */
  startNode(): Promise<AsyncDisposable & { readonly host: string }>;
  /** The Ed25519 secret (32 bytes) of the registrar of a coin type, who whitelists wallets. */
  registrarSecret(coinType: string): Uint8Array;
  /** Gives the registrars of these coin types coins of their own to pay transactions with. */
  fundRegistrars(coinTypes: readonly string[], signal: AbortSignal): Promise<void>;
};

/** The demo ledger of a data folder. */
export const demoLedger = (options: DemoSourceOptions): Demo => ({
  check: () => checkDemoFolder(options.dataDir, options),
  isThere: () => holdsDemoLedger(options.dataDir, options),
  open: async () => {
    const { demoSource } = await import("./source.ts");
    return openDemo(demoSource(options));
  },
  startReceiver: startDemoReceiver,
  receiverPort: demoReceiverPort,
});

const openDemo = (source: DemoSource): OpenDemo => ({
  source,
  packages: source.packages,
  coinTypes: source.coinTypes.map(({ coinType }) => coinType),
  startNode: async () => (await import("./execution.ts")).startDemoNode(source),
  registrarSecret: (coinType) => source.secretKey(source.staff(coinType).registrar),
  fundRegistrars: async (coinTypes, signal) =>
    (await import("./funding.ts")).fundRegistrars(source, coinTypes, signal),
});
