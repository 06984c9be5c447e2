/**
 * How far the log and every pipeline are, looked at directly in Postgres all the time: none may go back, but after a
 * crash of Postgres, when a pipeline may lose what it committed in the last moments.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../src/database/connect.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { lowest as lowestOf } from "../../src/values/bigints.ts";

const LOOK_EVERY_MS = 100;
/** Postgres writes what it need not wait for within three rounds of 200 ms; the rest is for a busy machine. */
const MAY_LOSE_MS = 2_000;

/** Next checkpoint by pipeline; the log's under an empty name. */
type Marks = ReadonlyMap<string, bigint>;

type Look = { readonly atMs: number; readonly marks: Marks };

/** Whatever was found wrong stays so. */
export type MarksWatch = AsyncDisposable & {
  /** The lowest mark at the last look. */
  lowest(): bigint;
  /** When the lowest mark last moved, `performance.now()`. */
  movedMs(): number;
  /** From now on Postgres may crash, until the function returned is called. */
  mayCrash(): () => void;
  /** Steps back beyond what a crash may cost. */
  readonly stepsBack: readonly string[];
};

export const watchMarks = (database: Database): MarksWatch => {
  const stepsBack: string[] = [];
  /** Of the last seconds, oldest first. */
  let looks: Look[] = [];
  /** When Postgres was last known to run without a crash since. */
  let crashableUntilMs = Number.NEGATIVE_INFINITY;
  let lowest = -1n;
  let movedMs = performance.now();
  let isOver = false;

  const compare = (now: Look) => {
    const last = looks.at(-1);
    if (last === undefined) return;
    const mayHaveCrashed = crashableUntilMs >= last.atMs;
    // The newest look whose commits had reached the disk by the last one.
    const kept = mayHaveCrashed
      ? (looks.findLast(({ atMs }) => atMs < last.atMs - MAY_LOSE_MS) ?? looks[0])
      : last;
    for (const [name, next] of now.marks) {
      // The log waits for the disk.
      const least = (name === "" ? last : kept)?.marks.get(name) ?? -1n;
      if (next < least) {
        const what = name === "" ? "the log" : name;
        stepsBack.push(
          `${what} went back from ${least} to ${next}${mayHaveCrashed ? " in a crash" : ""}`,
        );
      }
    }
  };

  const look = async () => {
    const { log, pipelines } = await readWatermarks(database.db, ledgerPipelines);
    const marks = new Map(
      [log, ...pipelines].map(({ pipeline, next }) => [pipeline, next ?? -1n] as const),
    );
    const now = { atMs: performance.now(), marks };
    compare(now);
    looks = [...looks.filter(({ atMs }) => atMs > now.atMs - 30_000), now];
    const least = lowestOf(log.next ?? -1n, ...marks.values());
    if (least > lowest) movedMs = now.atMs;
    lowest = least;
  };

  const looking = (async () => {
    while (!isOver) {
      // Before the migration there are no marks, and while Postgres is away none are seen.
      await look().catch(() => undefined);
      await delay(LOOK_EVERY_MS);
    }
  })();
  return {
    lowest: () => lowest,
    movedMs: () => movedMs,
    mayCrash: () => {
      crashableUntilMs = Number.POSITIVE_INFINITY;
      return () => {
        crashableUntilMs = performance.now();
      };
    },
    stepsBack,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await looking;
    },
  };
};
