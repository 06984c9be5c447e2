/**
 * Reads guarded by the pipelines they need. Each statement itself checks for a rebuild, for held coins and, for the
 * past, that the checkpoint is committed: a separate check could see another snapshot.
 */
import { getTableName } from "drizzle-orm";
import { type Parameter, type Reads, read } from "../database/readers.ts";
import { logHighWater } from "../log/tables.ts";
import {
  type HeldCoins,
  type HeldIn,
  heldInPipeline,
  heldOf,
  QuarantinedError,
  type StoredHeld,
} from "./held-coins.ts";
import { COMPLETENESS, INCOMPLETE_HELD } from "./incomplete-coins.ts";
import { assertCommitted, type Committed, RebuildingError } from "./past.ts";
import type { ProgressTables } from "./progress-tables.ts";

/**
 * Its own statements read the present. All throw RebuildingError (wait) during a rebuild, and QuarantinedError (wait)
 * when a coin that they may read is held.
 */
export type GuardedReads = Reads & {
  /** Progress common to all pipelines, as of the first call. */
  committed(): Promise<Committed>;
  /** Statements as of a checkpoint's end; they throw as `assertCommitted` does. */
  at(checkpoint: bigint): GuardedReads;
  /** For statements that read this coin alone, or `NO_COIN`: held coins besides it do not matter. */
  ofCoin(coinType: string, options?: OfCoin): GuardedReads;
  /**
   * Statements of the present that end where a coin is held instead of throwing; each tells of all held coins. Rows of
   * an incomplete coin are in the tables beyond that: the caller withholds them.
   */
  upToHolds(onHeld: (held: readonly HeldIn[]) => void): Reads;
  readonly allowsStale: boolean;
};

export type OfCoin = {
  /**
   * While the coin is held, the last committed checkpoint is the one before, and no statement of the present throws; of
   * an incomplete coin it does.
   */
  readonly allowStale?: boolean | null | undefined;
};

/** Whose rows are read; undefined: perhaps those of any coin. */
type Asked = { readonly coinType: string; readonly allowsStale: boolean } | undefined;

/** As a pipeline that holds the incomplete coins. */
const INCOMPLETE = `
  (select json_build_object('pipeline', '${COMPLETENESS}', 'target', null, 'checkpoint', null, 'held', held)::text
   from (select ${INCOMPLETE_HELD} as held) as incomplete where held is not null)`;

/** SQL: JSON of each pipeline that is rebuilt or holds coins, one a line; null if none. */
const barringOf = (needed: readonly ProgressTables[]): string => {
  const each = needed.map(
    ({ watermark }) =>
      `(select json_build_object('pipeline', pipeline, 'target', rebuilding_to::text,
               'checkpoint', last_checkpoint::text, 'held', held)::text
        from ${getTableName(watermark)} where rebuilding_to is not null or held is not null)`,
  );
  return `nullif(concat_ws(e'\\n', ${[...each, INCOMPLETE].join(", ")}), '')`;
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
           sum(rebuilds)::int as "_rebuilds", ${barringOf(needed)} as "_barring"
    from (${each.join(" union all ")}) as needed`;
};

/** Guard columns of a present statement and of a past one. */
type Seen = { readonly _barring: string | null };
type SeenPast = Seen & {
  readonly _first: bigint | null;
  readonly _next: bigint;
  readonly _filled: boolean;
  readonly _rebuilds: number;
};

/** A pipeline that is rebuilt, or holds coins. */
type Barring = {
  readonly pipeline: string;
  readonly target: string | null;
  readonly checkpoint: string | null;
  readonly held: StoredHeld | null;
};

type Held = { readonly pipeline: string; readonly held: HeldCoins };

/**
 * Pipelines that hold coins.
 * @throws RebuildingError (wait)
 */
const heldWhereBuilt = (seen: Seen | undefined): readonly Held[] => {
  const barring: readonly Barring[] = (seen?._barring?.split("\n") ?? []).map((text) =>
    JSON.parse(text),
  );
  for (const { pipeline, target, checkpoint } of barring) {
    if (target === null) continue;
    throw new RebuildingError(
      pipeline,
      checkpoint === null ? null : BigInt(checkpoint),
      BigInt(target),
    );
  }
  return barring.map(({ pipeline, held }) => ({ pipeline, held: heldOf(held) }));
};

/** The held coins among those asked for. */
const heldOfAsked = (all: readonly Held[], asked: Asked) =>
  all.flatMap(({ pipeline, held }) =>
    [...held]
      .filter(([coinType]) => asked === undefined || asked.coinType === coinType)
      .map(([coinType, coin]) => ({ pipeline, coinType, coin })),
  );

/** @throws RebuildingError (wait), QuarantinedError (wait) when a coin is held from `at` on or earlier */
const assertServed = (seen: Seen | undefined, asked: Asked, at?: bigint): void => {
  for (const { pipeline, coinType, coin } of heldOfAsked(heldWhereBuilt(seen), asked)) {
    // The tables have an incomplete coin's rows beyond `from`, which a statement of the present would read.
    const endsBefore = asked?.allowsStale && pipeline !== COMPLETENESS;
    if (at === undefined ? endsBefore : at < coin.from) continue;
    throw new QuarantinedError(pipeline, coinType, coin);
  }
};

/** @throws RebuildingError (wait) */
const committedIn = (seen: SeenPast | undefined, asked?: Asked): Committed => {
  const held = heldWhereBuilt(seen);
  const { _first: first = null, _next = 0n, _filled: isFilled = true } = seen ?? {};
  const stale = asked?.allowsStale ? heldOfAsked(held, asked).map(({ coin }) => coin.from) : [];
  const [next = 0n] = [_next, ...stale].sort((a, b) => (a < b ? -1 : 1));
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
    present: guardedBy(`select ${barringOf(needed)} as "_barring"`),
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
  let seen: Promise<SeenPast | undefined> | undefined;
  const readsOf = (asked: Asked, at?: bigint): GuardedReads => ({
    ...(at === undefined
      ? reads(guards.present, (row) => assertServed(row, asked))
      : reads<SeenPast>(guards.past, (row) => {
          assertCommitted(at, committedIn(row));
          assertServed(row, asked, at);
        })),
    committed: async () => {
      seen ??= read<SeenPast>(on, guards.committed, []).then(([row]) => row);
      return committedIn(await seen, asked);
    },
    at: (checkpoint) => readsOf(asked, checkpoint),
    allowsStale: asked?.allowsStale ?? false,
    upToHolds: (onHeld) =>
      reads(guards.present, (row) => {
        onHeld(heldWhereBuilt(row).flatMap(({ pipeline, held }) => heldInPipeline(pipeline, held)));
      }),
    ofCoin: (coinType, { allowStale } = {}) =>
      readsOf({ coinType, allowsStale: allowStale === true }, at),
  });
  return readsOf(undefined);
};
