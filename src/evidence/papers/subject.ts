/** The papers' common source, and their formatting of amounts, times and rows. */
import { inTokens } from "../../../client/in-tokens.ts";
import { type Column, code, type Inline, type Text } from "../document/document.ts";
import type { CheckedPack } from "../pack/verify.ts";
import type { Gathering, LedgerPlace } from "./gather.ts";
import type { RowFlow, Tie } from "./roll-forward.ts";

export type PaperOptions = {
  /** The sample's seed; default: the SHA-256 of the manifest. */
  readonly seed?: string | undefined;
  /** Number of movements drawn. */
  readonly sample: number;
  /** Recipients of letters: holder ids, wallet addresses, or `all`. */
  readonly confirm: readonly string[];
  /** Names and values given to the check, for the cover. */
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

/** All decimals, with a comma between thousands. */
export const amountsOf = ({ outcome }: Pick<Subject, "outcome">) => {
  const { decimals } = outcome.last.head;
  return (units: bigint): string => {
    const [whole = "", ...fraction] = (
      decimals === null ? `${units}` : inTokens(units, decimals)
    ).split(".");
    return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
  };
};

/** A dash for zero keeps sparse tables readable. */
export const flowsOf = (subject: Pick<Subject, "outcome">) => {
  const amount = amountsOf(subject);
  return (units: bigint): string => (units === 0n ? "–" : amount(units));
};

/** Rounded down to a tenth of a percent. */
export const percentOf = (part: bigint, whole: bigint): string => {
  if (whole === 0n) return "–";
  const tenths = (part * 1_000n) / whole;
  return `${tenths / 10n}.${tenths % 10n} %`;
};

export const timeText = (timeMs: bigint | string): string => new Date(Number(timeMs)).toISOString();

/** Such as `holder 12`, or its wallet. */
export const rowText = (row: string, address = code): Text =>
  row.startsWith("0x") ? address(row) : `holder ${row}`;

/** A note on papers with shortened addresses. */
export const SHORTENED =
  "The PDF shows the first and last 8 digits of an address in a list; the Markdown file shows all of them.";

export const PART_WORDS = { TOKENS: "tokens", GRANTS: "grants" } as const;

/** Columns that locate something on the ledger. */
export const PLACE: readonly Column[] = [
  { title: "time (UTC)", width: 11, isWhole: true },
  { title: "checkpoint", width: 9, isNumber: true },
  { title: "transaction", width: 20, isWhole: true },
];

export const placeCells = ({
  timestampMs,
  checkpoint,
  txDigest,
}: LedgerPlace): readonly Inline[] => [timeText(timestampMs), `${checkpoint}`, code(txDigest)];

export const TIES = "ties";

/** The wording of a tier; a false pack has no papers. */
export const HOLDS = new Map([
  [true, "holds"],
  [null, "not shown"],
]);
