/** The replicas that this process reads from, for `/health`, and its reads by server, for `/metrics`. */
import type { Replicas } from "../../database/replicas/spread.ts";
import { type ReplicaShown, secondsOf, shownReplica } from "../../database/replicas/standing.ts";
import { type HealthDetail, noteOf } from "../../http/health/health.ts";
import type { Figures } from "../../telemetry/figures.ts";

type ReplicasDetails = { readonly replicas?: readonly ReplicaShown[] };

/** A replica that is left out changes no state: the primary answers. */
export const replicasDetails =
  (replicas: Replicas | undefined) =>
  async (): Promise<HealthDetail & { readonly members: ReplicasDetails }> => {
    if (replicas === undefined) return { state: "ok", members: {} };
    const all = replicas.standings();
    return {
      state: "ok",
      members: { replicas: all.map(shownReplica) },
      notes: all.flatMap(({ number, host, reason, sinceMs }) =>
        reason === null ? [] : [noteOf(`replica ${number} (${host}) ${reason}`, sinceMs)],
      ),
    };
  };

export const watchReplicas = (figures: Figures, replicas: Replicas): void => {
  let counted = { primary: 0, replicas: replicas.standings().map(() => 0) };
  figures.beforeLook(() => {
    const { primary, replicas: reads } = replicas.reads;
    figures.count(READS, { server: "primary" }, primary - counted.primary);
    for (const [index, { number, host, state, lagMs }] of replicas.standings().entries()) {
      const more = (reads[index] ?? 0) - (counted.replicas[index] ?? 0);
      figures.count(READS, { server: `replica ${number}` }, more);
      const replica = { replica: `${number}`, host };
      figures.set("holderbook_replica_used", replica, state === "used" ? 1 : 0);
      const seconds = secondsOf(lagMs);
      figures.set("holderbook_replica_lag_seconds", replica, seconds ?? Number.NaN);
    }
    counted = { primary, replicas: [...reads] };
  });
};

const READS = "holderbook_replica_reads_total";
