/** The register as it moves: one subscription per page, and what it makes old. */
import { useQueryClient } from "@tanstack/react-query";
import { createClient } from "graphql-sse";
import { createContext, useContext, useEffect, useRef, useState } from "react";
import { graph, type ResultOf } from "./graph.ts";
import { NOW } from "./queries.ts";
import { useSession } from "./session.ts";

export const statusFields = graph(`query PipelineStatus {
  indexerStatus {
    pipeline checkpoint checkpointTimestamp ageSeconds digest historyFilledThrough
  }
}`);

export type PipelineStatus = NonNullable<ResultOf<typeof statusFields>["indexerStatus"]>[number];

/** How the page stands to the service. */
export type Live = {
  /** The newest that was told; null before the first. */
  readonly pipelines: readonly PipelineStatus[] | null;
  /** When it was told, milliseconds. */
  readonly toldAtMs: number;
  /** `live`: changes arrive by themselves; `lost`: trying to reach the service again. */
  readonly state: "connecting" | "live" | "lost";
};

/** A page that redraws at every checkpoint is not read: at most so often, milliseconds. */
const REFRESH_MS = 4_000;

const SUBSCRIPTION = `subscription {
  indexerStatus {
    pipeline checkpoint checkpointTimestamp ageSeconds digest historyFilledThrough
  }
}`;

const NOTHING: Live = { pipelines: null, toldAtMs: 0, state: "connecting" };

/** Follows the pipelines while mounted, and has answers about "now" asked again as they move. */
export const useFollowing = (): Live => {
  const { key } = useSession();
  const [live, setLive] = useState<Live>(NOTHING);
  const cache = useQueryClient();
  const refreshedMs = useRef(0);
  useEffect(() => {
    const told = (state: Live["state"]) => setLive((last) => ({ ...last, state }));
    const client = createClient({
      url: "/graphql",
      headers: { "x-api-key": key },
      retryAttempts: Number.POSITIVE_INFINITY,
      retry: async (retries) => {
        told("lost");
        await new Promise((resolve) => setTimeout(resolve, Math.min(1_000 * 2 ** retries, 15_000)));
      },
    });
    const stop = client.subscribe<{ indexerStatus: readonly PipelineStatus[] }>(
      { query: SUBSCRIPTION },
      {
        next: ({ data }) => {
          if (!data) return;
          setLive({ pipelines: data.indexerStatus, toldAtMs: Date.now(), state: "live" });
          if (Date.now() - refreshedMs.current < REFRESH_MS) return;
          refreshedMs.current = Date.now();
          void cache.invalidateQueries({ queryKey: [NOW] });
        },
        error: () => told("lost"),
        complete: () => undefined,
      },
    );
    return () => {
      stop();
      client.dispose();
    };
  }, [key, cache]);
  return live;
};

export const LiveContext = createContext<Live>(NOTHING);

export const useLive = (): Live => useContext(LiveContext);
