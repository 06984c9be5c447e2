/** The one state of the service, and the newest that is known of it, for everything inside. */
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { useNow } from "../shown/shown.tsx";
import { useContact } from "./contact.ts";
import { type HealthSeen, stalledParts, useHealth } from "./health.ts";
import { type Live, LiveContext, useFollowing } from "./live.ts";
import { type ServiceState, serviceState } from "./service-state.ts";

type Service = {
  readonly state: ServiceState;
  /** The last checkpoint that all pipelines have committed, decimal; null before the first. */
  readonly checkpoint: string | null;
  /** Whether nothing that is shown can be of now. */
  readonly lost: boolean;
  /** Whether what it says of its parts is of before: it does not answer, or does not know how they are now. */
  readonly old: boolean;
};

const ServiceContext = createContext<Service>({
  state: { kind: "connecting", word: "Connecting", tone: "plain", detail: null },
  checkpoint: null,
  lost: false,
  old: false,
});

export const useService = (): Service => useContext(ServiceContext);

/** Asked so often for the state that every view shows, milliseconds. */
const EVERY_MS = 5_000;

/** Watches the service while mounted. */
export const WatchedService = ({ children }: { readonly children: ReactNode }) => {
  const health = useHealth(EVERY_MS);
  const live = useFollowing(newestOf(health.data, null)?.checkpoint ?? null);
  const { lostMs } = useContact();
  const now = useNow();
  const { data, dataUpdatedAt, error } = health;
  const newest = useMemo(() => newestOf(data, live), [data, live]);
  const { kind, word, tone, detail } = serviceState(
    {
      lostMs,
      refused: live.state === "refused",
      health:
        data === undefined
          ? null
          : {
              status: data.status,
              atMs: dataUpdatedAt,
              ageSeconds: data.ageSeconds,
              reason: stalledParts(data)[0]?.reason ?? null,
              doubt: data.reader.state === "unknown" ? data.reader.reason : null,
              notes: data.notes,
            },
      fault: error?.message ?? null,
      newestMs: newest?.timeMs ?? null,
    },
    now,
  );
  const checkpoint = newest?.checkpoint ?? null;
  const lost = lostMs !== null;
  const old = lost || kind === "unknown" || (data?.reason ?? null) !== null;
  // It is computed each second, and told where it has changed.
  const service = useMemo(
    () => ({ state: { kind, word, tone, detail }, checkpoint, lost, old }),
    [kind, word, tone, detail, checkpoint, lost, old],
  );
  return (
    <LiveContext value={live}>
      <ServiceContext value={service}>{children}</ServiceContext>
    </LiveContext>
  );
};

/** Of the slowest pipeline, by what was told last; null while one has committed nothing. */
const newestOf = (
  health: HealthSeen | undefined,
  live: Live | null,
): { readonly checkpoint: string; readonly timeMs: number } | null => {
  const all = (health?.pipelines ?? []).map(({ name, checkpoint, timeMs }) => {
    const told = live?.pipelines?.find(({ pipeline }) => pipeline === name);
    return told?.checkpoint != null && BigInt(told.checkpoint) > BigInt(checkpoint ?? -1)
      ? { checkpoint: told.checkpoint, timeMs: Number(told.checkpointTimestamp) * 1_000 }
      : { checkpoint, timeMs };
  });
  let slowest: { readonly checkpoint: string; readonly timeMs: number } | null = null;
  for (const { checkpoint, timeMs } of all) {
    if (checkpoint === null || timeMs === null) return null;
    if (slowest === null || BigInt(checkpoint) < BigInt(slowest.checkpoint)) {
      slowest = { checkpoint, timeMs };
    }
  }
  return slowest;
};
