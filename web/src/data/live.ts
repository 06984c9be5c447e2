/** The register as it moves: one subscription per page, and what it makes old. */
import { useQueryClient } from "@tanstack/react-query";
import { createClient, NetworkError } from "graphql-sse";
import { createContext, useContext, useEffect, useRef, useState } from "react";
import { graph, type ResultOf } from "./graph.ts";
import { NOW, NOW_LONG } from "./queries.ts";
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
  /** `live`: changes arrive by themselves; `lost`: trying to reach the service again;
   * `refused`: the key does not open any more. */
  readonly state: "connecting" | "live" | "lost" | "refused";
};

/**
 * A page that redraws at every checkpoint is not read, and each answer costs: at most so often, milliseconds;
 * what is long, such as a register, less often.
 */
const REFRESH_MS = 8_000;
const REFRESH_LONG_MS = 30_000;

/** Before a subscription that the service ended is made again, milliseconds. */
const AGAIN_MS = 2_000;

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
  const refreshedLongMs = useRef(0);
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round is a new subscription
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
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
        next: ({ data, errors }) => {
          if (errors?.some(({ extensions }) => extensions?.code === "UNAUTHENTICATED")) {
            told("refused");
          }
          if (!data) return;
          setLive({ pipelines: data.indexerStatus, toldAtMs: Date.now(), state: "live" });
          // Nobody looks.
          if (document.hidden || Date.now() - refreshedMs.current < REFRESH_MS) return;
          refreshedMs.current = Date.now();
          void cache.invalidateQueries({ queryKey: [NOW] });
          if (Date.now() - refreshedLongMs.current < REFRESH_LONG_MS) return;
          refreshedLongMs.current = Date.now();
          void cache.invalidateQueries({ queryKey: [NOW_LONG], predicate: isNotHeld });
        },
        error: (error) => told(isRefusal(error) ? "refused" : "lost"),
        // The service ended it, such as for a reader that slept: again, unless the key was the reason.
        complete: () => {
          if (left) return;
          setLive((last) => (last.state === "refused" ? last : { ...last, state: "lost" }));
          timer = setTimeout(() => setRound((last) => last + 1), AGAIN_MS);
        },
      },
    );
    return () => {
      left = true;
      clearTimeout(timer);
      stop();
      client.dispose();
    };
  }, [key, cache, round]);
  return live;
};

/** Whether an answer may be asked for again by itself: not thousands of rows under a reader's hand. */
const isNotHeld = ({ state: { data } }: { readonly state: { readonly data: unknown } }): boolean =>
  typeof data !== "object" || data === null || Reflect.get(data, "isLong") !== true;

/** A refusal that comes again whatever is tried: the key was revoked. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NetworkError &&
  (error.response?.status === 401 || error.response?.status === 403);

export const LiveContext = createContext<Live>(NOTHING);

export const useLive = (): Live => useContext(LiveContext);
