/** What the values of a chart are: how they are written, drawn and exported. Values are exact; only what is drawn is rounded. */
import { inTokens } from "../../../client/in-tokens.ts";
import { amountText, countText } from "../shown/amount.ts";

export type Measure = {
  /** Beside headings. */
  readonly unit?: string | undefined;
  readonly text: (value: bigint) => string;
  /** Below a heading that has the unit. */
  readonly cell: (value: bigint) => string;
  /** For files. */
  readonly plain: (value: bigint) => string;
  /** Where it is drawn. */
  readonly drawn: (value: bigint) => number;
  /** A mark of the axis. */
  readonly mark: (drawn: number) => string;
};

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

export const amounts = ({
  decimals,
  symbol,
}: {
  readonly decimals: number | null;
  readonly symbol: string | null;
}): Measure => ({
  unit: symbol ?? undefined,
  text: (value) => `${amountText(value, decimals)}${symbol === null ? "" : ` ${symbol}`}`,
  cell: (value) => amountText(value, decimals, true),
  plain: (value) => inTokens(value, decimals ?? 0),
  drawn: (value) => Number(value) / 10 ** (decimals ?? 0),
  mark: (drawn) => compact.format(drawn),
});

export const counts: Measure = {
  text: countText,
  cell: countText,
  plain: String,
  drawn: Number,
  // Half a holder is no mark.
  mark: (drawn) => (Number.isInteger(drawn) ? compact.format(drawn) : ""),
};

/** Shares in hundredths of a percent. */
export const shares: Measure = {
  unit: "%",
  text: (value) => `${amountText(value, 2, true)} %`,
  cell: (value) => amountText(value, 2, true),
  plain: (value) => inTokens(value, 2),
  drawn: (value) => Number(value) / 100,
  mark: (drawn) => `${drawn} %`,
};
