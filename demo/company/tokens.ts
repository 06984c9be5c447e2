/** The tokens of Acme Robotics: one of each kind of description. */
import type { CoinPlan } from "../issuer/coins.ts";

/** Symbols, in the order of the coin types. */
export const COMMON = "ACME";
export const PREFERRED = "ACMEP";
export const OPTIONS = "ACMEO";

export const COMPANY_COINS: readonly CoinPlan[] = [
  {
    symbol: COMMON,
    name: "Acme Robotics Common Shares",
    decimals: 6,
    sources: { acme: ["ACME"] },
    type: "@::acme::ACME",
    described: "metadata",
  },
  {
    symbol: PREFERRED,
    name: "Acme Robotics Preferred Shares",
    decimals: 9,
    sources: { acmep: ["ACMEP"] },
    type: "@::acmep::ACMEP",
    described: "registry-witness",
  },
  {
    symbol: OPTIONS,
    name: "Acme Robotics Option Pool",
    decimals: 0,
    sources: { series: ["Options", "Series"] },
    type: "@::series::Series<@::series::Options>",
    described: "registry",
  },
];
