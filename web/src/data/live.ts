/** The live register: one subscription per page, which invalidates queries. */
import { print } from "@0no-co/graphql.web";
import { useQueryClient } from "@tanstack/react-query";
import { createClient, NetworkError } from "graphql-sse";
import {
  createContext,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { graph, isFromService, type ResultOf } from "./ask.ts";
import { markAnswered, markUnanswered, onReturn, pause } from "./contact.ts";
import { PAST } from "./queries.ts";
import { type Refresher, refresher } from "./refresh.ts";
import { useSession } from "./session.ts";
import { createStore } from "./store.ts";

const subscription = graph(`subscription PipelineStatus {
  indexerStatus {
    pipeline checkpoint checkpointTimestamp ageSeconds digest historyFilledThrough
  }
}`);

export type PipelineStatus = NonNullable<ResultOf<typeof subscription>["indexerStatus"]>[number];

export type Live = {
  /** The newest message; null before the first. */
  readonly pipelines: readonly PipelineStatus[] | null;
  /** When it arrived, milliseconds. */
  readonly receivedAtMs: number;
  /** `lost`: reconnecting; `refused`: the key is no longer valid. */
  readonly state: "connecting" | "live" | "lost" | "refused";
};

/** Pause before reconnecting a subscription that the service ended, milliseconds. */
const AGAIN_MS = 2_000;

const NOTHING: Live = { pipelines: null, receivedAtMs: 0, state: "connecting" };

/** A subscription that is silent for so long, while newer checkpoints are known, is dead. Milliseconds. */
const SILENT_MS = 20_000;

/**
 * Follows the pipelines while mounted, and refreshes queries about "now" as their rows change.
 * @param known a committed checkpoint, decimal: a subscription that does not send it in time is replaced
 */
export const useFollowing = (known: string | null): Live => {
  const { key } = useSession();
  const [live, setLive] = useState<Live>(NOTHING);
  const cache = useQueryClient();
  const [round, setRound] = useState(0);
  const refreshing = useRef<Refresher | null>(null);
  const quiet = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    const own = refresher(cache, isShort);
    refreshing.current = own;
    return () => own.stop();
  }, [cache]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round is a new subscription
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    const askHealth = () => void cache.invalidateQueries({ queryKey: ["path", "/health"] });
    const become = (state: Live["state"]) => setLive((last) => ({ ...last, state }));
    const client = createClient({
      url: "/graphql",
      headers: { "x-api-key": key },
      retryAttempts: Number.POSITIVE_INFINITY,
      fetchFn: recordedFetch,
      retry: async (retries) => {
        become("lost");
        // Perhaps only the subscription ended.
        askHealth();
        await pause(Math.min(1_000 * 2 ** retries, 15_000));
      },
    });
    const stop = client.subscribe<{ indexerStatus: readonly PipelineStatus[] }>(
      { query: print(subscription) },
      {
        next: ({ data, errors }) => {
          if (errors?.some(({ extensions }) => extensions?.code === "UNAUTHENTICATED")) {
            become("refused");
          }
          if (!data) return;
          markAnswered();
          setLive({ pipelines: data.indexerStatus, receivedAtMs: Date.now(), state: "live" });
          setNewestTime(data.indexerStatus);
          const wasMoving = isMoving();
          heardMs = Date.now();
          clearTimeout(quiet.current);
          // A stream that moved and falls silent may be a service that hangs.
          if (wasMoving) quiet.current = setTimeout(askHealth, MOVING_MS);
          refreshing.current?.moved(data.indexerStatus);
        },
        error: (error) => become(isRefusal(error) ? "refused" : "lost"),
        // The service ended it, such as after this machine slept: reconnect, unless the key was refused.
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
      clearTimeout(quiet.current);
      stop();
      client.dispose();
    };
  }, [key, cache, round]);
  // After a loss: a new subscription, and queries that may be out of date are refreshed.
  useEffect(
    () =>
      onReturn(() => {
        setRound((last) => last + 1);
        void cache.invalidateQueries({ predicate: isOldAfterLoss });
      }),
    [cache],
  );
  const { pipelines, receivedAtMs } = live;
  useEffect(() => {
    const isBehind =
      known !== null &&
      pipelines?.some(({ checkpoint }) => BigInt(checkpoint ?? -1) < BigInt(known));
    if (isBehind && Date.now() - receivedAtMs > SILENT_MS) setRound((last) => last + 1);
  }, [known, pipelines, receivedAtMs]);
  return live;
};

/** `fetch` that records whether the service answered. */
const recordedFetch = async (url: string, init: RequestInit): Promise<Response> => {
  try {
    const response = await fetch(url, init);
    if (isFromService(response)) markAnswered();
    else markUnanswered();
    return response;
  } catch (error) {
    if (init.signal?.aborted !== true) markUnanswered();
    throw error;
  }
};

/** Whether an answer may have changed during the loss: not one of the past, nor a long register. */
const isOldAfterLoss = (query: {
  readonly queryKey: readonly unknown[];
  readonly state: { readonly data: unknown; readonly status: string };
}): boolean => query.state.status === "error" || (query.queryKey[0] !== PAST && isShort(query));

/** Whether a query may be refreshed automatically: not thousands of rows that are being read. */
const isShort = ({ state: { data } }: { readonly state: { readonly data: unknown } }): boolean =>
  typeof data !== "object" || data === null || Reflect.get(data, "isLong") !== true;

/** Retrying cannot help: the key was revoked. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NetworkError &&
  (error.response?.status === 401 || error.response?.status === 403);

/** The stream moves while a message came within this time, milliseconds. */
const MOVING_MS = 6_000;

let heardMs = Number.NEGATIVE_INFINITY;

/** Whether the stream shows by itself that the service indexes. */
export const isMoving = (nowMs = Date.now()): boolean => nowMs - heardMs < MOVING_MS;

/** Time of the last checkpoint that all pipelines have committed, unix seconds; null before the first message. */
const newestTime = createStore<number | null>(null);

const setNewestTime = (pipelines: readonly PipelineStatus[]): void => {
  const times = pipelines.map(({ checkpointTimestamp }) =>
    Number(checkpointTimestamp ?? Number.NaN),
  );
  const oldest = Math.min(...times);
  if (Number.isFinite(oldest)) newestTime.set(oldest);
};

/** The newest time to the minute, unix seconds: what is drawn from it moves once a minute. Null before the first. */
export const useNewestMinute = (): number | null =>
  useSyncExternalStore(newestTime.watch, () => {
    const seconds = newestTime.get();
    return seconds === null ? null : Math.floor(seconds / 60) * 60;
  });

export const LiveContext = createContext<Live>(NOTHING);

export const useLive = (): Live => useContext(LiveContext);
