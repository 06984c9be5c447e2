/** What every process counts of itself, besides what Node's own metrics say. */
import { statfs } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import type { Figures } from "./figures.ts";

/** Of the two processes of `start`; one that does both alone counts as the one that is named first. */
export type ProcessName = "indexing" | "serving";

/** A timer of a higher rate would see shorter lags, and wake an idle process for them. */
const LAG_EVERY_MS = 500;

/**
 * Counts how busy the event loop is and how late it comes, until disposed of.
 * @param dataDir where the embedded database is, for the room on its disk; undefined: not looked at
 */
export const watchProcess = (
  figures: Figures,
  { process, dataDir }: { readonly process: ProcessName; readonly dataDir?: string | undefined },
): Disposable => {
  let countedMs = 0;
  figures.beforeLook(() => {
    const { active } = performance.eventLoopUtilization();
    figures.count(
      "holderbook_event_loop_active_seconds_total",
      { process },
      (active - countedMs) / 1_000,
    );
    countedMs = active;
  });
  if (dataDir !== undefined) figures.beforeLook(diskNotes(figures, dataDir));
  let dueMs = performance.now() + LAG_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    const lag = Math.max(0, now - dueMs) / 1_000;
    figures.observe("holderbook_event_loop_lag_seconds", { process }, lag);
    dueMs = now + LAG_EVERY_MS;
  }, LAG_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
};

/** Not waited for: a disk that hangs must not hold up the figures that say so. */
const diskNotes = (figures: Figures, dataDir: string) => {
  let isAsked = false;
  const note = async () => {
    try {
      const { bsize, blocks, bavail } = await statfs(dataDir);
      figures.set("holderbook_data_disk_bytes", {}, bsize * blocks);
      figures.set("holderbook_data_disk_free_bytes", {}, bsize * bavail);
    } catch {
      // Without the folder there is nothing on that disk to run out of room.
    }
    isAsked = false;
  };
  return () => {
    if (isAsked) return;
    isAsked = true;
    void note();
  };
};
