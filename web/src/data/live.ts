/** The register as it moves: one subscription per page, and what it makes old. */
import { print } from "@0no-co/graphql.web";
import { useQueryClient } from "@tanstack/react-query";
import { createClient, NetworkError } from "graphql-sse";
import { createContext, useContext, useEffect, useRef, useState } from "react";
import { isFromService } from "./ask.ts";
import { heard, onReturn, pause, unheard } from "./contact.ts";
import { graph, type ResultOf } from "./graph.ts";
import { NOW, NOW_LONG, PAST } from "./queries.ts";
import { useSession } from "./session.ts";

const subscription = graph(`subscription PipelineStatus {
  indexerStatus {
    pipeline checkpoint checkpointTimestamp ageSeconds digest historyFilledThrough
  }
}`);

export type PipelineStatus = NonNullable<ResultOf<typeof subscription>["indexerStatus"]>[number];

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

const NOTHING: Live = { pipelines: null, toldAtMs: 0, state: "connecting" };

/** A subscription that says nothing for so long while others know more is dead, milliseconds. */
const SILENT_MS = 20_000;

/**
 * Follows the pipelines while mounted, and has answers about "now" asked again as they move.
 * @param known a checkpoint that is committed, decimal: a subscription that never tells it is made anew
 */
export const useFollowing = (known: string | null): Live => {
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
      fetchFn: fetchHeard,
      retry: async (retries) => {
        told("lost");
        // It may be the subscription alone that ended.
        void cache.invalidateQueries({ queryKey: ["path", "/health"] });
        await pause(Math.min(1_000 * 2 ** retries, 15_000));
      },
    });
    const stop = client.subscribe<{ indexerStatus: readonly PipelineStatus[] }>(
      { query: print(subscription) },
      {
        next: ({ data, errors }) => {
          if (errors?.some(({ extensions }) => extensions?.code === "UNAUTHENTICATED")) {
            told("refused");
          }
          if (!data) return;
          heard();
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
  // What was asked while nobody answered is asked again at once, and the subscription made anew.
  useEffect(
    () =>
      onReturn(() => {
        setRound((last) => last + 1);
        void cache.invalidateQueries({ predicate: isOldAfterLoss });
      }),
    [cache],
  );
  const { pipelines, toldAtMs } = live;
  useEffect(() => {
    const told = pipelines?.map(({ checkpoint }) => BigInt(checkpoint ?? -1)) ?? [];
    const isAhead = known !== null && told.some((checkpoint) => checkpoint < BigInt(known));
    if (isAhead && Date.now() - toldAtMs > SILENT_MS) setRound((last) => last + 1);
  }, [known, pipelines, toldAtMs]);
  return live;
};

/** `fetch`, which says whether the service was there. */
const fetchHeard = async (url: string, init: RequestInit): Promise<Response> => {
  try {
    const response = await fetch(url, init);
    if (isFromService(response)) heard();
    else unheard();
    return response;
  } catch (error) {
    if (init.signal?.aborted !== true) unheard();
    throw error;
  }
};

/** Whether an answer may be older than the loss was long: not what never changes, nor what a reader holds. */
const isOldAfterLoss = (query: {
  readonly queryKey: readonly unknown[];
  readonly state: { readonly data: unknown; readonly status: string };
}): boolean => query.state.status === "error" || (query.queryKey[0] !== PAST && isNotHeld(query));

/** Whether an answer may be asked for again by itself: not thousands of rows under a reader's hand. */
const isNotHeld = ({ state: { data } }: { readonly state: { readonly data: unknown } }): boolean =>
  typeof data !== "object" || data === null || Reflect.get(data, "isLong") !== true;

/** A refusal that comes again whatever is tried: the key was revoked. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NetworkError &&
  (error.response?.status === 401 || error.response?.status === 403);

export const LiveContext = createContext<Live>(NOTHING);

export const useLive = (): Live => useContext(LiveContext);
