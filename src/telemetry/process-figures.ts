/** Metrics of every process, besides those of Node. */
import { statfs } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import type { Figures } from "./figures.ts";

/** The two processes of `start`; a process that does both is `indexing`. */
export type ProcessName = "indexing" | "serving";

/** A higher rate would wake an idle process too often. */
const LAG_EVERY_MS = 500;

/**
 * Measures event loop use and lag until disposed.
 * @param dataDir folder of the embedded database, to measure free disk space
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

/** Not awaited: a hanging disk must not block the metrics. */
const diskNotes = (figures: Figures, dataDir: string) => {
  let isAsked = false;
  const note = async () => {
    try {
      const { bsize, blocks, bavail } = await statfs(dataDir);
      figures.set("holderbook_data_disk_bytes", {}, bsize * blocks);
      figures.set("holderbook_data_disk_free_bytes", {}, bsize * bavail);
    } catch {
      // No folder, no disk to watch.
    }
    isAsked = false;
  };
  return () => {
    if (isAsked) return;
    isAsked = true;
    void note();
  };
};
