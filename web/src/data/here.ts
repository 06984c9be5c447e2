/** The address of the page as links go on with it. */
import { useSearch } from "@tanstack/react-router";
import { useMemo } from "react";

export type TokenSearch = { readonly token?: string };

/** For links to other pages: they go on with the token in view, and nothing else of this page. */
export const keepToken = ({ token }: { readonly token?: string | undefined }): TokenSearch =>
  token === undefined ? {} : { token };

/** The same where it is wanted beforehand. */
export const useTokenSearch = (): TokenSearch => {
  const { token } = useSearch({ strict: false });
  return useMemo(() => keepToken({ token }), [token]);
};

export type MomentSearch = TokenSearch & { readonly at?: string };

/** For links that stay at the moment in view, too: what is behind a row of the past is of the past. */
export const useMomentSearch = (): MomentSearch => {
  const { at } = useSearch({ strict: false });
  const kept = useTokenSearch();
  return useMemo(() => (at === undefined ? kept : { ...kept, at }), [kept, at]);
};

/** The same without one of its members. */
export const without = <Search extends object, Name extends keyof Search>(
  search: Search,
  name: Name,
): Omit<Search, Name> => {
  const { [name]: _, ...rest } = search;
  return rest;
};
