/** Layouts of objects of the security-token package and of the framework's coins, in BCS order. */

import { bcs } from "@mysten/sui/bcs";
import { address, amount, decoder, u64 } from "./layout.ts";
import { COIN_METADATA, CURRENCY, SHARED_TOKEN, TIMELOCK, TREASURY } from "./names.ts";

/** `shared_token::SharedToken<T>`: tokens of one owner. */
export const sharedToken = bcs.struct("SharedToken", {
  id: address,
  owner: address,
  balance: amount,
});

/** `balance` in the coin's smallest unit. */
export type SharedToken = typeof sharedToken.$inferType;

export const decodeSharedToken = decoder(SHARED_TOKEN, sharedToken);

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

/** Times in milliseconds, portions in basis points, amounts in smallest units. */
export type Timelock = typeof timelock.$inferType;

export const decodeTimelock = decoder(TIMELOCK, timelock);

/** Start of `controlled_treasury::ControlledTreasury<T>`; the rest is not read. */
export const treasury = bcs.struct("ControlledTreasury", { id: address, totalSupply: amount });

/** Supply in the coin's smallest unit. */
export type Treasury = typeof treasury.$inferType;

export const decodeTreasury = decoder(TREASURY, treasury, "unread");

/** Common start of `coin::CoinMetadata<T>` and `coin_registry::Currency<T>`. */
export const coinMetadata = bcs.struct("CoinMetadata", { id: address, decimals: bcs.u8() });

/** Decimals from 0 to 255. */
export type CoinMetadata = typeof coinMetadata.$inferType;

export const decodeCoinMetadata = decoder(COIN_METADATA, coinMetadata, "unread");

export const decodeCurrency = decoder(CURRENCY, coinMetadata, "unread");

/** The same, with names. */
const coinNames = bcs.struct("CoinNames", {
  id: address,
  decimals: bcs.u8(),
  name: bcs.string(),
  symbol: bcs.string(),
});

export const decodeMetadataNames = decoder(COIN_METADATA, coinNames, "unread");

export const decodeCurrencyNames = decoder(CURRENCY, coinNames, "unread");
