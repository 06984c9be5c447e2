/** Finds mistyped settings: ignoring `LEDGER_SOURC` would silently index the demo ledger. */

type NameCheck = {
  /** Ends a sentence: `in .env`. */
  readonly where: string;
  /** Most edits between a mistyped name and a setting. */
  readonly edits: number;
  /** Shorter names are ignored. */
  readonly shortest: number;
};

/** Every name in it is for this program. */
export const ENV_FILE: NameCheck = { where: "in .env", edits: 2, shortest: 1 };

/** Most names belong to other programs: report only clear cases. */
export const ENVIRONMENT: NameCheck = { where: "in the environment", edits: 1, shortest: 8 };

/** Common names close to a setting, of the shell, Postgres and other programs. */
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
 * Returns a line for each probably mistyped name.
 * @param names those with a value
 */
export const mistyped = (
  names: Iterable<string>,
  settings: readonly string[],
  { where, edits, shortest }: NameCheck,
): readonly string[] => {
  const known = new Set(settings);
  return [...names].flatMap((name) => {
    if (known.has(name) || OTHERS.has(name) || name.length < shortest) return [];
    const suggestion = nearest(name.toUpperCase(), settings, edits);
    return suggestion === undefined
      ? []
      : [`${name} ${where} is not a setting; correct it to ${suggestion}, or remove it`];
  });
};

const nearest = (name: string, settings: readonly string[], edits: number): string | undefined => {
  const near = settings.map((setting) => ({ setting, away: distance(name, setting, edits) }));
  const [best] = near.toSorted((a, b) => a.away - b.away);
  return best !== undefined && best.away <= edits ? best.setting : undefined;
};

/**
 * Edit distance: letters inserted, deleted, replaced, or swapped with their neighbour.
 * @param most larger distances are returned as `most + 1`
 */
export const distance = (from: string, to: string, most: number): number => {
  if (Math.abs(from.length - to.length) > most) return most + 1;
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = (last[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
          ? (beforeLast[j - 2] ?? 0) + 1
          : Number.POSITIVE_INFINITY;
      row.push(Math.min(changed, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return Math.min(last[to.length] ?? 0, most + 1);
};
