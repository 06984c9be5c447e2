/**
 * The indexing process as the serving process knows it: its last snapshot, and that snapshot's age.
 */
import { Gauge, type Registry } from "prom-client";
import { GRACE_MS, type HealthDetail, noteOf } from "../../http/health/health.ts";
import { registered } from "../../http/metrics.ts";
import type { GaugeName } from "../../telemetry/catalogue.ts";
import type { Series } from "../../telemetry/figures.ts";
import { awakeMs } from "../../waiting/awake.ts";
import type { EvmReading, LocalProgress, Snapshot } from "./snapshot.ts";

export type IndexingProcess = {
  readonly progress: () => LocalProgress;
  readonly evm: () => EvmReading;
  /** The member `indexing` of the health report. */
  readonly details: () => Promise<HealthDetail>;
  /** Its metrics as of the last snapshot. */
  readonly figures: () => readonly Series[];
  /** Adds metrics about the indexing process. */
  addMetrics(registry: Registry): void;
};

export type IndexingWatch = IndexingProcess & {
  take(snapshot: Snapshot): void;
};

/** A snapshot comes each second, later when the sender is busy. */
const LATE_AFTER_MS = 3_000;

/**
 * @param now milliseconds while this process runs; replaced by tests
 * @param pid of the indexing process, by default the parent
 */
export const watchIndexing = (
  first: Snapshot,
  now: () => number = awakeMs,
  pid: number = process.ppid,
): IndexingWatch => {
  let last = { snapshot: first, atMs: now() };
  const silentMs = () => now() - last.atMs;
  const isSilent = () => silentMs() > GRACE_MS;
  const silence = () => {
    const seconds = Math.floor(silentMs() / 1_000);
    return noteOf(
      `the process that indexes (pid ${pid}) has not answered for ${seconds} s`,
      Date.now() - silentMs(),
    );
  };
  return {
    take: (snapshot) => {
      last = { snapshot, atMs: now() };
    },
    progress: () => {
      const { progress } = last.snapshot;
      if (!isSilent()) return progress;
      // Trouble reported before the silence does not explain a stall now.
      return { ...progress, process: { gaveUp: false, reason: silence().reason } };
    },
    evm: () => last.snapshot.evm,
    figures: () => last.snapshot.figures,
    details: async () => {
      if (isSilent()) {
        return { state: "stalled", members: { indexing: { state: "stalled", ...silence() } } };
      }
      const { unwritable } = last.snapshot;
      if (unwritable !== undefined) {
        const { reason, sinceMs = Date.now() } = unwritable;
        const trouble = { state: "stalled", ...noteOf(reason, sinceMs) };
        return { state: "stalled", members: { indexing: trouble } };
      }
      const notes = silentMs() > LATE_AFTER_MS ? [silence()] : [];
      return { state: "ok", members: { indexing: { state: "ok" } }, notes };
    },
    addMetrics: (registry) => {
      const gauge = (name: GaugeName, value: () => number) =>
        new Gauge({
          ...registered(name),
          registers: [registry],
          collect() {
            this.set(value());
          },
        });
      gauge("holderbook_indexing_process_up", () => (isSilent() ? 0 : 1));
      gauge("holderbook_indexing_process_resident_memory_bytes", () => last.snapshot.residentBytes);
      gauge("holderbook_indexing_process_cpu_seconds", () => last.snapshot.cpuSeconds);
      gauge("holderbook_serving_process_restarts", () => last.snapshot.restarts);
    },
  };
};
