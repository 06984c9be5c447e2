import type { RawCheckpoint } from "../decode/checkpoint.ts";

/** Bounds included; unbounded without `last`. */
export type CheckpointRange = {
  readonly first: bigint;
  readonly last?: bigint | undefined;
  /** Maximum concurrent fetches; the source's own by default. */
  readonly maxConcurrent?: number | undefined;
  /** Whether a source with `leavesOut` may go on behind what it leaves out; it throws otherwise. */
  readonly gaps?: boolean | undefined;
  /** How long an announced checkpoint may be missing, ms; the source's own by default. */
  readonly graceMs?: number | undefined;
};

/**
 * A source of checkpoints: full node, object store, folder or demo.
 *
 * Delivers bytes in chain order and retries within its own limits; errors carry a remedy
 * (`remedyOf`).
 */
export type CheckpointSource = {
  /** The setting without secrets; of several the current source. */
  readonly description: string;

  /**
   * Base58 digest of the genesis checkpoint; null when unknown (a folder without `ledger.json`, an
   * object store).
   * @throws SourceChainsDifferError (stop)
   */
  chainId(signal: AbortSignal): Promise<string | null>;

  /** Advice when the log is of another chain: the end of an error message. */
  readonly ifOtherChain?: string;

  /** Which checkpoints it leaves out on purpose, for people; absent: none. */
  readonly leavesOut?: string;

  /** Newest checkpoint; null without any. */
  latest(signal: AbortSignal): Promise<bigint | null>;

  /**
   * Checkpoints from `first` on without gap or repetition, up to `last`, or for ever. Ends when
   * `signal` aborts. Look-ahead is bounded.
   */
  checkpoints(range: CheckpointRange, signal: AbortSignal): AsyncIterable<RawCheckpoint>;

  /** Decimals of a coin on the network; null without metadata. Absent without a network. */
  coinDecimals?(coinType: string, signal: AbortSignal): Promise<number | null>;

  /**
   * The checkpoint that published a package; null when unknown. Absent without a network.
   * @param address the package's, canonical
   */
  publishedAt?(address: string, signal: AbortSignal): Promise<bigint | null>;

  /** Number of listed sources and index of the current one; absent for a single source. */
  readonly listed?: { readonly count: number; readonly inUse: number };

  /**
   * Reports a useless answer or silence, to move to the next source. Absent for a single source.
   * @param asked index of the source asked (`listed.inUse`), so a source left meanwhile is not left
   * again
   */
  failed?(error: Error, asked: number): void;

  /** Ends connections and timers. Idempotent. */
  close(): Promise<void>;
};
