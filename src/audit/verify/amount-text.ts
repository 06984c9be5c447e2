import { inTokens } from "../../../client/in-tokens.ts";

/** An amount in a sentence for people: in tokens, or with its unit where the token's decimals are unknown. */
export const amountText = (units: bigint, decimals: number | null): string =>
  decimals === null ? `${units} of the smallest unit` : inTokens(units, decimals);
