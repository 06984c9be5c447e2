/**
 * Refreshing what is shown when the register changed. The digests of the pipelines' rows tell: a checkpoint without a
 * change of the register leaves them as they are, and then nothing is asked for.
 */
import type { Query, QueryClient } from "@tanstack/react-query";
import { mayChangeWith, TIME } from "./depends.ts";
import { isOfOperators, NOW, NOW_LONG } from "./queries.ts";

/** Shortest interval between refreshes, milliseconds: a page that redraws at every checkpoint cannot be read. */
const REFRESH_MS = 8_000;
const REFRESH_LONG_MS = 30_000;
/** What depends on the time, such as unlocked parts of grants, is refreshed so often without any change. */
const UNCHANGED_MS = 5 * 60_000;
/** Without a digest, as during a quarantine, a pipeline counts as changed so often. */
const UNKNOWN_MS = 30_000;

type Marks = readonly { readonly pipeline: string; readonly digest: string | null }[];

/** @param openMs for how long the page is open */
const marksOf = (pipelines: Marks, openMs: number): ReadonlyMap<string, string> =>
  new Map([
    ...pipelines.map(
      ({ pipeline, digest }) => [pipeline, digest ?? `${Math.floor(openMs / UNKNOWN_MS)}`] as const,
    ),
    [TIME, `${Math.floor(openMs / UNCHANGED_MS)}`],
  ]);

/** Pipelines that are due for one kind of query, and when that kind was refreshed last. */
type Due = {
  readonly kind: string;
  readonly everyMs: number;
  pipelines: Set<string>;
  atMs: number;
};

export type Refresher = {
  /** The stream's newest message. */
  moved(pipelines: Marks): void;
  stop(): void;
};

/** @param isShort whether a query may be refreshed without being asked for */
export const refresher = (cache: QueryClient, isShort: (query: Query) => boolean): Refresher => {
  let marks: ReadonlyMap<string, string> | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const due: readonly Due[] = [
    { kind: NOW, everyMs: REFRESH_MS, pipelines: new Set(), atMs: 0 },
    { kind: NOW_LONG, everyMs: REFRESH_LONG_MS, pipelines: new Set(), atMs: 0 },
  ];

  const refresh = () => {
    clearTimeout(timer);
    // A hidden page needs none; it catches up once it is seen.
    if (document.hidden) return;
    const nowMs = Date.now();
    for (const one of due) {
      if (one.pipelines.size === 0 || nowMs - one.atMs < one.everyMs) continue;
      const pipelines = one.pipelines;
      one.pipelines = new Set();
      one.atMs = nowMs;
      void cache.invalidateQueries({
        queryKey: [one.kind],
        predicate: (query) => isShort(query) && mayChangeWith(query, pipelines),
      });
      // A request that changed the register has changed, too.
      if (one.kind === NOW) void cache.invalidateQueries({ predicate: isOfOperators });
    }
    const waiting = due.filter(({ pipelines }) => pipelines.size > 0);
    if (waiting.length === 0) return;
    const soonest = Math.min(...waiting.map(({ atMs, everyMs }) => atMs + everyMs - nowMs));
    timer = setTimeout(refresh, Math.max(0, soonest));
  };
  document.addEventListener("visibilitychange", refresh);

  return {
    moved: (pipelines) => {
      const before = marks;
      marks = marksOf(pipelines, performance.now());
      for (const [pipeline, mark] of marks) {
        // What was read before the first message may be older than it: refreshed once, after the usual pause.
        if (before?.get(pipeline) === mark) continue;
        for (const one of due) {
          one.pipelines.add(pipeline);
          if (before === null) one.atMs = Date.now();
        }
      }
      refresh();
    },
    stop: () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", refresh);
    },
  };
};
