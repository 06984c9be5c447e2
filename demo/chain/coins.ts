import { ByteWriter } from "../wire/byte-writer.ts";
import type { GasCost } from "../wire/effects.ts";

/** Contents of `0x2::coin::Coin<T>`: id and balance. */
export const coinContents = (id: string, balance: bigint): Uint8Array =>
  new ByteWriter().address(id).u64(balance).done();

export const coinBalance = (contents: Uint8Array): bigint =>
  new DataView(contents.buffer, contents.byteOffset).getBigUint64(32, true);

/** Contents of the gas coin after paying. */
export const spendGas = (id: string, contents: Uint8Array, gas: GasCost): Uint8Array =>
  coinContents(id, coinBalance(contents) - gas.computation - gas.storage + gas.rebate);
