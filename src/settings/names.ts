/**
 * Names that are nearly those of settings. A setting whose name is mistyped would be silently at its
 * default: with `LEDGER_SOURC` the demo ledger would be indexed in place of the one that was meant.
 */
import { distance } from "./edit-distance.ts";

/** Where names stand, and how near to a setting's one counts as mistyped there. */
export type Place = {
  /** Ends a sentence: `in .env`. */
  readonly where: string;
  /** Letters to be typed, left out, changed or swapped with the next, at the most. */
  readonly edits: number;
  /** Shorter names are left alone. */
  readonly shortest: number;
};

/** Everything in it is for this program. */
export const ENV_FILE: Place = { where: "in .env", edits: 2, shortest: 1 };

/** Most of it is other programs': only what can hardly be meant otherwise. */
export const ENVIRONMENT: Place = { where: "in the environment", edits: 1, shortest: 8 };

/** Names in common use that lie near a setting's: the shell's, Postgres's own, and other programs'. */
const OTHERS: ReadonlySet<string> = new Set([
  "HOME",
  "ROOT",
  "TEST",
  "PGHOST",
  "PGPORT",
  "DBHOST",
  "DBPORT",
  "LOGLEVEL",
  "DATABASE_URI",
  "REDIS_URI",
]);

/**
 * A line for each name that is probably a setting's, mistyped.
 *
 * @param names those that have a value
 * @param settings the names there are; none of them is ever mistyped
 */
export const mistyped = (
  names: Iterable<string>,
  settings: readonly string[],
  { where, edits, shortest }: Place,
): readonly string[] => {
  const known = new Set(settings);
  return [...names].flatMap((name) => {
    if (known.has(name) || OTHERS.has(name) || name.length < shortest) return [];
    const meant = nearest(name.toUpperCase(), settings, edits);
    return meant === undefined
      ? []
      : [`${name} ${where} is not a setting; correct it to ${meant}, or take it out`];
  });
};

const nearest = (name: string, settings: readonly string[], edits: number): string | undefined => {
  const near = settings.map((setting) => ({ setting, away: distance(name, setting, edits) }));
  const [best] = near.toSorted((a, b) => a.away - b.away);
  return best !== undefined && best.away <= edits ? best.setting : undefined;
};
