import type { RawCheckpoint } from "../decode/checkpoint.ts";

/** Which checkpoints are asked for, bounds included; without `last` there is no end. */
export type CheckpointRange = {
  readonly first: bigint;
  readonly last?: bigint | undefined;
  /** Most that are asked for at a time, where the source asks for several; its own bound unless given. */
  readonly atOnce?: number | undefined;
};

/**
 * Somewhere checkpoints come from: a full node, an object store, a folder, the demo ledger.
 *
 * A source delivers bytes in chain order and knows nothing of what they mean. It retries what can be
 * retried within its own bounds; what it throws carries a remedy (`remedyOf`).
 */
export type CheckpointSource = {
  /** For logs and status: the setting it was made from, without secrets; of several the one in use. */
  readonly description: string;

  /**
   * Identifies the chain: base58 digest of its genesis checkpoint, or what the source was told; null
   * when the source cannot know (a folder without `ledger.json`, an object store).
   * @throws SourceChainsDifferError (stop) where several are listed, of different chains
   */
  chainId(signal: AbortSignal): Promise<string | null>;

  /**
   * What to do when the log is of another chain, for a ledger of which another one could have been here
   * before: the end of an error message.
   */
  readonly ifOtherChain?: string;

  /** Number of the newest checkpoint it has now; null while it has none. */
  latest(signal: AbortSignal): Promise<bigint | null>;

  /**
   * Checkpoints `first`, `first + 1`, … without gap or repetition, up to and including `last`
   * (without it: for ever, waiting at the tip). Ends quietly when `signal` aborts.
   * How many are held ready at once is bounded by the source's own settings.
   */
  checkpoints(range: CheckpointRange, signal: AbortSignal): AsyncIterable<RawCheckpoint>;

  /**
   * Decimals of a coin as the network knows them now, for metadata older than the first checkpoint
   * read; null when the coin has none. Absent where the source has no network to ask.
   */
  coinDecimals?(coinType: string, signal: AbortSignal): Promise<number | null>;

  /**
   * Number of the checkpoint that published a package; null when that is not known any more. Absent where
   * the source has no network to ask.
   * @param address the package's own, canonical
   */
  publishedAt?(address: string, signal: AbortSignal): Promise<bigint | null>;

  /** How many sources this one stands for, and which is in use, from 0; absent: it is one. */
  readonly listed?: { readonly count: number; readonly inUse: number };

  /**
   * Tells that what it said could not be used, or that it said nothing: where several are listed, the next one is
   * asked from now on. Absent where there is one.
   * @param asked which was in use when it was asked (`listed.inUse`): one that was left meanwhile is not left again
   */
  failed?(error: Error, asked: number): void;

  /** Ends connections and timers. Safe to call twice. */
  close(): Promise<void>;
};
