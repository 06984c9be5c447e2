/**
 * Queries and how long they stay fresh: answers as of now are invalidated when the register moves, answers as of a
 * checkpoint or a past time never.
 */
import {
  type UseQueryOptions,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { TadaDocumentNode } from "gql.tada";
import { useMemo } from "react";
import { AskError, type Asking, ask, askByBody, askPath } from "./ask.ts";
import { noteAsked } from "./depends.ts";
import { useSession, useSessionControl } from "./session.ts";

/** First part of the key of every query that is refreshed as the register changes. */
export const NOW = "now";
/** The same for long answers, which are refreshed less often. */
export const NOW_LONG = "now, long";
/** First part of the key of a query whose answer never changes. */
export const PAST = "past";

/** Whether to retry: not what the service refused. */
export const worthRetrying = (failures: number, error: Error): boolean =>
  failures < 2 && !(error instanceof AskError && error.status >= 400 && error.status < 500);

type Fresh = typeof NOW | typeof NOW_LONG | typeof PAST;

/** Reads with the session's key. @param name of what is read, with everything that it depends on */
export const useRead = <Data>(
  fresh: Fresh,
  name: readonly unknown[],
  read: (asking: Asking) => Promise<Data>,
  options: Pick<UseQueryOptions<Data>, "refetchInterval" | "refetchOnMount"> & {
    readonly enabled?: boolean;
  } = {},
): UseQueryResult<Data, Error> => {
  const { session } = useSessionControl();
  const { enabled = true, ...rest } = options;
  return useQuery({
    queryKey: [fresh, ...name],
    queryFn: ({ signal, client, queryKey }) => {
      const fields = new Set<string>();
      const query = client.getQueryCache().find({ queryKey });
      if (query !== undefined) noteAsked(query, fields);
      return read({ key: session?.key, signal, fields });
    },
    staleTime: fresh === PAST ? Number.POSITIVE_INFINITY : 0,
    // The register is only read with a key: a view that opens without one shows nothing of it.
    enabled: session !== null && enabled,
    ...rest,
  });
};

/** A GraphQL query; `past` for a checkpoint or a past time, `long` for an answer that is refreshed less often. */
export const useGraph = <Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  {
    past = false,
    long = false,
    enabled = true,
  }: { readonly past?: boolean; readonly long?: boolean; readonly enabled?: boolean } = {},
): UseQueryResult<Data, Error> =>
  useRead(
    past ? PAST : long ? NOW_LONG : NOW,
    [document, variables],
    (asking) => ask(document, variables, asking),
    { enabled },
  );

const REFUSED: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/** Whether the service refused for good, as for a wrong key or id. */
export const isRefused = (error: Error): boolean =>
  error instanceof AskError && (REFUSED.has(error.status) || error.code === "BAD_USER_INPUT");

type Settled = { readonly state: { readonly error: Error | null } };

/** A `refetchInterval` that ends when the service refuses for good. */
export const again =
  (everyMs: number) =>
  ({ state: { error } }: Settled): number | false =>
    error !== null && isRefused(error) ? false : everyMs;

/** Until a failed query is retried by itself, milliseconds. */
const FAILED_AGAIN_MS = 5_000;

/** The default `refetchInterval`: a failed query is retried until it succeeds. */
export const untilAnswered = ({ state: { error } }: Settled): number | false =>
  error === null || isRefused(error) ? false : FAILED_AGAIN_MS;

/** Longest interval of refreshing what stays as it is, milliseconds. */
const IDLE_MS = 45_000;

/** Since when a query's answer is the same. */
const unchanged = new WeakMap<object, { readonly data: unknown; readonly sinceMs: number }>();

/** Rarer with each answer that is the same: as long as it has been, at least `everyMs`. */
const calmed = (query: { readonly state: { readonly data: unknown } }, everyMs: number): number => {
  const { data } = query.state;
  const before = unchanged.get(query);
  const same =
    before !== undefined && before.data === data ? before : { data, sinceMs: Date.now() };
  unchanged.set(query, same);
  return Math.max(everyMs, Math.min(IDLE_MS, Date.now() - same.sinceMs));
};

