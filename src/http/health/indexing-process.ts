/**
 * What the process that serves knows of the process that indexes: the last snapshot it was sent. The age
 * of the snapshot is known too, so that a process that hangs does not look healthy.
 */
import { Gauge, type Registry } from "prom-client";
import type { GaugeName } from "../../telemetry/catalogue.ts";
import type { Series } from "../../telemetry/figures.ts";
import { registered } from "../registered.ts";
import type { EvmStanding } from "./evm-standing.ts";
import type { HealthDetail } from "./health.ts";
import type { LocalProgress } from "./progress.ts";

/** What only the process that indexes knows, as it is now. */
export type Snapshot = {
  readonly progress: LocalProgress;
  readonly evm: EvmStanding;
  /** Memory of that process. */
  readonly residentBytes: number;
  /** Its processor time since it started. */
  readonly cpuSeconds: number;
  /** How often the process that serves was started again. */
  readonly restarts: number;
  /** All that it counts. */
  readonly figures: readonly Series[];
};

export type IndexingProcess = {
  readonly progress: () => LocalProgress;
  readonly evm: () => EvmStanding;
  /** The member `indexing` of the health report. */
  readonly details: () => Promise<HealthDetail>;
  /** What it counted, as of its last snapshot. */
  readonly figures: () => readonly Series[];
  /** Figures about the process that indexes. */
  addMetrics(registry: Registry): void;
};

export type IndexingWatch = IndexingProcess & {
  /** A snapshot came. */
  take(snapshot: Snapshot): void;
};

/** A snapshot comes each second, and later when the process that sends it is busy. */
const SILENT_AFTER_MS = 10_000;

/** @param now milliseconds from any fixed point; replaced by tests */
export const watchIndexing = (
  first: Snapshot,
  now: () => number = () => performance.now(),
): IndexingWatch => {
  let last = { snapshot: first, atMs: now() };
  const silentMs = () => now() - last.atMs;
  const isSilent = () => silentMs() > SILENT_AFTER_MS;
  return {
    take: (snapshot) => {
      last = { snapshot, atMs: now() };
    },
    progress: () => last.snapshot.progress,
    evm: () => last.snapshot.evm,
    figures: () => last.snapshot.figures,
    details: async () => {
      if (!isSilent()) return { state: "ok", members: { indexing: { state: "ok" } } };
      const seconds = Math.floor(silentMs() / 1_000);
      const reason = `the process that indexes has not answered for ${seconds} s`;
      return { state: "stalled", members: { indexing: { state: "stalled", reason } } };
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
