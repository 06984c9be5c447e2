/** How far a divided backfill is: for the operator, metrics, and the note of its process. */
import type { GuideFrom } from "../ledger/reading/reader.ts";
import { rangesAhead } from "../log/ranges.ts";
import { NO_BULK } from "../values/bulk-progress.ts";

/** Workers take a few seconds to start. */
const QUIET_MS = 15_000;

/** The rate is that of this long: ranges come in bursts. */
const WINDOW_MS = 300_000;

type Shown = Pick<GuideFrom, "database" | "telemetry" | "onNews" | "onNotice" | "onProgress">;

/**
 * Shows where the log is with each call: figures, progress, and news once that no worker reads.
 * @param last last checkpoint of the backfill
 */
export const progressOf = (
  { database, telemetry, onNews, onNotice, onProgress }: Shown,
  { last, rateAt }: { readonly last: bigint; readonly rateAt: ReturnType<typeof paceFrom> },
) => {
  const beganMs = performance.now();
  let [isQuiet, reason] = [true, ""];
  return async (due: bigint): Promise<void> => {
    const ranges = await rangesAhead(database.sql);
    if (ranges === null) return;
    const { waitingRanges, readRanges, failedRanges, failure, workers } = ranges;
    const ratePerSecond = rateAt(due, performance.now());
    const secondsLeft =
      ratePerSecond > 0 ? Math.ceil(Number(last - due + 1n) / ratePerSecond) : null;
    const { figures } = telemetry;
    figures.set("holderbook_backfill_ranges", { state: "waiting" }, waitingRanges - failedRanges);
    figures.set("holderbook_backfill_ranges", { state: "read" }, readRanges);
    figures.set("holderbook_backfill_ranges", { state: "failed" }, failedRanges);
    figures.set("holderbook_backfill_workers", {}, workers);
    figures.set("holderbook_backfill_checkpoints_per_second", {}, ratePerSecond);
    figures.set("holderbook_backfill_left_seconds", {}, secondsLeft ?? Number.POSITIVE_INFINITY);
    const at = due === 0n ? null : `${due - 1n}`;
    onProgress({
      ...NO_BULK,
      backfill: { ...ranges, at, last: `${last}`, ratePerSecond, secondsLeft },
    });
    if (workers === 0 && isQuiet && performance.now() - beganMs > QUIET_MS) {
      isQuiet = false;
      onNews("no worker reads the ranges of this backfill: run `holderbook work backfill`");
    }
    if (failure !== null && failure !== reason) onNotice(`a range could not be read: ${failure}`);
    reason = failure ?? "";
  };
};

/** Checkpoints a second since the oldest look within the window, or the one before it. */
export const paceFrom = (from: bigint, beganMs: number) => {
  const looks = [{ at: from, ms: beganMs }];
  return (at: bigint, ms: number): number => {
    while (looks[1] !== undefined && looks[1].ms < ms - WINDOW_MS) looks.shift();
    looks.push({ at, ms });
    const [oldest = { at, ms }] = looks;
    return ms > oldest.ms ? (Number(at - oldest.at) * 1_000) / (ms - oldest.ms) : 0;
  };
};
