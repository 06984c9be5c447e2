/**
 * Layouts of the objects that the security-token package and the framework's coins put on the ledger,
 * fields in BCS order. `T` is the coin type of the security.
 */

import { bcs } from "@mysten/sui/bcs";
import { address, amount, decoder, u64 } from "./layout.ts";
import { COIN_METADATA, CURRENCY, SHARED_TOKEN, TIMELOCK, TREASURY } from "./names.ts";

/** `shared_token::SharedToken<T>`: tokens of one owner. */
export const sharedToken = bcs.struct("SharedToken", {
  id: address,
  owner: address,
  balance: amount,
});

/** Tokens of one owner; `balance` in the coin's smallest unit. */
export type SharedToken = typeof sharedToken.$inferType;

/** @throws ContractLayoutError (stop) */
export const decodeSharedToken = decoder<SharedToken>(SHARED_TOKEN, sharedToken, "nothing");

/** `timelock::Timelock<T>`: a vesting grant. */
export const timelock = bcs.struct("Timelock", {
  id: address,
  owner: address,
  funder: address,
  releaseScheduleId: u64,
  releaseCount: u64,
  delayUntilFirstReleaseMs: u64,
  periodBetweenReleasesMs: u64,
  initialReleasePortionBps: u64,
  commencementTimestampMs: u64,
  totalAmount: u64,
  tokensTransferred: u64,
  leftBalance: amount,
});

/** A vesting grant; times in milliseconds, the portion in basis points, amounts in smallest units. */
export type Timelock = typeof timelock.$inferType;

/** @throws ContractLayoutError (stop) */
export const decodeTimelock = decoder<Timelock>(TIMELOCK, timelock, "nothing");

/** How `controlled_treasury::ControlledTreasury<T>` begins; the rest is the contract's own. */
export const treasury = bcs.struct("ControlledTreasury", { id: address, totalSupply: amount });

/** The treasury of a token; its supply in the coin's smallest unit. */
export type Treasury = typeof treasury.$inferType;

/** @throws ContractLayoutError (stop) */
export const decodeTreasury = decoder<Treasury>(TREASURY, treasury, "unread");

/** How the framework's `coin::CoinMetadata<T>` and `coin_registry::Currency<T>` both begin. */
export const coinMetadata = bcs.struct("CoinMetadata", { id: address, decimals: bcs.u8() });

/** What the reader needs of a coin's metadata; decimals from 0 to 255. */
export type CoinMetadata = typeof coinMetadata.$inferType;

/** @throws ContractLayoutError (stop) */
export const decodeCoinMetadata = decoder<CoinMetadata>(COIN_METADATA, coinMetadata, "unread");

/** @throws ContractLayoutError (stop) */
export const decodeCurrency = decoder<CoinMetadata>(CURRENCY, coinMetadata, "unread");

/** The same two, as far as the coin's names. */
export const coinNames = bcs.struct("CoinNames", {
  id: address,
  decimals: bcs.u8(),
  name: bcs.string(),
  symbol: bcs.string(),
});

/** What a coin is called: any account can give its coin any names. */
export type CoinNames = typeof coinNames.$inferType;

/** @throws ContractLayoutError (stop) */
export const decodeMetadataNames = decoder<CoinNames>(COIN_METADATA, coinNames, "unread");

/** @throws ContractLayoutError (stop) */
export const decodeCurrencyNames = decoder<CoinNames>(CURRENCY, coinNames, "unread");
