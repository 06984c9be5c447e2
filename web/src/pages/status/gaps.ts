/** Interruptions of the history: while no process indexed, there are no points. */
import type { StatusHistory } from "../../data/answers.ts";

export type Point = StatusHistory["points"][number];

const MINUTE_MS = 60_000;

/** Two points further apart have an interruption between them. */
const APART_MS = 150_000;

/** The points, with one that knows nothing in each interruption, so that no line is drawn over it. */
export const withGaps = (points: readonly Point[]): readonly Point[] =>
  points.flatMap((point, index) => {
    const before = points[index - 1];
    if (before === undefined || Date.parse(point.at) - Date.parse(before.at) <= APART_MS) {
      return [point];
    }
    const at = new Date(Date.parse(before.at) + MINUTE_MS).toISOString();
    // The rate over the interruption is none of any minute.
    return [
      { at, lagSeconds: {}, checkpointsPerSecond: null },
      { ...point, checkpointsPerSecond: null },
    ];
  });
