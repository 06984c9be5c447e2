/** What the values of a chart are: how they are written, drawn and exported. Values are exact; only what is drawn is rounded. */
import { inTokens } from "../../../client/in-tokens.ts";
import { amountText, countText } from "../shown/amount.ts";
import { spanText } from "../shown/moment.ts";

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
  /** On an axis by powers of ten: values over many orders, of which none is below 1 where it is drawn. */
  readonly byPowers?: boolean;
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

/** Whole seconds, from one to years. */
export const spans: Measure = {
  unit: "s",
  text: (value) => spanText(Number(value)),
  cell: countText,
  plain: String,
  drawn: (value) => Math.max(1, Number(value)),
  mark: (drawn) => spanText(drawn),
  byPowers: true,
};

/** In thousandths of one a second. */
export const rates: Measure = {
  unit: "1/s",
  text: (value) => `${amountText(value, 3, true)} a second`,
  cell: (value) => amountText(value, 3, true),
  plain: (value) => inTokens(value, 3),
  drawn: (value) => Number(value) / 1_000,
  mark: (drawn) => compact.format(drawn),
};
