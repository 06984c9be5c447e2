/** A register as a page shows it: the newest, kept up with while it is small, or one of the past. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { NOW_LONG, PAST } from "../data/queries.ts";
import { useSession } from "../data/session.ts";
import { loadRegister } from "./load.ts";
import type { Register } from "./register.ts";

export type Loading = { readonly rows: number; readonly of: number };

/**
 * @param at unix seconds; undefined: now. A register of one page is read again as it moves; a longer one
 *   when the reader asks, as thousands of rows that change under a hand are not read.
 */
export const useRegister = (
  coinType: string | undefined,
  at: string | undefined,
  { enabled = true }: { readonly enabled?: boolean } = {},
) => {
  const { key } = useSession();
  const [loading, setLoading] = useState<Loading | null>(null);
  const query = useQuery<Register | null>({
    queryKey: [at === undefined ? NOW_LONG : PAST, "register", coinType, at ?? "newest"],
    queryFn: async ({ signal }) => {
      const which = { coinType: coinType ?? "", at };
      const found = await loadRegister(which, { key, signal }, (rows, of) =>
        setLoading({ rows, of }),
      );
      setLoading(null);
      return found;
    },
    enabled: enabled && coinType !== undefined,
    staleTime: at === undefined ? 0 : Number.POSITIVE_INFINITY,
    refetchOnMount: (kept) => kept.state.data?.isLong !== true,
  });
  return { ...query, loading, isLong: query.data?.isLong === true };
};
