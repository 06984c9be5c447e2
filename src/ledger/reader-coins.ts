import type { CoinDecimals, Fact } from "../log/fact.ts";
import { COIN_METADATA, CURRENCY } from "./contract/names.ts";
import { decodeCoinMetadata, decodeCurrency } from "./contract/objects.ts";
import { canonicalAddress } from "./move-type.ts";

/** The framework's own types; a contract may have a `coin::CoinMetadata` of its own. */
const FRAMEWORK = `${canonicalAddress("0x2")}::`;

const DECODERS: ReadonlyMap<string, (contents: Uint8Array) => { decimals: number }> = new Map([
  [COIN_METADATA, decodeCoinMetadata],
  [CURRENCY, decodeCurrency],
]);

/**
 * Decimals that the framework's metadata objects among these facts give, in chain order: of several
 * for one coin, the last one holds.
 * @throws ContractLayoutError (stop) when such an object does not begin as the framework's do
 */
export const coinDecimalsIn = (facts: readonly Fact[]): readonly CoinDecimals[] =>
  facts.flatMap((fact) => {
    const { coinType } = fact;
    if (fact.kind !== "object" || coinType === null || !fact.type.startsWith(FRAMEWORK)) return [];
    const decode = DECODERS.get(fact.name);
    return decode === undefined ? [] : [{ coinType, decimals: decode(fact.contents).decimals }];
  });
