/** The text of a view's search field, kept in the page's address as `find`. */
import { useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useAdjustAddress } from "./table-view.ts";

/** Browsers refuse more than some hundred changes of the address in half a minute. */
const SETTLED_MS = 300;

export const useFind = (): readonly [string, (text: string) => void] => {
  const { find = "" }: { readonly find?: string } = useSearch({ strict: false });
  const adjust = useAdjustAddress();
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => {
    if (typed === null) return;
    const timer = setTimeout(() => {
      if (typed === find) setTyped(null);
      else adjust({ find: typed === "" ? undefined : typed });
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [typed, find, adjust]);
  return [typed ?? find, setTyped];
};
