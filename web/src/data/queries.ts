/**
 * Answers kept for as long as they are true: what is asked "as of now" is asked again when the register
 * has moved, what is asked as of a checkpoint or a past time never.
 */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { TadaDocumentNode } from "gql.tada";
import { AskError, ask, askPath } from "./ask.ts";
import { useSession } from "./session.ts";

/** First part of the name of every answer that the register's moving makes old. */
export const NOW = "now";
/** The same for long answers, which are asked for less often. */
export const NOW_LONG = "now, long";
/** First part of the name of an answer that never changes. */
export const PAST = "past";

/** Whether asking again could help: not where the service said no. */
export const worthRetrying = (failures: number, error: Error): boolean =>
  failures < 2 && !(error instanceof AskError && error.status >= 400 && error.status < 500);

/** The answer to a GraphQL document; `past` when it is of a checkpoint or a time gone by, `long` when it
 * is so long that it is asked for less often. */
export const useGraph = <Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  {
    past = false,
    long = false,
    enabled = true,
  }: { readonly past?: boolean; readonly long?: boolean; readonly enabled?: boolean } = {},
): UseQueryResult<Data, Error> => {
  const { key } = useSession();
  return useQuery({
    queryKey: [past ? PAST : long ? NOW_LONG : NOW, document, variables],
    queryFn: ({ signal }) => ask(document, variables, { key, signal }),
    enabled,
    staleTime: past ? Number.POSITIVE_INFINITY : 0,
  });
};

const REFUSED: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/** Whether the service said no, which a wrong key or id stays. */
export const isRefused = (error: Error): boolean =>
  error instanceof AskError && (REFUSED.has(error.status) || error.code === "BAD_USER_INPUT");

type Asked = { readonly state: { readonly error: Error | null } };

/** Asking for more of the same: not where the service said no. */
export const again =
  (everyMs: number) =>
  ({ state: { error } }: Asked): number | false =>
    error !== null && isRefused(error) ? false : everyMs;

/** Until an answer that failed is asked for again by itself, milliseconds. */
const FAILED_AGAIN_MS = 5_000;

/** Of every query that says nothing else: what failed comes back by itself. */
export const untilAnswered = ({ state: { error } }: Asked): number | false =>
  error === null || isRefused(error) ? false : FAILED_AGAIN_MS;

/** The answer of a JSON path behind the key, asked again every `everyMs` while the page is looked at. */
export const usePath = <Value>(
  path: string,
  read: (body: unknown) => Value,
  { everyMs, enabled = true }: { readonly everyMs?: number; readonly enabled?: boolean } = {},
): UseQueryResult<Value, Error> => {
  const { key } = useSession();
  return useQuery({
    queryKey: ["path", path],
    queryFn: ({ signal }) => askPath(path, read, { key, signal }),
    enabled,
    ...(everyMs === undefined ? {} : { refetchInterval: again(everyMs) }),
  });
};
