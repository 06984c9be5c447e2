/** Checks that the replicas of DATABASE_READ_URL take reads. */
import type { Database } from "../../database/connect.ts";
import { examineReplicas } from "../../database/replicas/examine.ts";
import { replicaLine } from "../../database/replicas/standing.ts";
import { LOCKED_FIRST } from "../../pipelines/snapshot.ts";
import type { Config } from "../../settings/config.ts";
import { type Finding, ok, warn } from "./finding.ts";

const REMEDIES = {
  behind: "see why it replays slowly, or raise DATABASE_READ_LAG_SECONDS",
  gone: "check that it runs and accepts this role, and DATABASE_READ_URL; reads go elsewhere meanwhile",
  promoted: "remove it from DATABASE_READ_URL, or make it a standby of the primary again",
  refused:
    "correct DATABASE_READ_URL, or grant its role select on all tables (docs/how-to/scale.md)",
} as const;

export const checkReplicas = async (
  { sql }: Database,
  config: Pick<Config, "databaseReadUrls" | "databaseReadLagSeconds">,
): Promise<readonly Finding[]> => {
  const standings = await examineReplicas(sql, {
    replicas: config.databaseReadUrls,
    maxLagMs: config.databaseReadLagSeconds * 1_000,
    tables: LOCKED_FIRST,
  });
  return standings.map((standing) =>
    standing.state === "used"
      ? ok(replicaLine(standing))
      : warn(replicaLine(standing), REMEDIES[standing.state]),
  );
};
