/** The result of a comparison, as text and as JSON. */
import type { Comparison } from "../audit/compare/compare.ts";
import { OWN_PAST } from "../audit/compare/present.ts";
import type { Difference } from "../audit/compare/rows.ts";
import { SAMPLE } from "../audit/compare/steps.ts";
import { shownForeign } from "../logging/foreign-text.ts";

/** Taken on faith, because no query shows it. */
export const ON_FAITH: readonly string[] = [
  "that it answers others as it answers this key, and queries with other arguments (order, offset, one owner, a time) from the same rows",
  "that its exports, statements, packs and streams are made of the rows that these queries serve",
  "signatures of its roots and heads, and that it lists all of them: docs/how-to/audit.md says how its sequence is checked",
  "what is no row of a coin: facts of its log, signatures of validators, grants as causes need them (token_grants), the times that sinceTimestamp searches by (reached_ms): reconcile and verify --log look there, on its side",
];

/** The same for one comparison. */
const onFaith = ({ tallies }: Comparison): readonly string[] => {
  const rows = tallies.get(OWN_PAST)?.rows ?? 0;
  const own = `what it serves now, in ${rows} rows: it was further than this deployment, so they were compared with its own past alone`;
  return rows === 0 ? ON_FAITH : [own, ...ON_FAITH];
};

/** 0: identical as far as requested; 1: a difference; 3: no difference, but less shown than requested. */
export const exitCodeOf = ({ differences, missing }: Comparison): number => {
  if (differences.length > 0) return 1;
  return missing.length > 0 ? 3 : 0;
};

/** Differences shown per list. */
const SHOWN_OF_EACH = 5;

const side = (of: Difference["here"]): string => {
  if (of === null) return "none";
  const members = Object.entries(of).map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return shownForeign(members.join(", "));
};

const differenceLines = (differences: readonly Difference[], more: number): readonly string[] => [
  ...[...Map.groupBy(differences, ({ what, coinType }) => `${what} ${coinType}`).values()].flatMap(
    (same) => {
      const left = same.length - SHOWN_OF_EACH;
      return [
        ...same.slice(0, SHOWN_OF_EACH).map(({ what, coinType, row, here, there }) => {
          const of = coinType === null ? "" : ` of ${shownForeign(coinType)}`;
          return `${shownForeign(what)}${of}, ${shownForeign(row)}: here ${side(here)}; there ${side(there)}`;
        }),
        ...(left > 0 ? [`  and ${left} more like it`] : []),
      ];
    },
  ),
  ...(more > 0 ? [`and ${more} more differences`] : []),
];

const verdict = (comparison: Comparison): string => {
  const { differences, more, missing, through } = comparison;
  if (differences.length > 0) {
    return `different: ${differences.length + more} differences through checkpoint ${through}`;
  }
  if (missing.length > 0) return `not shown: no difference found, and less answered than was asked`;
  return isWhole(comparison)
    ? `identical through checkpoint ${through}`
    : `identical through checkpoint ${through} in what was compared: some lists in part, see below`;
};

/** Whether every row of every list was compared, rather than some of them. */
const isWhole = ({ tallies }: Comparison): boolean =>
  [...tallies.values()].every(({ inPart }) => inPart === 0);

const comparedLines = ({ tallies }: Comparison): readonly string[] =>
  [...tallies].map(([name, { rows, lists, inPart }]) => {
    const many = lists > 1 ? ` in ${lists} lists` : "";
    const part = inPart > 0 ? `, ${lists > 1 ? `${inPart} of them ` : ""}in part` : "";
    return `  ${shownForeign(name)}: ${rows}${many}${part}`;
  });

export const inWords = (comparison: Comparison): readonly string[] => {
  const { isFull, here, there, through, differences, more, missing, notes } = comparison;
  return [
    ...differenceLines(differences, more),
    ...missing.map(shownForeign),
    verdict(comparison),
    `compared through checkpoint ${through} (here ${here}, there ${there}), row by row${isFull ? "" : "; of longer lists a part (--full: everything)"}:`,
    ...comparedLines(comparison),
    "not compared, taken on faith:",
    ...onFaith(comparison).map((line) => `  ${line}`),
    ...notes.map(shownForeign),
  ];
};

export const asJson = (comparison: Comparison) => {
  const { through, here, there, isFull, tallies, differences, more, missing, notes } = comparison;
  return {
    identical: exitCodeOf(comparison) === 0,
    through: `${through}`,
    here: `${here}`,
    there: `${there}`,
    full: isFull,
    whole: isWhole(comparison),
    sample: isFull ? null : SAMPLE,
    compared: [...tallies].map(([what, tally]) => ({ what, ...tally })),
    differences,
    more,
    missing,
    onFaith: onFaith(comparison),
    notes,
  };
};