/**
 * A JSON path, asked with the key if there is one, refreshed while the page is visible: every so many milliseconds,
 * depending on its data, and less often the longer it stays the same.
 */
export const usePath = <Answer extends object>(
  path: string,
  {
    everyMs = false,
    steady = false,
    exact = false,
    enabled = true,
    body,
  }: {
    readonly everyMs?: number | ((data: Answer | undefined) => number | false) | false;
    /** Whether it is as often however long it stays the same. */
    readonly steady?: boolean;
    /** As in `askPath`; the same wherever this path is asked. */
    readonly exact?: boolean;
    readonly enabled?: boolean;
    /** Sent by POST: the question of a path that only reads. */
    readonly body?: object | undefined;
  } = {},
): UseQueryResult<Answer, Error> => {
  const { session } = useSessionControl();
  return useQuery<Answer>({
    queryKey: ["path", path, body],
    queryFn: ({ signal }) => {
      const asking = { key: session?.key, signal };
      return body === undefined
        ? askPath<Answer>(path, { ...asking, exact })
        : askByBody<Answer>(path, body, asking);
    },
    enabled,
    refetchInterval: (query) => {
      const ms = typeof everyMs === "function" ? everyMs(query.state.data) : everyMs;
      return ms === false ? untilAnswered(query) : again(steady ? ms : calmed(query, ms))(query);
    },
  });
};

/** Posts to a path of operators and refreshes what they see. The error is an AskError. */
export const useAct = <Answer extends object>(path: string) => {
  const { key } = useSession();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => askPath<Answer>(path, { key, body: {} }),
    onSuccess: () => cache.invalidateQueries({ predicate: isOfOperators }),
  });
};

/** Whether a query is of what operators see. */
export const isOfOperators = ({
  queryKey: [kind, path],
}: {
  readonly queryKey: readonly unknown[];
}): boolean => kind === "path" && typeof path === "string" && path.startsWith("/operator/");

/** Rows of one request of a list that is read whole: the most that the service gives. */
export const ROWS_PER_REQUEST = 1_000;

/**
 * The rows of a list from its beginning. `whole` is false when there are more than `maxPages` pages.
 * @param isEnough whether no row behind this one is needed
 */
export const readAll = async <Row>(
  maxPages: number,
  page: (after: string | null) => Promise<readonly Row[] | null>,
  cursorOf: (row: Row) => string,
  isEnough: (last: Row) => boolean = () => false,
): Promise<{ readonly rows: readonly Row[]; readonly whole: boolean }> => {
  const found: Row[] = [];
  let after: string | null = null;
  for (let number = 0; number < maxPages; number += 1) {
    const rows = (await page(after)) ?? [];
    found.push(...rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_REQUEST || isEnough(last))
      return { rows: found, whole: true };
    after = cursorOf(last);
  }
  return { rows: found, whole: false };
};

/** Rows of a page of a list that is read page by page. */
export const ROWS_PER_PAGE = 200;

/** A list of rows that never change, page by page: pages that were read stay as they are. */
export const usePages = <Row>(
  name: readonly unknown[],
  read: (after: string | null, asking: Asking) => Promise<readonly Row[] | null>,
  cursorOf: (row: Row) => string,
) => {
  const { key } = useSession();
  const pages = useInfiniteQuery({
    queryKey: [PAST, ...name],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) => (await read(pageParam, { key, signal })) ?? [],
    getNextPageParam: (rows) => {
      const last = rows.at(-1);
      return last === undefined || rows.length < ROWS_PER_PAGE ? undefined : cursorOf(last);
    },
    staleTime: 0,
    gcTime: 0,
  });
  const rows = useMemo(() => pages.data?.pages.flat() ?? [], [pages.data]);
  return { pages, rows };
};
