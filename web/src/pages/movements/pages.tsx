/** Rows that were written once, a page after the other: what was read stays, and nothing moves under the hand. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Failed } from "../../blocks/blocks.tsx";
import { Button } from "../../controls/button.tsx";
import { PAST } from "../../data/queries.ts";
import { useSession } from "../../data/session.ts";

/** Rows of a page. */
export const PAGE = 200;

export const usePages = <Row,>(
  name: readonly unknown[],
  read: (
    after: string | null,
    asking: { readonly key: string; readonly signal: AbortSignal },
  ) => Promise<readonly Row[] | null>,
  cursorOf: (row: Row) => string,
) => {
  const { key } = useSession();
  const pages = useInfiniteQuery({
    queryKey: [PAST, ...name],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) => (await read(pageParam, { key, signal })) ?? [],
    getNextPageParam: (rows) => {
      const last = rows.at(-1);
      return last === undefined || rows.length < PAGE ? undefined : cursorOf(last);
    },
    staleTime: 0,
    gcTime: 0,
  });
  const rows = useMemo(() => pages.data?.pages.flat() ?? [], [pages.data]);
  const about = pages.hasNextPage ? `First ${rows.length} shown` : `All ${rows.length} shown`;
  return { pages, rows, about };
};

/** At the foot of them. */
export const NextPage = ({
  of: { error, hasNextPage, isFetchNextPageError, isFetchingNextPage, fetchNextPage },
}: {
  readonly of: {
    readonly error: Error | null;
    readonly hasNextPage: boolean;
    readonly isFetchNextPageError: boolean;
    readonly isFetchingNextPage: boolean;
    fetchNextPage(): unknown;
  };
}) => (
  <>
    {isFetchNextPageError && error !== null ? (
      <Failed error={error} what="The next page" onRetry={() => void fetchNextPage()} />
    ) : null}
    {hasNextPage ? (
      <div className="border-t border-line p-3 text-center">
        <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {isFetchingNextPage ? "Reading…" : `Read ${PAGE} more`}
        </Button>
      </div>
    ) : null}
  </>
);
