/** How long faults last: for a drawn time, or until `/health` says what is wrong. */
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../lanes/until.ts";
import type { Random } from "../seeded-random.ts";
import type { World } from "./world.ts";

/** A fault that lasts is seen within a minute, and what that takes on a busy machine. */
const SHOWN_WITHIN_MS = 80_000;

/** A drawn time, in ms. */
export const lasting = (random: Random, least: number, most: number): Promise<void> =>
  delay(least + random(most - least));

/** A wrong answer is given up, and asked for again, within this time. */
const MET_WITHIN_MS = 60_000;

/** Begins to misbehave, until a reader has met it up to `most` times; returns how often it was met by now. */
export const untilMet = async (
  random: Random,
  most: number,
  begin: (met: () => void) => void,
): Promise<() => number> => {
  let met = 0;
  begin(() => {
    met += 1;
  });
  const times = 1 + random(most);
  await until(
    `a reader that met it ${times} times`,
    () => met,
    (seen) => seen >= times,
    MET_WITHIN_MS,
  );
  return () => met;
};

/** Waits until `/health` is `stalled`, with this among its reasons. */
export const shownAs = async (
  { health }: World,
  process: "start" | "serve",
  reason: RegExp,
): Promise<void> => {
  await until(
    `health of ${process} that is stalled for ${reason}`,
    () => health[process].last(),
    ({ status, text }) => status === "stalled" && reason.test(text),
    SHOWN_WITHIN_MS,
  );
};

/** One of these. */
export const oneOf = <T>(random: Random, first: T, ...others: readonly T[]): T =>
  [first, ...others][random(others.length + 1)] ?? first;
