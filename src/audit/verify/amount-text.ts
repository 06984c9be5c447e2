import { inTokens } from "../../../client/in-tokens.ts";

/** An amount for people: in tokens, or in the smallest unit where the decimals are unknown. */
export const amountText = (units: bigint, decimals: number | null): string =>
  decimals === null ? `${units} of the smallest unit` : inTokens(units, decimals);
