/** The register of a token: the rows of its cap table with exact amounts, and how they are loaded. */
import { useState } from "react";
import { AnswerFormError, type Asking, ask, graph, type ResultOf } from "../data/ask.ts";
import { momentVariables } from "../data/moment.ts";
import { NOW_LONG, PAST, ROWS_PER_REQUEST, useRead } from "../data/queries.ts";
import { fromSeconds } from "../shown/moment.ts";
import { shortened } from "../shown/shorten.ts";

/** The holder's number or the wallet's address, which is also the row's path in the page. */
export const rowId = ({ holderId, wallets }: Row): string => holderId ?? wallets[0]?.address ?? "";

/** `Holder 7`, or a shortened address. */
export const rowLabel = (id: string, holderId: string | null): string =>
  holderId === null ? shortened(id) : `Holder ${holderId}`;

/** Whether a row matches a search for a holder's number, or for part of an address or of its label. */
export const matches = (row: Row, sought: string, label?: string): boolean => {
  const text = sought.trim().toLowerCase();
  if (text === "") return true;
  if (/^\d+$/.test(text) && row.holderId === text) return true;
  if (label?.toLowerCase().includes(text)) return true;
  return text.length >= 3 && row.wallets.some(({ address }) => address.includes(text));
};

const registerPage = graph(`query RegisterPage(
  $coinType: String!, $atCheckpoint: String, $atTimestamp: String, $after: String, $limit: Int!
  $holder: String, $having: RowsWith
) {
  capTable(
    coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp,
    after: $after, limit: $limit, holder: $holder, having: $having
  ) {
    coinType decimals checkpoint checkpointDigest checkpointTimestamp totalSupply issued holderCount root
    rows {
      holderId balance tokens unlocked locked cursor
      wallets { address balance groupId isFrozen }
    }
  }
}`);

type Page = NonNullable<ResultOf<typeof registerPage>["capTable"]>;

const walletOf = (wallet: Page["rows"][number]["wallets"][number]) => ({
  ...wallet,
  balance: BigInt(wallet.balance),
});

/** A wallet at the register's checkpoint. */
export type Wallet = Readonly<ReturnType<typeof walletOf>>;

const rowOf = (row: Page["rows"][number]) => ({
  holderId: row.holderId,
  wallets: row.wallets.map(walletOf),
  balance: BigInt(row.balance),
  tokens: BigInt(row.tokens),
  unlocked: BigInt(row.unlocked),
  locked: BigInt(row.locked),
});

/** A holder with all its wallets, or a wallet without a holder, whose `holderId` is null. */
export type Row = Readonly<ReturnType<typeof rowOf>>;

const registerOf = (page: Page, rows: readonly Row[]) => ({
  ...page,
  timeMs: fromSeconds(page.checkpointTimestamp),
  totalSupply: page.totalSupply === null ? null : BigInt(page.totalSupply),
  issued: BigInt(page.issued),
  /** Too long to be refreshed automatically: see `useFollowing`. */
  isLong: page.holderCount > ROWS_PER_REQUEST,
  rows,
});

export type Register = Readonly<ReturnType<typeof registerOf>>;

/** A register with some of its rows, at most a thousand, and the sums of all; null when the token is unknown then. */
const loadRows = async (
  when: {
    readonly coinType: string;
    readonly atCheckpoint?: string | null;
    readonly atTimestamp?: string | null;
  },
  which: {
    /** A holder's number, or one of its wallets. */
    readonly holder?: string;
    readonly having?: "NO_HOLDER" | "FROZEN_BALANCE";
  },
  asking: Asking,
): Promise<Register | null> => {
  const { capTable } = await ask(
    registerPage,
    { ...when, limit: ROWS_PER_REQUEST, ...which },
    asking,
  );
  return capTable === null ? null : registerOf(capTable, capTable.rows.map(rowOf));
};

/**
 * The whole register of a token, all pages as of one checkpoint; null when the token is unknown then.
 * @param at the moment; undefined: the newest
 * @param onRows called with how many rows were read, of how many
 */
const loadRegister = async (
  coinType: string,
  at: string | undefined,
  asking: Asking,
  onRows: (rows: number, of: number) => void,
): Promise<Register | null> => {
  const page = async (when: ReturnType<typeof momentVariables>, after: string | null) => {
    const variables = { coinType, ...when, after, limit: ROWS_PER_REQUEST };
    return (await ask(registerPage, variables, asking)).capTable;
  };
  const first = await page(momentVariables(at), null);
  if (first === null) return null;
  const rows = first.rows.map(rowOf);
  let last = first.rows.at(-1);
  onRows(rows.length, first.holderCount);
  while (last !== undefined && rows.length < first.holderCount) {
    const next = await page({ atCheckpoint: first.checkpoint, atTimestamp: null }, last.cursor);
    if (next === null || next.rows.length === 0) break;
    for (const row of next.rows) rows.push(rowOf(row));
    last = next.rows.at(-1);
    onRows(rows.length, first.holderCount);
  }
  if (rows.length < first.holderCount) {
    throw new AnswerFormError(`the register: ${rows.length} of ${first.holderCount} rows`);
  }
  return registerOf(first, rows);
};

type Loading = { readonly rows: number; readonly of: number };

/**
 * The register now, or at a moment. A register of one page is refreshed as it moves; a longer one on
 * request, so that thousands of rows do not change while they are read.
 */
export const useRegister = (
  coinType: string,
  at: string | undefined,
  { enabled = true }: { readonly enabled?: boolean } = {},
) => {
  const [loading, setLoading] = useState<Loading | null>(null);
  const query = useRead(
    at === undefined ? NOW_LONG : PAST,
    ["register", coinType, at ?? "newest"],
    async (asking) => {
      const found = await loadRegister(coinType, at, asking, (rows, of) =>
        setLoading({ rows, of }),
      );
      setLoading(null);
      return found;
    },
    { enabled, refetchOnMount: ({ state }) => state.data?.isLong !== true },
  );
  return { ...query, loading, isLong: query.data?.isLong === true };
};

/** The row of a holder (its number, or one of its wallets) in a register, now or at a moment. */
export const useRow = (coinType: string, at: string | undefined, holder: string) =>
  useRead(at === undefined ? NOW_LONG : PAST, ["row", coinType, at ?? "newest", holder], (asking) =>
    loadRows({ coinType, ...momentVariables(at) }, { holder }, asking),
  );

/** A long register is slow to read: its exceptions are refreshed so often, milliseconds. */
const EXCEPTIONS_LONG_MS = 5 * 60 * 1_000;

/**
 * Rows without a holder, and rows with a frozen wallet that has a balance: the largest thousand of each, with what is
 * issued to how many, all as of one checkpoint.
 */
export const useExceptions = (coinType: string) =>
  useRead(
    NOW_LONG,
    ["exceptions", coinType],
    async (asking) => {
      const loose = await loadRows({ coinType }, { having: "NO_HOLDER" }, asking);
      if (loose === null) return null;
      const { checkpoint: atCheckpoint, timeMs, isLong, issued, holderCount } = loose;
      const having = { having: "FROZEN_BALANCE" } as const;
      const frozen = await loadRows({ coinType, atCheckpoint }, having, asking);
      const frozenRows = frozen?.rows ?? [];
      return { loose: loose.rows, frozen: frozenRows, timeMs, isLong, issued, holderCount };
    },
    { refetchInterval: ({ state }) => (state.data?.isLong ? EXCEPTIONS_LONG_MS : false) },
  );
