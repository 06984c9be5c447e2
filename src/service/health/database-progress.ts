/** Progress read from the database: correct in every process, indexing or serving. */
import type { Db } from "../../database/connect.ts";
import type { Progress } from "../../http/health/progress.ts";
import { readSource } from "../../log/log-source.ts";
import type { ProgressTables } from "../../projections/progress-tables.ts";
import { readWatermarks } from "../../projections/read-watermarks.ts";
import { secondsLeft } from "../../projections/replays.ts";
import type { LocalProgress } from "./snapshot.ts";

/** @param local knowledge beyond the database, in the process that reads the ledger */
export const databaseProgress =
  (db: Db, pipelines: readonly ProgressTables[], local?: () => LocalProgress) =>
  async (): Promise<Progress> => {
    const [{ log, pipelines: watermarks, incomplete }, source] = await Promise.all([
      readWatermarks(db, pipelines),
      readSource(db),
    ]);
    const here = local?.();
    return {
      pipelines: watermarks.map(({ rebuilding, ...watermark }) => ({
        ...watermark,
        rebuilding: rebuilding && { ...rebuilding, secondsLeft: secondsLeft(rebuilding) },
        goal: log.next,
        trouble: here?.pipelines.get(watermark.pipeline),
      })),
      reader: {
        next: log.next,
        mark: log.mark,
        tip: here?.tip ?? null,
        trouble: here?.reader,
        source,
        guided: log.guided,
        backfill: log.backfill,
      },
      incomplete,
      process: here?.process,
    };
  };
