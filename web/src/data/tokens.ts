/** The token and the moment in view: both are in the page's address, and links keep them. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { type Asking, ask, askList, graph, type ResultOf } from "./ask.ts";
import { useNewestMinute } from "./live.ts";
import { NOW_LONG, useGraph, useRead } from "./queries.ts";

const tokensQuery = graph(`query Tokens {
  tokens(limit: 1000) { coinType name symbol decimals totalSupply firstCheckpoint }
}`);

const heldTokenQuery = graph(`query HeldToken($coinType: String!) {
  token(coinType: $coinType, allowStale: true) {
    coinType name symbol decimals totalSupply firstCheckpoint
  }
}`);

export type Token = NonNullable<ResultOf<typeof tokensQuery>["tokens"]>[number];

/** Tokens that `tokens` leaves out and that are listed all the same. */
const MOST_HELD = 20;

/** The oldest first; of one age by name, as coin types begin with a hash, whose order means nothing. */
const byAge = (a: Token, b: Token): number => {
  const age = BigInt(a.firstCheckpoint) - BigInt(b.firstCheckpoint);
  if (age !== 0n) return age < 0n ? -1 : 1;
  return `${tokenName(a)} ${a.coinType}` < `${tokenName(b)} ${b.coinType}` ? -1 : 1;
};

/** All tokens, the oldest first. Those in quarantine, and incomplete ones, are as they were before it. */
const readTokens = async (asking: Asking): Promise<{ readonly tokens: readonly Token[] }> => {
  const { data, leftOut } = await askList(tokensQuery, {}, asking);
  const { tokens } = data;
  const before = await Promise.all(
    leftOut.slice(0, MOST_HELD).map((coinType) => ask(heldTokenQuery, { coinType }, asking)),
  );
  const all = [...(tokens ?? []), ...before.flatMap(({ token }) => token ?? [])];
  return { tokens: all.toSorted(byAge) };
};

export const useTokens = () => useRead(NOW_LONG, ["tokens"], readTokens);

/** `PLATFORM`, or the end of its coin type without metadata. */
export const tokenLabel = ({ symbol, coinType }: Pick<Token, "symbol" | "coinType">): string =>
  symbol ?? coinType.split("::").at(-1) ?? coinType;

/** `Platform shares`, or its label. */
export const tokenName = (token: Token): string => token.name ?? tokenLabel(token);

/** The token in the address, or the first; null while it is not known, or without any. */
export const useToken = (): Token | null => {
  const { token } = useSearch({ strict: false });
  const tokens = useTokens().data?.tokens ?? [];
  if (token === undefined) return tokens[0] ?? null;
  return tokens.find(({ coinType }) => coinType === token) ?? null;
};

type TokenSearch = { readonly token?: string };

/** `search` of links to other pages: keeps the token, and nothing else of this page. */
export const keepToken = ({ token }: { readonly token?: string | undefined }): TokenSearch =>
  token === undefined ? {} : { token };

/** `search` of links to other pages with more in it. */
export const keepTokenWith =
  <More extends object>(more: More) =>
  (now: { readonly token?: string | undefined }): TokenSearch & More => ({
    ...keepToken(now),
    ...more,
  });

/** `search` of links to what is behind a row: keeps the moment, too. */
export const keepMoment = ({
  token,
  at,
}: {
  readonly token?: string | undefined;
  readonly at?: string | undefined;
}): TokenSearch & { readonly at?: string } => ({
  ...keepToken({ token }),
  ...(at === undefined ? {} : { at }),
});

/** An address in the form of the register, lower case with all 64 digits; other texts stay as they are. */
export const canonicalWallet = (text: string): string =>
  /^0x[0-9a-f]{1,64}$/i.test(text) ? `0x${text.slice(2).toLowerCase().padStart(64, "0")}` : text;

/** Changes parameters of this page's address, and what its entry in the history holds besides; undefined removes one. */
export const useChangeAddress = () => {
  const navigate = useNavigate();
  return useCallback(
    (
      change: Readonly<Record<string, string | undefined>>,
      besides: { readonly investor?: string | undefined } = {},
    ) =>
      void navigate({
        to: ".",
        search: (now: object) => ({ ...now, ...change }),
        state: (now) => ({ ...now, ...besides }),
      }),
    [navigate],
  );
};

const firstMovement = graph(`query FirstMovement($coinType: String!) {
  tokenActivity(coinType: $coinType, limit: 1) { checkpointTimestamp }
}`);

/**
 * From a token's first movement to the minute of the chain's newest checkpoint, unix seconds. `from` is undefined without
 * a movement; `to` is the machine's time until it is known.
 */
export const useTokenTime = (
  coinType: string,
): { readonly from: number | undefined; readonly to: number } => {
  const first = useGraph(firstMovement, { coinType }, { past: true }).data?.tokenActivity?.[0];
  const last = useNewestMinute();
  const to = useMemo(() => last ?? Math.floor(Date.now() / 1_000), [last]);
  return { from: first === undefined ? undefined : Number(first.checkpointTimestamp), to };
};
