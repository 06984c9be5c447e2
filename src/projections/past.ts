/**
 * How a past checkpoint may be asked for: what the pipelines that an answer needs have committed, and
 * from where on the log has it. What was once answered for a checkpoint never changes.
 */
import { getTableName } from "drizzle-orm";
import { type Parameter, type Reads, read } from "../database/readers.ts";
import { logHighWater } from "../log/tables.ts";
import type { Remedy } from "../waiting/remedy.ts";
import type { WatermarkTable } from "./watermark.ts";

/** Layouts in which a pipeline's tables have a past: see `watermarkTable`. */
export const LAYOUT_WITH_PAST = 2;

/** A pipeline that an answer needs. */
export type Needed = {
  readonly name: string;
  readonly watermark: WatermarkTable;
  /** Whether its answers about the past stand in tables of layout 2. */
  readonly hasLayout: boolean;
};

/** How far some pipelines are, all of them together. */
export type Committed = {
  /** Where the log begins; null before a reader ever opened it. */
  readonly first: bigint | null;
  /** The last checkpoint that all of them have committed; null before the first. */
  readonly last: bigint | null;
  /** False while tables that an upgrade added are being filled. */
  readonly isFilled: boolean;
};

const statements = new WeakMap<readonly Needed[], string>();

const statementFor = (needed: readonly Needed[]): string => {
  const each = needed.map(({ watermark, hasLayout }) => {
    const name = getTableName(watermark);
    const layout = hasLayout ? `coalesce((select layout from ${name}), ${LAYOUT_WITH_PAST})` : "2";
    return `select coalesce((select next_checkpoint from ${name}), 0) as next, ${layout} as layout`;
  });
  return `
    select (select first_checkpoint from ${getTableName(logHighWater)}) as first,
           min(next) as next, min(layout) >= ${LAYOUT_WITH_PAST} as "isFilled"
    from (${each.join(" union all ")}) as needed`;
};

/** What `statementFor` selects. */
type Told = {
  readonly first: bigint | null;
  readonly next: bigint;
  readonly isFilled: boolean;
};

const committedOf = (told: Told | undefined): Committed => {
  const { first = null, next = 0n, isFilled = true } = told ?? {};
  const hasAny = first !== null && next > first;
  return { first, last: hasAny ? next - 1n : null, isFilled };
};

const textOf = (needed: readonly Needed[]): string => {
  const text = statements.get(needed) ?? statementFor(needed);
  statements.set(needed, text);
  return text;
};

/** How far these pipelines are: one statement. */
export const readCommitted = async (on: Reads, needed: readonly Needed[]): Promise<Committed> =>
  committedOf((await read<Told>(on, textOf(needed), []))[0]);

/** Texts that were given the watermarks to read, by the pipelines and by themselves. */
const withWatermarks = new WeakMap<readonly Needed[], Map<string, string>>();

const withWatermarksOf = (needed: readonly Needed[], text: string): string => {
  const known = withWatermarks.get(needed) ?? new Map<string, string>();
  withWatermarks.set(needed, known);
  const found = known.get(text);
  if (found !== undefined) return found;
  const made = `
    select told.first as "_first", told.next as "_next", told."isFilled" as "_filled", answer.*
    from (${textOf(needed)}) as told
    -- One row comes always: also of no rows it is to be known whether they can be told.
    left join lateral (select true as "_found", rows.* from (${text}) as rows) as answer on true`;
  known.set(text, made);
  return made;
};

type WithWatermarks = {
  readonly _first: bigint | null;
  readonly _next: bigint;
  readonly _filled: boolean;
  readonly _found: boolean | null;
};

/**
 * Reads about a checkpoint whose statements see, each in itself, whether it can be answered for: a past
 * answer then takes one statement. They throw as `assertCommitted` does.
 */
export const committedReads = (
  on: Reads,
  needed: readonly Needed[],
  checkpoint: bigint,
): Reads => ({
  sql: {
    unsafe: async <Row extends object>(
      text: string,
      parameters: Parameter[],
      options: { readonly prepare: true },
    ): Promise<Row[]> => {
      const rows = await on.sql.unsafe<Row & WithWatermarks>(
        withWatermarksOf(needed, text),
        parameters,
        options,
      );
      const [row] = rows;
      const told = row && { first: row._first, next: row._next, isFilled: row._filled };
      assertCommitted(checkpoint, committedOf(told));
      return row?._found ? rows : [];
    },
  },
});

/** What was asked for is not committed yet, or not known yet. Ask again later. */
export class NotYetIndexedError extends Error {
  override readonly name = "NotYetIndexedError";
  readonly remedy: Remedy = "wait";
}

export const STILL_FILLING =
  "the history of this database is still being filled in from its log; _meta tells how far";

/** The log does not reach back as far as was asked for. Ask for a later checkpoint. */
export class BeforeLogError extends Error {
  override readonly name = "BeforeLogError";
  readonly remedy: Remedy = "stop";

  constructor(asked: string, first: bigint) {
    super(`${asked} lies before the log begins, at checkpoint ${first}`);
  }
}

/**
 * Refuses a checkpoint that cannot be answered for.
 * @throws NotYetIndexedError (wait) naming the last checkpoint that can
 * @throws BeforeLogError (stop)
 */
export const assertCommitted = (checkpoint: bigint, { first, last, isFilled }: Committed): void => {
  if (first !== null && checkpoint < first) {
    throw new BeforeLogError(`checkpoint ${checkpoint}`, first);
  }
  if (last === null || checkpoint > last) {
    const reached = last === null ? "none is" : `the last one is ${last}`;
    throw new NotYetIndexedError(`checkpoint ${checkpoint} is not indexed yet; ${reached}`);
  }
  if (!isFilled) {
    throw new NotYetIndexedError(STILL_FILLING);
  }
};
