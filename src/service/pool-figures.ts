/** How full the pools of connections of this process are. */
import type { PoolLoad } from "../database/session-pool.ts";
import type { Figures } from "../telemetry/figures.ts";
import type { ProcessName } from "../telemetry/process-figures.ts";
import type { Storage } from "./storage.ts";

/** Shows them from now on, as often as figures are looked at. */
export const watchPools = (
  figures: Figures,
  process: ProcessName,
  { write, readers }: Pick<Storage, "write" | "readers">,
): void => {
  const show = (pool: string, { busy, most, waiting }: PoolLoad) => {
    figures.set("holderbook_database_connections_busy", { process, pool }, busy);
    figures.set("holderbook_database_connections_most", { process, pool }, most);
    figures.set("holderbook_database_waiting", { process, pool }, waiting);
  };
  figures.beforeLook(() => {
    show("write", write.load);
    for (const [pool, load] of Object.entries(readers.load)) show(pool, load);
  });
};
