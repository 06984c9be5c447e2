/**
 * What an EVM chain says about a token, as raw as it was read: one fact per log of the token's
 * contracts, with the block and the transaction it stands in.
 *
 * Facts are written once and withdrawn only when the chain replaces their block. Everything served
 * is derived from them later, so that a decoder that learns something new replays from the log.
 */
import type { Hex } from "viem";

/** `0x` and 40 hex digits, always in lower case: addresses are compared as strings. */
export type Address = `0x${string}`;

/** Brings an address to the form of ours. */
export const lowerCase = (address: Hex): Address => `0x${address.slice(2).toLowerCase()}`;

/** The address mints come from and burns go to. */
export const zeroAddress: Address = "0x0000000000000000000000000000000000000000";

/** A block. */
export type EvmBlock = {
  readonly number: bigint;
  /** `0x` and 64 lower-case hex digits, as are all hashes here. */
  readonly hash: Hex;
  /** Unix seconds, by the block's producer. */
  readonly timestamp: bigint;
};

/** A block with the one before it: a chain of these shows when its end was replaced. */
export type LinkedBlock = EvmBlock & { readonly parentHash: Hex };

/** The transaction a log was emitted in; one object is shared by all its logs. */
export type EvmTransaction = {
  readonly hash: Hex;
  /** Index inside the block, from 0. */
  readonly index: number;
  readonly from: Address;
  /** Null for a transaction that creates a contract. */
  readonly to: Address | null;
  /** Sender's nonce: with `from` it gives the address of a created contract. */
  readonly nonce: bigint;
  readonly input: Hex;
};

/** One log of one of a token's contracts. Its place in chain order is (block.number, logIndex). */
export type EvmFact = {
  /** The token this fact belongs to. */
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
