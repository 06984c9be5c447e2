/**
 * A node's lists: which checkpoints hold transactions that touch given packages and objects.
 *
 * They guide reading and prove nothing. A node can hide or invent entries; what it lists is fetched
 * whole and verified, and what it hides shows as a gap in a chain of versions.
 */

/**
 * Events of types defined at a package's address, calls into a package, or changes of an object.
 * A call counts only when a transaction makes it at its top level.
 */
export type Touch = {
  readonly kind: "events" | "calls" | "object";
  /** Canonical. */
  readonly address: string;
};

/** Bounds included. */
export type ListedRange = { readonly first: bigint; readonly last: bigint };

/** Newest version of a live object. */
export type ObjectHead = {
  readonly version: bigint;
  /** Base58, as `previousTransaction`. */
  readonly digest: string;
  readonly previousTransaction: string;
};

/** Retries within its own limits, like a source of checkpoints; errors carry a remedy. */
export type LedgerIndex = {
  /** The setting without secrets. */
  readonly description: string;

  /** Base58 digest of the genesis checkpoint: the lists of another chain find nothing. */
  chainId(signal: AbortSignal): Promise<string>;

  /** The node's newest checkpoint, with or without lists. */
  newest(signal: AbortSignal): Promise<bigint>;

  /**
   * Checkpoints that the lists cover.
   * @throws HistoryIndexMissingError (stop)
   */
  covers(signal: AbortSignal): Promise<ListedRange>;

  /**
   * Checkpoints of the range with a matching transaction, ascending and each once as far as the
   * node keeps to its own watermarks. Ends only when those show the whole range scanned.
   * @throws the reason of `signal`
   * @throws HistoryIndexMissingError (stop)
   * @throws BelowIndexError (stop) when the lists begin after `range.first`
   * @throws IndexStuckError (retry) when several requests in a row bring no progress
   */
  touching(what: readonly Touch[], range: ListedRange, signal: AbortSignal): AsyncIterable<bigint>;

  /** Newest version that the node serves, by id as given; null: it has no such live object. */
  heads(
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, ObjectHead | null>>;

  /** The checkpoint of a transaction; null when unknown. */
  checkpointOf(txDigest: string, signal: AbortSignal): Promise<bigint | null>;

  /** Last checkpoint of an epoch, a hint; null when unknown. */
  epochEnd(epoch: bigint, signal: AbortSignal): Promise<bigint | null>;

  /** Ids of a coin's metadata objects (CoinMetadata, Currency), a hint. */
  metadataOf(coinType: string, signal: AbortSignal): Promise<readonly string[]>;

  /** Idempotent. */
  close(): Promise<void>;
};
