/**
 * Raw facts of an EVM chain: one per log of a token's contracts. Written once and withdrawn only
 * when the chain replaces their block; all served rows derive from them, so that an improved
 * decoder can replay the log.
 */
import type { Hex } from "viem";

/** `0x` and 40 hex digits, always in lower case: addresses are compared as strings. */
export type Address = `0x${string}`;

export const lowerCase = (address: Hex): Address => `0x${address.slice(2).toLowerCase()}`;

/** Mints come from this address, and burns go to it. */
export const zeroAddress: Address = "0x0000000000000000000000000000000000000000";

export type EvmBlock = {
  readonly number: bigint;
  /** `0x` and 64 lower-case hex digits, as are all hashes here. */
  readonly hash: Hex;
  /** Unix seconds, by the block's producer. */
  readonly timestamp: bigint;
};

/** A block with its parent's hash, which reveals a reorganisation. */
export type LinkedBlock = EvmBlock & { readonly parentHash: Hex };

/** All logs of a transaction share one object. */
export type EvmTransaction = {
  readonly hash: Hex;
  /** Index inside the block, from 0. */
  readonly index: number;
  readonly from: Address;
  /** Null for a transaction that creates a contract. */
  readonly to: Address | null;
  /** Sender's nonce; with `from` it yields the address of a created contract. */
  readonly nonce: bigint;
  readonly input: Hex;
};

/** One log of a token's contracts, ordered by (block.number, logIndex). */
export type EvmFact = {
  readonly token: Address;
  /** Contract that emitted the log: the token, its lockup or its identity registry. */
  readonly address: Address;
  /** One to four topics; anonymous events are not facts. */
  readonly topics: readonly [Hex, ...Hex[]];
  readonly data: Hex;
  /** Index inside the block, from 0; counts the logs of all contracts. */
  readonly logIndex: number;
  readonly block: EvmBlock;
  readonly transaction: EvmTransaction;
};

/** Parameters of a release schedule as `releaseSchedules(uint256)` returns them. */
export type ReleaseSchedule = {
  readonly releaseCount: bigint;
  readonly delayUntilFirstReleaseInSeconds: bigint;
  /** Basis points, 0 to 10000. */
  readonly initialReleasePortionInBips: bigint;
  readonly periodBetweenReleasesInSeconds: bigint;
};
