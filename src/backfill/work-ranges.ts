/**
 * A worker: reads the ranges that the queue names and keeps what they have. Any number of them may
 * run, die or repeat each other's work; the first result of a range counts.
 */
import { hostname } from "node:os";
import type { Database } from "../database/connect.ts";
import type { Queues } from "../lanes/queues.ts";
import { readHighWater } from "../log/high-water.ts";
import { type CheckpointSpan, failRange, keepRange, takeRange } from "../log/ranges.ts";
import { errorOf } from "../waiting/remedy.ts";
import { BACKFILL_QUEUE } from "./join-ranges.ts";

/** Reads one range. */
export type RangeReader = (
  range: CheckpointSpan,
  packages: readonly string[],
  signal: AbortSignal,
) => Promise<{ readonly content: Uint8Array; readonly rawBytes: number }>;

type Working = {
  readonly database: Database;
  readonly queues: Pick<Queues, "worker">;
  readonly read: RangeReader;
  /** Ranges read at the same time. */
  readonly concurrency: number;
  readonly onRead: (range: CheckpointSpan, result: { readonly rawBytes: number }) => void;
  readonly onFailed: (range: CheckpointSpan, error: Error) => void;
};

/** A killed worker's ranges go to others after this long; one range may hold up all behind it. */
const LOST_AFTER_MS = 10_000;

/** As HOST:PID, to tell workers apart. */
export const workerName = (): string => `${hostname()}:${process.pid}`;

/** Takes ranges until closed; disposal ends what is under way. */
export const workRanges = ({ database, queues, ...working }: Working) => {
  const { sql } = database;
  const worker = workerName();
  const run = async (first: bigint, signal: AbortSignal): Promise<void> => {
    const log = await readHighWater(sql);
    const range = log && (await takeRange(sql, first, worker));
    if (log === undefined || !range) return;
    try {
      const result = await working.read(range, log.packages, signal);
      const { packages } = (await readHighWater(sql)) ?? log;
      // One joined meanwhile. The process that appends would refuse what was under way, one after the other.
      if (packages.length > log.packages.length) return await run(first, signal);
      await keepRange(sql, range, { ...result, worker });
      working.onRead(range, result);
    } catch (thrown) {
      if (signal.aborted) return;
      const error = errorOf(thrown);
      working.onFailed(range, error);
      // Without the database the row stays as it is, and the range is named again.
      const reason = `${error.name}: ${error.message}`;
      await failRange(sql, first, { reason, worker }).catch(() => undefined);
    }
  };
  const { concurrency } = working;
  return queues.worker(BACKFILL_QUEUE, { concurrency, run, lostAfterMs: LOST_AFTER_MS });
};
