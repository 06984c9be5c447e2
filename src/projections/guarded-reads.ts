/**
 * Reads guarded by the pipelines they need. Each statement itself checks for a rebuild and, for the
 * past, that the checkpoint is committed: a separate check could see another snapshot.
 */
import { getTableName } from "drizzle-orm";
import { type Parameter, type Reads, read } from "../database/readers.ts";
import { logHighWater } from "../log/tables.ts";
import { assertCommitted, type Committed, RebuildingError } from "./past.ts";
import type { ProgressTables } from "./progress-tables.ts";

/** Its own statements read the present. All throw RebuildingError (wait) during a rebuild. */
export type GuardedReads = Reads & {
  /** Progress common to all pipelines, as of the first call. */
  committed(): Promise<Committed>;
  /** Statements as of a checkpoint's end; they throw as `assertCommitted` does. */
  at(checkpoint: bigint): Reads;
};

/** The first pipeline under rebuild: name, target and last checkpoint; null if none. */
const rebuildingOf = (needed: readonly ProgressTables[]): string => {
  const each = needed.map(
    ({ watermark }) =>
      `(select concat(pipeline, ' ', rebuilding_to, ' ', last_checkpoint)
        from ${getTableName(watermark)} where rebuilding_to is not null)`,
  );
  return `coalesce(${each.join(", ")}) as "_rebuilding"`;
};

const committedOf = (needed: readonly ProgressTables[]): string => {
  const each = needed.map(
    ({ watermark, pastSince }) =>
      `select coalesce(max(next_checkpoint), 0) as next, coalesce(max(rebuilds), 0) as rebuilds,
              coalesce(max(layout) >= ${pastSince}, true) as filled
       from ${getTableName(watermark)}`,
  );
  return `
    select (select first_checkpoint from ${getTableName(logHighWater)}) as "_first",
           min(next) as "_next", bool_and(filled) as "_filled",
           sum(rebuilds)::int as "_rebuilds", ${rebuildingOf(needed)}
    from (${each.join(" union all ")}) as needed`;
};

/** Guard columns of a present statement and of a past one. */
type Seen = { readonly _rebuilding: string | null };
type SeenPast = Seen & {
  readonly _first: bigint | null;
  readonly _next: bigint;
  readonly _filled: boolean;
  readonly _rebuilds: number;
};

/** @throws RebuildingError (wait) */
const assertBuilt = (seen: Seen | undefined): void => {
  const [pipeline, target, checkpoint] = seen?._rebuilding?.split(" ") ?? [];
  if (pipeline !== undefined && target !== undefined) {
    throw new RebuildingError(pipeline, checkpoint ? BigInt(checkpoint) : null, BigInt(target));
  }
};

/** @throws RebuildingError (wait) */
const committedIn = (seen: SeenPast | undefined): Committed => {
  assertBuilt(seen);
  const { _first: first = null, _next: next = 0n, _filled: isFilled = true } = seen ?? {};
  const hasAny = first !== null && next > first;
  return { first, last: hasAny ? next - 1n : null, isFilled, rebuilds: seen?._rebuilds ?? 0 };
};

type Guards = {
  readonly committed: string;
  readonly present: (text: string) => string;
  readonly past: (text: string) => string;
};

const known = new Map<string, Guards>();

const guardsOf = (needed: readonly ProgressTables[]): Guards => {
  const names = needed.map(({ name }) => name).join(" ");
  const found = known.get(names);
  if (found !== undefined) return found;
  const committed = committedOf(needed);
  const made = {
    committed,
    present: guardedBy(`select ${rebuildingOf(needed)}`),
    past: guardedBy(committed),
  };
  known.set(names, made);
  return made;
};

const guardedBy = (guard: string) => {
  const texts = new Map<string, string>();
  return (text: string): string => {
    const found = texts.get(text);
    if (found !== undefined) return found;
    // Always one row, so that an empty result carries what the guard sees.
    const made = `
      select guard.*, answer.* from (${guard}) as guard
      left join lateral (select true as "_found", rows.* from (${text}) as rows) as answer on true`;
    texts.set(text, made);
    return made;
  };
};

export const guardedReads = (on: Reads, needed: readonly ProgressTables[]): GuardedReads => {
  const guards = guardsOf(needed);
  const reads = <See extends Seen>(
    guarded: (text: string) => string,
    check: (seen: See | undefined) => void,
  ): Reads => ({
    sql: {
      unsafe: async <Row extends object>(
        text: string,
        parameters: Parameter[],
        options: { readonly prepare: true },
      ): Promise<Row[]> => {
        const rows = await on.sql.unsafe<Row & See & { readonly _found: boolean | null }>(
          guarded(text),
          parameters,
          options,
        );
        check(rows[0]);
        return rows[0]?._found ? rows : [];
      },
    },
  });
  let committed: Promise<Committed> | undefined;
  return {
    ...reads(guards.present, assertBuilt),
    committed: () => {
      committed ??= read<SeenPast>(on, guards.committed, []).then(([seen]) => committedIn(seen));
      return committed;
    },
    at: (checkpoint) =>
      reads<SeenPast>(guards.past, (seen) => assertCommitted(checkpoint, committedIn(seen))),
  };
};
