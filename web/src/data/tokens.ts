/** The tokens there are, and the one a page is about: `?token=` in the address, else the first. */
import { useSearch } from "@tanstack/react-router";
import { graph, type ResultOf } from "./graph.ts";
import { useGraph } from "./queries.ts";

const tokensQuery = graph(`query Tokens {
  tokens(limit: 1000) { coinType name symbol decimals totalSupply firstCheckpoint }
}`);

export type Token = NonNullable<ResultOf<typeof tokensQuery>["tokens"]>[number];

export const useTokens = () => useGraph(tokensQuery, {});

/** `PLATFORM`, or the end of its coin type where no metadata was seen. */
export const tokenLabel = ({ symbol, coinType }: Pick<Token, "symbol" | "coinType">): string =>
  symbol ?? coinType.split("::").at(-1) ?? coinType;

/** The token of this page; null while it is not known, or when there is none. */
export const useToken = (): Token | null => {
  const { token } = useSearch({ strict: false });
  const tokens = useTokens().data?.tokens ?? [];
  if (token === undefined) return tokens[0] ?? null;
  return tokens.find(({ coinType }) => coinType === token) ?? null;
};
