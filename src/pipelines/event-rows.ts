import type { EventFact, Fact } from "../log/fact.ts";
import { positionOf } from "../projections/position.ts";
import { coinTypeOf, contentsOf } from "./undecodable-fact.ts";

/** Columns that every event row has. */
export type EventPlace = {
  readonly coinType: string;
  readonly position: bigint;
  readonly txDigest: string;
  readonly timestampMs: bigint;
};

/** Decodes one type of event into the other columns of its row; null: no row. Throws when the contents do not fit. */
export type EventReader<Columns> = (contents: Uint8Array, event: EventFact) => Columns | null;

/**
 * Rows of a batch's events. Facts whose name has no reader give no row.
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
    const columns = contentsOf(pipeline, fact, (contents) => read(contents, fact));
    if (columns !== null) rows.push({ ...placeOf(pipeline, fact), ...columns });
  }
  return rows;
};

const placeOf = (pipeline: string, fact: EventFact): EventPlace => ({
  coinType: coinTypeOf(pipeline, fact),
  position: positionOf(fact),
  txDigest: fact.txDigest,
  timestampMs: fact.timestampMs,
});
