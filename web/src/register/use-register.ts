/** A register as a page shows it: the newest, kept up with while it is small, or one of the past. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { NOW_LONG, PAST } from "../data/queries.ts";
import { useSession } from "../data/session.ts";
import { loadRegister, loadRows } from "./load.ts";
import type { Register, Row } from "./register.ts";

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

/**
 * The row of a holder (its number, or one of its wallets) in a register with its sums, now or at a time
 * (unix seconds). Of a register of one page it is read again as that moves.
 */
export const useRow = (coinType: string, at: string | undefined, holder: string) => {
  const { key } = useSession();
  return useQuery<Register | null>({
    queryKey: [at === undefined ? NOW_LONG : PAST, "row", coinType, at ?? "newest", holder],
    queryFn: ({ signal }) => loadRows({ coinType, at }, { holder }, { key, signal }),
    staleTime: at === undefined ? 0 : Number.POSITIVE_INFINITY,
  });
};

export type Exceptions = {
  /** Rows of wallets that hold and belong to no holder, the largest thousand. */
  readonly loose: readonly Row[];
  /** Rows with a frozen wallet that holds, the largest thousand. */
  readonly frozen: readonly Row[];
  /** When it was so, milliseconds. */
  readonly timeMs: number;
  readonly isLong: boolean;
};

/** A register that takes the service long to put together is asked for its exceptions so often, milliseconds. */
const EXCEPTIONS_LONG_MS = 5 * 60 * 1_000;

/** What somebody has to look at in the newest register, both lists as of one checkpoint. */
export const useExceptions = (coinType: string) => {
  const { key } = useSession();
  return useQuery<Exceptions | null>({
    queryKey: [NOW_LONG, "exceptions", coinType],
    queryFn: async ({ signal }) => {
      const asking = { key, signal };
      const loose = await loadRows({ coinType }, { having: "NO_HOLDER" }, asking);
      if (loose === null) return null;
      const { checkpoint: atCheckpoint, timeMs, isLong } = loose;
      const frozen = await loadRows(
        { coinType, atCheckpoint },
        { having: "FROZEN_BALANCE" },
        asking,
      );
      return {
        loose: loose.rows,
        frozen: frozen?.rows ?? [],
        timeMs,
        isLong,
      };
    },
    refetchInterval: ({ state }) => (state.data?.isLong === true ? EXCEPTIONS_LONG_MS : false),
  });
};
