/** What `holderbook quarantine` prints of tokens. */
import { type HeldCoin, inQuarantine, unitOf } from "../projections/held-coins.ts";
import { COMPLETENESS } from "../projections/incomplete-coins.ts";
import type { Quarantine } from "../projections/quarantines.ts";

export type Listed = Quarantine & {
  /** Facts in the log that the rows lack; null once it has ended. */
  readonly waiting: string | null;
};

/** Why a retry does not help an incomplete token, and what does. */
export const notRetried = (incomplete: Quarantine): string =>
  `${inQuarantine(incomplete)}. No fact waits in the log that could be applied: ${toDo(incomplete)}`;

const toDo = ({ coinType }: Pick<Quarantine, "coinType">): string =>
  `\`holderbook prove complete --coin '${coinType}'\` names all that is missing, and releases the token once nothing is, as another node in INDEX_SOURCE may show; otherwise read into an empty database (docs/how-to/guided-reading.md)`;

const nameOf = ({ symbol, name, coinType }: Quarantine): string =>
  symbol === null ? coinType : `${symbol} (${name ?? "no name"}) ${coinType}`;

/** @param unit what `checkpoint` counts */
export const placeInWords = (
  { kind, type, checkpoint, transaction, index, txDigest }: NonNullable<HeldCoin["fact"]>,
  unit = "checkpoint",
): string =>
  `the ${kind} ${type} at ${unit} ${checkpoint}, transaction ${transaction} (${txDigest}), index ${index}`;

/** In one line. */
export const lineOf = (one: Listed): string => {
  const { pipeline, from, since, fact, reason, waiting, released } = one;
  const now =
    pipeline === COMPLETENESS
      ? reason
      : released === null
        ? `${waiting ?? "no"} facts wait: ${reason}`
        : `released at ${released.at}, ${unitOf(one.coinType)} ${released.checkpoint}`;
  const digest = fact === null ? "" : `, transaction ${fact.txDigest}`;
  const held = pipeline === COMPLETENESS ? "incomplete" : pipeline;
  return `${nameOf(one)}: ${held} from ${unitOf(one.coinType)} ${from}${digest}, since ${since}; ${now}`;
};

/** All of a quarantine, a line each. */
export const linesOf = (one: Listed): readonly string[] => {
  const { pipeline, from, since, fact, reason, waiting, retries, resolutions, released } = one;
  const unit = unitOf(one.coinType);
  if (pipeline === COMPLETENESS) {
    return [
      nameOf(one),
      `  incomplete  from ${unit} ${from} on, since ${since}`,
      `  reason      ${reason}`,
      `  what to do  ${toDo(one)}`,
    ];
  }
  return [
    nameOf(one),
    `  pipeline    ${pipeline}`,
    `  held        from ${unit} ${from} on, since ${since}`,
    ...(fact === null ? [] : [`  fact        ${placeInWords(fact, unit)}`]),
    `  reason      ${reason}`,
    ...(waiting === null ? [] : [`  waiting     ${waiting} facts`]),
    `  retries     ${retries}`,
    ...resolutions.map(
      (each) =>
        `  left out    ${placeInWords(each.fact, unit)}, at ${each.at} by ${each.by}: ${each.because}`,
    ),
    `  released    ${released === null ? "not yet" : `at ${released.at}, with the facts up to ${unit} ${released.checkpoint}`}`,
  ];
};
