/**
 * Every change of a holder's balance, over the wallets that it had then. A wallet that joins brings its balance, and one
 * that leaves takes it along, so that the changes add up.
 *
 * A page reads as many rows of each wallet as it has itself. The total before its first row is the sum of the balances
 * that the wallets had there: two rows by key for each, however long the history is.
 */
import { bigints, texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import { highest, lowest } from "../values/bigints.ts";
import type { Cause, ChangedPart } from "./balance-changes.ts";
import { type Counterparty, counterpartiesOf, NO_COUNTERPARTY } from "./counterparties.ts";
import type { Tenure } from "./holder-tenures.ts";
import { BEFORE_ALL, BEHIND_ALL, placeOf } from "./position.ts";

export const WALLET_CAUSES = ["WALLET_ADDED", "WALLET_REMOVED"] as const;
export type HolderChangeCause = Cause | (typeof WALLET_CAUSES)[number];

/** What a row is of, in the order within a transaction and wallet. */
export const ROW_KINDS = ["ADDED", "TOKENS", "GRANTS", "REMOVED"] as const;
export type RowKind = (typeof ROW_KINDS)[number];

/** Cursor: a row's transaction, wallet and kind. */
export type HistoryPlace = {
  readonly position: bigint;
  readonly wallet: string;
  readonly kind: RowKind;
};

/** Amounts in the coin's smallest unit. */
export type HolderChange = HistoryPlace & {
  readonly checkpoint: bigint;
  /** Time of the checkpoint, Unix milliseconds. */
  readonly timestampMs: bigint;
  readonly txDigest: string;
  readonly cause: HolderChangeCause;
  /** Null for a wallet that joins or leaves. */
  readonly part: ChangedPart | null;
  readonly change: bigint;
  /** Of the holder, over all its wallets. */
  readonly totalAfter: bigint;
} & Counterparty;

type Row = Omit<HolderChange, "totalAfter" | "checkpoint" | keyof Counterparty>;

export type HistoryQuery = {
  readonly coinType: string;
  /** Of the holder, up to the checkpoint of the answer. */
  readonly tenures: readonly Tenure[];
  /** Positions from `from` to `end`, excluded. */
  readonly from: bigint;
  readonly end: bigint;
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly after?: HistoryPlace | undefined;
};

const rankOf = (kind: RowKind): number => ROW_KINDS.indexOf(kind);

const comparePlaces = (a: HistoryPlace, b: HistoryPlace): number => {
  if (a.position !== b.position) return a.position < b.position ? -1 : 1;
  if (a.wallet !== b.wallet) return a.wallet < b.wallet ? -1 : 1;
  return rankOf(a.kind) - rankOf(b.kind);
};

const isBefore = (a: HistoryPlace, b: HistoryPlace): boolean => comparePlaces(a, b) < 0;

/** Of each wallet $2 its movements from position $3 to $4, both included, in one direction from ($6, $7, $8). */
const movementsIn = (beyond: ">" | "<", direction: "asc" | "desc"): string => {
  const of = (part: ChangedPart) => `
    (select c.position, c.owner as wallet, '${part}' as kind, c.cause, c.change, c.tx_digest as "txDigest",
            c.timestamp_ms as "timestampMs", ${rankOf(part)} as rank
     from ${part === "TOKENS" ? "token_changes" : "grant_changes"} c
     where c.coin_type = $1 and c.owner = given.address
       and c.position >= given.from_position and c.position <= given.to_position
       and (c.position, c.owner, ${rankOf(part)}) ${beyond} ($6::int8, $7::text, $8::int4)
     order by c.position ${direction} limit (select $5::int8))`;
  return `
    select each.* from unnest($2::text[], $3::int8[], $4::int8[]) as given (address, from_position, to_position),
      lateral (${of("TOKENS")} union all ${of("GRANTS")}) as each
    order by each.position ${direction}, each.wallet ${direction}, each.rank ${direction}
    limit (select $5::int8)`;
};

const MOVEMENTS = { asc: movementsIn(">", "asc"), desc: movementsIn("<", "desc") } as const;

const heldBefore = (table: string, bound: string): string => `
  coalesce((select c.balance_after from ${table} c
            where c.coin_type = $1 and c.owner = given.address and c.position < given.${bound}
            order by c.position desc limit 1), 0)`;

/** Balances of wallets $2, tokens before positions $3 and grants before $4. */
const HELD = `
  select ${heldBefore("token_changes", "tokens_end")} + ${heldBefore("grant_changes", "grants_end")} as held
  from unnest($2::text[], $3::int8[], $4::int8[]) with ordinality
    as given (address, tokens_end, grants_end, place)
  order by given.place`;

type Bounds = {
  readonly address: string;
  readonly tokensEnd: bigint;
  readonly grantsEnd: bigint;
};

const heldAt = async (
  on: Reads,
  coinType: string,
  wallets: readonly Bounds[],
): Promise<readonly bigint[]> => {
  if (wallets.length === 0) return [];
  const rows = await read<{ held: string }>(on, HELD, [
    coinType,
    texts(wallets.map(({ address }) => address)),
    bigints(wallets.map(({ tokensEnd }) => tokensEnd)),
    bigints(wallets.map(({ grantsEnd }) => grantsEnd)),
  ]);
  return rows.map(({ held }) => BigInt(held));
};

type Stored = Pick<HistoryPlace, "position" | "wallet"> & {
  readonly kind: ChangedPart;
  readonly cause: Cause;
  readonly change: string;
  readonly txDigest: string;
  readonly timestampMs: bigint;
};

/** Before and behind all rows: wallets begin with `0x`. */
const START: Readonly<Record<"asc" | "desc", HistoryPlace>> = {
  asc: { position: BEFORE_ALL, wallet: "", kind: "ADDED" },
  desc: { position: BEHIND_ALL, wallet: "~", kind: "REMOVED" },
};

const movements = async (on: Reads, query: HistoryQuery): Promise<Row[]> => {
  const { coinType, tenures, from, end, limit, order, after = START[order] } = query;
  const low = order === "asc" ? highest(from, after.position) : from;
  const high = order === "asc" ? end - 1n : lowest(end - 1n, after.position);
  const wanted = tenures
    .map((tenure) => ({
      address: tenure.address,
      from: highest(tenure.begin.position, low),
      to: lowest(tenure.end?.position ?? BEHIND_ALL, high),
    }))
    .filter((range) => range.from <= range.to);
  if (wanted.length === 0) return [];
  const rows = await read<Stored>(on, MOVEMENTS[order], [
    coinType,
    texts(wanted.map(({ address }) => address)),
    bigints(wanted.map((range) => range.from)),
    bigints(wanted.map(({ to }) => to)),
    limit,
    after.position,
    after.wallet,
    rankOf(after.kind),
  ]);
  return rows.map((row) => ({ ...row, part: row.kind, change: BigInt(row.change) }));
};

/** Wallets that join or leave with a balance. */
const joinings = async (on: Reads, query: HistoryQuery): Promise<Row[]> => {
  const { coinType, tenures, from, end, order, after = START[order] } = query;
  const rowOf = (address: string, kind: "ADDED" | "REMOVED", at: Tenure["begin"]): Row => ({
    ...{ ...at, wallet: address, kind, part: null, change: 0n },
    cause: kind === "ADDED" ? "WALLET_ADDED" : "WALLET_REMOVED",
  });
  const all = tenures
    .flatMap(({ address, begin, end: left }) => [
      rowOf(address, "ADDED", begin),
      ...(left === null ? [] : [rowOf(address, "REMOVED", left)]),
    ])
    .filter(({ position }) => position >= from && position < end)
    .filter((row) => (order === "asc" ? isBefore(after, row) : isBefore(row, after)));
  // A wallet brings what it had before the transaction, and leaves with what it has after it.
  const held = await heldAt(
    on,
    coinType,
    all.map(({ wallet: address, kind, position }) => {
      const bound = kind === "ADDED" ? position : position + 1n;
      return { address, tokensEnd: bound, grantsEnd: bound };
    }),
  );
  return all.flatMap((row, index) => {
    const balance = held[index] ?? 0n;
    return balance === 0n ? [] : [{ ...row, change: row.kind === "ADDED" ? balance : -balance }];
  });
};

/** Total before a row: the balances of the wallets that the holder had there. */
const totalBefore = async (
  on: Reads,
  { coinType, tenures }: HistoryQuery,
  place: HistoryPlace,
): Promise<bigint> => {
  const had = tenures.filter(
    ({ address: wallet, begin, end }) =>
      isBefore({ position: begin.position, wallet, kind: "ADDED" }, place) &&
      (end === null || !isBefore({ position: end.position, wallet, kind: "REMOVED" }, place)),
  );
  const { position } = place;
  const endOf = (wallet: string, kind: ChangedPart) =>
    isBefore({ position, wallet, kind }, place) ? position + 1n : position;
  const bounds = had.map(({ address }) => ({
    address,
    tokensEnd: endOf(address, "TOKENS"),
    grantsEnd: endOf(address, "GRANTS"),
  }));
  return (await heldAt(on, coinType, bounds)).reduce((sum, held) => sum + held, 0n);
};

/** A page of a holder's changes. */
export const holderHistory = async (on: Reads, query: HistoryQuery): Promise<HolderChange[]> => {
  const { limit, order } = query;
  const [moved, joined] = await Promise.all([movements(on, query), joinings(on, query)]);
  const direction = order === "asc" ? 1 : -1;
  const page = [...moved, ...joined]
    .sort((a, b) => comparePlaces(a, b) * direction)
    .slice(0, limit);
  const inOrder = order === "asc" ? page : page.toReversed();
  const [first] = inOrder;
  if (first === undefined) return [];
  const [before, counterparties] = await Promise.all([
    totalBefore(on, query, first),
    counterpartiesOf(on, query.coinType, inOrder),
  ]);
  let total = before;
  const rows = inOrder.map((row, index) => {
    total += row.change;
    const { checkpoint } = placeOf(row.position);
    const counterparty = row.part === null ? NO_COUNTERPARTY : counterparties[index];
    return { ...row, ...(counterparty ?? NO_COUNTERPARTY), checkpoint, totalAfter: total };
  });
  return order === "asc" ? rows : rows.reverse();
};
