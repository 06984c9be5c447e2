/** How far the search for each chain went. */
import type { Chain, Gap } from "./chains.ts";

/** Each step is taken once. */
export type Search = {
  listed: boolean;
  /** After the newest known version: lists of the range, then beyond it, then the head itself. */
  tail: "unasked" | "listed" | "listed beyond" | "given up";
  /** The version last compared with the node's. */
  compared: bigint | null;
  /** Why the newest version could not be followed to the node's. */
  tailFailed: string | null;
  /** Why gaps could not be closed, by `keyOf`. */
  readonly failed: Map<string, string>;
};

export const keyOf = ({ version, before }: Gap): string => `${version} ${before}`;

export type Searches = { of(chain: Chain): Search };

export const createSearches = (): Searches => {
  const searches = new Map<string, Search>();
  return {
    of: ({ id }) => {
      const known = searches.get(id);
      if (known !== undefined) return known;
      const begun: Search = {
        ...{ listed: false, tail: "unasked", compared: null },
        ...{ tailFailed: null, failed: new Map() },
      };
      searches.set(id, begun);
      return begun;
    },
  };
};
