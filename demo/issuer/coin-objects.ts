/** BCS of the framework's objects of a coin type. */
import { ByteWriter } from "../wire/byte-writer.ts";

export type Coin = {
  readonly coinType: string;
  readonly symbol: string;
  readonly name: string;
  readonly decimals: number;
};

const description = (coin: Coin): string => `Security token ${coin.symbol} of the demo ledger`;

/** `coin::CoinMetadata<T>`: no icon. */
export const coinMetadata = (id: string, coin: Coin): Uint8Array =>
  new ByteWriter()
    .address(id)
    .u8(coin.decimals)
    .string(coin.name)
    .string(coin.symbol)
    .string(description(coin))
    .u8(0)
    .done();

/** The framework's marker: key and value of the extra field. */
const NEW_CURRENCY = "is_new_currency";

/**
 * `coin_registry::Currency<T>`: supply unknown, unregulated, metadata cap claimed, marked as new.
 */
export const currency = (
  id: string,
  coin: Coin,
  caps: { readonly treasuryCap: string; readonly metadataCap: string },
): Uint8Array =>
  new ByteWriter()
    .address(id)
    .u8(coin.decimals)
    .string(coin.name)
    .string(coin.symbol)
    .string(description(coin))
    .string("")
    .u8(1) // supply: some
    .u8(2) // … unknown
    .u8(1) // unregulated
    .u8(1) // treasury cap: some
    .address(caps.treasuryCap)
    .u8(0) // metadata cap: claimed
    .address(caps.metadataCap)
    .uleb(1) // extra fields: what the framework marks a currency with that was no legacy coin before
    .string(NEW_CURRENCY)
    .string("bool")
    .string(NEW_CURRENCY)
    .done();

/** `coin::TreasuryCap<T>` before the first mint. */
export const treasuryCap = (id: string): Uint8Array => new ByteWriter().address(id).u64(0n).done();

/** An object with only an id, such as `coin_registry::MetadataCap<T>`. */
export const idOnly = (id: string): Uint8Array => new ByteWriter().address(id).done();

/** `package::UpgradeCap` with the compatible policy. */
export const upgradeCap = (id: string, packageId: string, version: bigint): Uint8Array =>
  new ByteWriter().address(id).address(packageId).u64(version).u8(0).done();
