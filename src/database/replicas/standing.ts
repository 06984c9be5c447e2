/** What is known of a replica, and how it is shown: by number and host, never with credentials. */

/**
 * `used`: reads go there. `behind`: by more than the bound. `gone`: does not answer. `promoted`: takes writes. `refused`:
 * holds another database or what the primary lacks, or lacks rights. All but `promoted` and `refused` pass by themselves.
 */
export type ReplicaState = "used" | "behind" | "gone" | "promoted" | "refused";

export type ReplicaStanding = {
  /** From 1, in the order of the setting. */
  readonly number: number;
  /** Host and port, without credentials; several as the URL lists them. */
  readonly host: string;
  readonly state: ReplicaState;
  /** Why it is not used. */
  readonly reason: string | null;
  /** How far it is behind the primary; null while it does not answer. */
  readonly lagMs: number | null;
  /** Since when it is in this state, milliseconds since the Unix epoch. */
  readonly sinceMs: number;
};

export type ReplicaShown = Pick<ReplicaStanding, "number" | "host" | "state"> & {
  readonly lagSeconds: number | null;
  readonly reason?: string;
  /** In this state since then, ISO 8601. */
  readonly since: string;
};

export const shownReplica = ({
  number,
  host,
  state,
  lagMs,
  reason,
  sinceMs,
}: ReplicaStanding): ReplicaShown => ({
  number,
  host,
  state,
  lagSeconds: secondsOf(lagMs),
  ...(reason !== null && { reason }),
  since: new Date(sinceMs).toISOString(),
});

/** Null also for a replica that has replayed nothing yet. */
export const secondsOf = (ms: number | null): number | null =>
  ms === null || !Number.isFinite(ms) ? null : ms / 1_000;

/** One line. */
export const replicaLine = ({ number, host, lagMs, reason }: ReplicaStanding): string => {
  const is = reason ?? `takes reads, ${((lagMs ?? 0) / 1_000).toFixed(1)} s behind the primary`;
  return `replica ${number} (${host}) ${is}`;
};
