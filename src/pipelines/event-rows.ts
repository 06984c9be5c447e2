import type { EventFact, Fact } from "../log/fact.ts";
import { positionOf } from "../projections/position.ts";
import { coinTypeOf, contentsOf } from "./undecodable-fact.ts";

/** What every row of an event says: which coin's log it is in, where it stands, when and where it happened. */
export type EventPlace = {
  readonly coinType: string;
  readonly position: bigint;
  readonly txDigest: string;
  readonly timestampMs: bigint;
};

/**
 * Reads one type of event: what its row says beyond its place, or null when it makes no row. Throws when
 * the contents do not fit.
 */
export type EventReader<Columns> = (contents: Uint8Array, event: EventFact) => Columns | null;

/**
 * Rows of a batch's events: what `readers`, by the name of the event, read in each, and its place.
 * Facts of other names give no row.
 * @throws UndecodableFactError (stop) naming the event
 */
export const eventRows = <Columns>(
  pipeline: string,
  facts: readonly Fact[],
  readers: Readonly<Record<string, EventReader<Columns>>>,
): (Columns & EventPlace)[] => {
  const rows = [];
  for (const fact of facts) {
    const read = fact.kind === "event" ? readers[fact.name] : undefined;
    if (fact.kind !== "event" || read === undefined) continue;
    const said = contentsOf(pipeline, fact, (contents) => read(contents, fact));
    if (said !== null) rows.push({ ...placeOf(pipeline, fact), ...said });
  }
  return rows;
};

const placeOf = (pipeline: string, fact: EventFact): EventPlace => ({
  coinType: coinTypeOf(pipeline, fact),
  position: positionOf(fact),
  txDigest: fact.txDigest,
  timestampMs: fact.timestampMs,
});
