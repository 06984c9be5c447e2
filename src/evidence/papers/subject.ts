/** The common source of all papers of a pack, and how they write amounts, times and rows. */
import { inTokens } from "../../../client/in-tokens.ts";
import type { CheckedPack } from "../pack/verify.ts";
import { type Column, code, type Inline, type Text } from "./document.ts";
import type { Gathering, Place } from "./gather.ts";
import type { RowFlow, Tie } from "./roll-forward.ts";

/** How papers are made. */
export type PaperOptions = {
  /** What the sample is drawn with; undefined: the SHA-256 of the manifest. */
  readonly seed?: string | undefined;
  /** How many movements are drawn. */
  readonly sample: number;
  /** Whose letters are written: ids of holders, addresses of wallets, or `all`. */
  readonly confirm: readonly string[];
  /** What was given to the check, for the cover: names and values. */
  readonly given: readonly (readonly [string, string])[];
};

export type Subject = Pick<CheckedPack, "manifest" | "outcome" | "verdict"> & {
  readonly manifestSha256: string;
  readonly seed: string;
  readonly options: PaperOptions;
  readonly gathered: Gathering;
  readonly tie: Tie;
  readonly rows: readonly RowFlow[];
};

/** With all decimals, and a comma between thousands. */
export const amountsOf = ({ outcome }: Pick<Subject, "outcome">) => {
  const { decimals } = outcome.last.head;
  return (units: bigint): string => {
    const [whole = "", ...fraction] = (
      decimals === null ? `${units}` : inTokens(units, decimals)
    ).split(".");
    return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
  };
};

/** An amount, or a dash for zero, which keeps sparse tables readable. */
export const flowsOf = (subject: Pick<Subject, "outcome">) => {
  const amount = amountsOf(subject);
  return (units: bigint): string => (units === 0n ? "–" : amount(units));
};

/** A share of an amount, to a tenth of a percent, rounded down. */
export const percentOf = (part: bigint, whole: bigint): string => {
  if (whole === 0n) return "–";
  const tenths = (part * 1_000n) / whole;
  return `${tenths / 10n}.${tenths % 10n} %`;
};

export const timeText = (timeMs: bigint): string => new Date(Number(timeMs)).toISOString();

/** A row of the register in words: `holder 12`, or its wallet. */
export const rowText = (row: string, address = code): Text =>
  row.startsWith("0x") ? address(row) : `holder ${row}`;

/** What papers with shortened addresses say. */
export const SHORTENED =
  "The PDF shows the first and last 8 digits of an address in a list; the Markdown file shows all of them.";

export const PART_WORDS = { TOKENS: "tokens", GRANTS: "grants" } as const;

/** Where to find something on the ledger. */
export const PLACE: readonly Column[] = [
  { title: "time (UTC)", width: 11, isWhole: true },
  { title: "checkpoint", width: 9, isNumber: true },
  { title: "transaction", width: 20, isWhole: true },
];

export const placeCells = ({ timestampMs, checkpoint, txDigest }: Place): readonly Inline[] => [
  timeText(timestampMs),
  `${checkpoint}`,
  code(txDigest),
];

export const TIES = "ties";

/** What a tier of the verdict says; a false pack has no papers. */
export const HOLDS = new Map([
  [true, "holds"],
  [null, "not shown"],
]);
