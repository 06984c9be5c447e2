/** Logs of events by coin type, as they can be followed: what a subscription is made over. */
import type { PgTable } from "drizzle-orm/pg-core";
import type { Reads } from "../database/readers.ts";
import type { MaybePromise } from "../database/remembered.ts";
import {
  type AcrossRange,
  type AcrossStatements,
  newestAcross,
} from "../projections/across-coins.ts";
import { endStatements, grownBeyond, newestPosition, type ReadTo } from "../projections/beyond.ts";
import type { Needed } from "../projections/guarded-reads.ts";

/** What logs are read with; the same for all who follow. */
export type LogReads = {
  readonly reads: Reads;
  /** See `GraphSources`. */
  readonly packages: () => MaybePromise<readonly string[]>;
};

/**
 * A log of events by coin type: written once, in the order of their places, never before a place that was
 * readable already.
 */
export type EventLog<Row, Place> = {
  /** Pipelines that write it: what is in it changes only when one of them commits. */
  readonly pipelines: readonly Needed[];
  /** Events behind a place, in order; from the beginning without one. */
  page(
    from: LogReads,
    coinType: string,
    after: Place | undefined,
    limit: number,
  ): Promise<readonly Row[]>;
  /** Place of the last event; undefined while there is none. */
  newest(from: LogReads, coinType: string): Promise<Place | undefined>;
  /** Those of these coin types that may have events behind what was read. */
  grown(from: LogReads, ends: readonly End<Place>[]): Promise<ReadonlySet<string>>;
  placeOf(row: Row): Place;
  /** Below 0 when the first comes first. */
  compare(one: Place, other: Place): number;
  /** As callers write it in `after`. */
  show(place: Place): string;
};

/**
 * The same log across coin types: as one topic (whose name is `ALL_COINS`) of all of them, in chain order; pages of
 * a few are read by themselves.
 */
export type AcrossLog<Row, Place> = EventLog<Row, Place> & {
  pageOf(
    from: LogReads,
    range: {
      readonly coinTypes: readonly string[];
      readonly after: Place | undefined;
      readonly limit: number;
    },
  ): Promise<readonly Row[]>;
};

/** In the place of a coin type; no coin type is empty. */
export const ALL_COINS = "";

/** How far a coin type's log was read. */
export type End<Place> = { readonly coinType: string; readonly after: Place | undefined };

/** Whether a place lies before another one; undefined is before all. */
export const isBefore = <Place>(
  { compare }: Pick<EventLog<never, Place>, "compare">,
  one: Place | undefined,
  other: Place | undefined,
): boolean => other !== undefined && (one === undefined || compare(one, other) < 0);

/** The log of a table with one event at a position. */
export const logByPosition = <Row extends { readonly position: bigint }>(
  pipelines: readonly Needed[],
  table: PgTable,
  page: EventLog<Row, bigint>["page"],
): EventLog<Row, bigint> => {
  const ends = endStatements([table]);
  return {
    pipelines,
    page,
    newest: ({ reads }, coinType) => newestPosition(reads, ends, coinType),
    grown: ({ reads }, read) => grownBeyond(reads, ends, read.map(readTo)),
    ...BY_POSITION,
  };
};

/** The log of a table with one event at a position, across coin types. */
export const acrossByPosition = <Row extends { readonly position: bigint }>(
  pipelines: readonly Needed[],
  statements: AcrossStatements,
  page: (from: LogReads, range: AcrossRange) => Promise<readonly Row[]>,
): AcrossLog<Row, bigint> => ({
  pipelines,
  page: (from, _all, after, limit) => page(from, { after, limit }),
  pageOf: page,
  newest: ({ reads }) => newestAcross(reads, statements),
  ...OF_ONE_TOPIC,
  ...BY_POSITION,
});

/** There is nothing to choose from: what is new is of all coins. */
export const OF_ONE_TOPIC = { grown: async () => new Set([ALL_COINS]) };

const BY_POSITION = {
  placeOf: ({ position }: { readonly position: bigint }) => position,
  compare: (one: bigint, other: bigint) => (one < other ? -1 : Number(one > other)),
  show: String,
};

const readTo = ({ coinType, after }: End<bigint>): ReadTo => ({ coinType, position: after });

/** An event on its way to those who follow: what is made of it for one is kept for all. */
export class Live<Row> {
  readonly row: Row;
  /** Its place, as callers write it in `after`; undefined where there is nothing to go on from. */
  readonly at: string | undefined;
  /** As it is sent, by the operation that it is sent for. */
  readonly frames = new Map<object, MaybePromise<Buffer>>();

  constructor(row: Row, at: string | undefined) {
    this.row = row;
    this.at = at;
  }
}
