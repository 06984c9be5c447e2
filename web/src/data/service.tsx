/** The state of the service and its newest checkpoint, for everything inside. */
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { fromSeconds } from "../shown/moment.ts";
import { useNow } from "../shown/shown.tsx";
import { useContact } from "./contact.ts";
import { type Health, noteText, stalledParts, useHealth, withNewer } from "./health.ts";
import { LiveContext, useFollowing } from "./live.ts";
import { type ServiceState, serviceState } from "./service-state.ts";

type Service = {
  readonly state: ServiceState;
  /** The last checkpoint that all pipelines have committed, decimal; null before the first. */
  readonly checkpoint: string | null;
  /** Whether the service does not answer. */
  readonly lost: boolean;
  /** Whether what it reported of its parts is old: it does not answer, or does not know their state now. */
  readonly old: boolean;
};

const ServiceContext = createContext<Service>({
  state: { kind: "connecting", word: "Connecting", tone: "plain", detail: null },
  checkpoint: null,
  lost: false,
  old: false,
});

export const useService = (): Service => useContext(ServiceContext);

/** Watches the service while mounted. */
export const WatchedService = ({ children }: { readonly children: ReactNode }) => {
  const { data, dataUpdatedAt, error } = useHealth();
  const live = useFollowing((data && slowestOf(data)?.checkpoint) ?? null);
  const { lostMs } = useContact();
  const now = useNow();
  const newest = useMemo(() => data && slowestOf(withNewer(data, live.pipelines)), [data, live]);
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
              ageSeconds: data.ageSeconds ?? 0,
              reason: stalledParts(data)[0]?.reason ?? null,
              doubt: data.reader.state === "unknown" ? (data.reader.reason ?? null) : null,
              notes: (data.notes ?? []).map(noteText),
            },
      fault: error?.message ?? null,
      newestMs: newest?.timeMs ?? null,
    },
    now,
  );
  const checkpoint = newest?.checkpoint ?? null;
  const lost = lostMs !== null;
  const old = lost || kind === "unknown" || data?.reason !== undefined;
  // Computed each second, and the same object until it changes.
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

/** The last checkpoint of the slowest pipeline; null while one has committed nothing. */
const slowestOf = ({
  pipelines,
}: Health): { readonly checkpoint: string; readonly timeMs: number } | null => {
  let slowest: { readonly checkpoint: string; readonly timeMs: number } | null = null;
  for (const { checkpoint, checkpointTimestamp } of pipelines) {
    if (checkpoint === null || checkpointTimestamp === null) return null;
    if (slowest === null || BigInt(checkpoint) < BigInt(slowest.checkpoint)) {
      slowest = { checkpoint, timeMs: fromSeconds(checkpointTimestamp) };
    }
  }
  return slowest;
};
