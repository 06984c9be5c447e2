/**
 * What the process that serves knows of the process that indexes: the last snapshot it was sent. The age
 * of the snapshot is known too, so that a process that hangs does not look healthy.
 */
import { Gauge, type Registry } from "prom-client";
import type { GaugeName } from "../../telemetry/catalogue.ts";
import type { Series } from "../../telemetry/figures.ts";
import { awakeMs } from "../../waiting/awake.ts";
import { registered } from "../registered.ts";
import type { EvmStanding } from "./evm-standing.ts";
import { GRACE_MS, type HealthDetail } from "./health.ts";
import { noteOf } from "./notes.ts";
import type { LocalProgress, Trouble } from "./progress.ts";

/** What only the process that indexes knows, as it is now. */
export type Snapshot = {
  readonly progress: LocalProgress;
  readonly evm: EvmStanding;
  /** Why it cannot write to the database, which still answers questions; absent while it can. */
  readonly unwritable?: Trouble | undefined;
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
const LATE_AFTER_MS = 3_000;

/**
 * @param pid of the process that indexes: it started this one
 * @param now milliseconds from any fixed point, while this process runs; replaced by tests
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
      // What troubled it before it fell silent is no reason for what does not move now.
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
        const said = { state: "stalled", ...noteOf(reason, sinceMs) };
        return { state: "stalled", members: { indexing: said } };
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
