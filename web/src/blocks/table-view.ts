/** The reader's choices of a table: order and columns. Those of a named view are in the page's address. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { kept } from "../data/store.ts";

/** By the id of a column. */
export type Order = { readonly id: string; readonly desc: boolean };

/** `-balance`: by balance, descending. */
const orderOf = (text: string | undefined): Order | null => {
  if (text === undefined || text === "-") return null;
  return text.startsWith("-") ? { id: text.slice(1), desc: true } : { id: text, desc: false };
};

/** Changes this page's address without an entry of the history, and without scrolling. */
export const useAdjustAddress = () => {
  const navigate = useNavigate();
  return useCallback(
    (change: Readonly<Record<string, string | undefined>>) =>
      void navigate({
        to: ".",
        search: (now: object) => ({ ...now, ...change }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
};

const placeOf = (view: string) => kept(`holderbook.columns.${view}`);

/**
 * @param view names the table; undefined: a small one, whose order lasts while it is shown
 */
export const useTableView = (view: string | undefined) => {
  const search: { readonly sort?: string; readonly columns?: string } = useSearch({
    strict: false,
  });
  const adjust = useAdjustAddress();
  const [ownOrder, setOwnOrder] = useState<Order | null>(null);
  const orderInAddress = useMemo(() => orderOf(search.sort), [search.sort]);
  const inAddress = view === undefined ? undefined : search.columns;
  // A link is to show what its sender sees: columns that this browser remembers go into the address.
  useEffect(() => {
    if (view === undefined || inAddress !== undefined) return;
    const remembered = placeOf(view).get();
    if (remembered !== null) adjust({ columns: remembered });
  }, [view, inAddress, adjust]);
  const chooseColumns = useCallback(
    (ids: readonly string[] | null) => {
      if (view === undefined) return;
      if (ids === null) placeOf(view).remove();
      else placeOf(view).set(ids.join(","));
      adjust({ columns: ids?.join(",") });
    },
    [view, adjust],
  );
  const chooseOrder = useCallback(
    (order: Order | null) => {
      if (view === undefined) setOwnOrder(order);
      else adjust({ sort: order === null ? undefined : `${order.desc ? "-" : ""}${order.id}` });
    },
    [view, adjust],
  );
  return {
    order: view === undefined ? ownOrder : orderInAddress,
    /** Ids of the chosen columns; null: none were chosen. */
    columns: inAddress?.split(",") ?? null,
    chooseColumns,
    chooseOrder,
  };
};
