/** The part of the demo ledger that the service imports; loads simulation and node on demand. */

import { aborted } from "../src/waiting/aborted.ts";
import { pause } from "../src/waiting/backoff.ts";
import type { DemoLabel } from "./company/labels.ts";
import { checkDemoFolder, holdsDemoLedger } from "./journal.ts";
import { demoReceiverPort, startDemoReceiver } from "./receiver.ts";
import type { DemoSource, DemoSourceOptions } from "./source.ts";

/** The demo ledger of a data folder, not opened yet. */
export type Demo = {
  /**
   * Checks that the data folder can hold this ledger; creates only the folder.
   * @throws ConfigError naming DATA_DIR, FormerDemoLedgerError, OtherDemoLedgerError,
   * JournalDamagedError
   */
  check(): void;
  /** @throws as `check`, except for DATA_DIR */
  isThere(): boolean;
  /** @throws as `check` */
  open(): Promise<OpenDemo>;
  readonly startReceiver: typeof startDemoReceiver;
  /** Port in the URL of such a receiver; undefined for other URLs. */
  readonly receiverPort: typeof demoReceiverPort;
};

/** Source of checkpoints, and executor of transactions. */
export type OpenDemo = {
  readonly source: DemoSource;
  /** Published versions of the security-token package, original first. */
  readonly packages: readonly string[];
  readonly coinTypes: readonly string[];
  /** Names of the company's people and accounts; empty without a company. */
  readonly labels: readonly DemoLabel[];
  /** Starts a node for signed transactions; the source must be read meanwhile. */
  startNode(): Promise<AsyncDisposable & { readonly host: string }>;
  /** Ed25519 secret (32 bytes) of a coin's registrar, who whitelists wallets. */
  registrarSecret(coinType: string): Uint8Array;
  /** Gives the registrars of these coin types gas coins. */
  fundRegistrars(coinTypes: readonly string[], signal: AbortSignal): Promise<void>;
};

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
  labels: source.labels(),
  startNode: async () => (await import("./execution.ts")).startDemoNode(source),
  registrarSecret: (coinType) => source.secretKey(source.staff(coinType).registrar),
  fundRegistrars: (coinTypes, signal) => fundRegistrars(source, coinTypes, signal),
});

/** Gas coins per registrar: its maximum concurrent transactions. */
const GAS_COINS = 16;

/** Interval of checking whether the ledger is read. */
const CHECK_MS = 200;

/**
 * Gives registrars without gas coins some, once the ledger is read. Ends when the signal aborts.
 */
const fundRegistrars = async (
  source: DemoSource,
  coinTypes: readonly string[],
  signal: AbortSignal,
): Promise<void> => {
  const [first] = source.coinTypes;
  while (first === undefined || source.object(first.treasuryId) === undefined) {
    await pause(CHECK_MS, signal);
    if (signal.aborted) return;
  }
  for (const coinType of coinTypes) {
    if (signal.aborted) return;
    const { registrar } = source.staff(coinType);
    if (source.gasCoinsOf(registrar).length > 0) continue;
    const given = source.submit({ sender: registrar, calls: [], gasCoins: GAS_COINS });
    await Promise.race([given, aborted(signal)]);
    given.catch(() => undefined);
  }
};
