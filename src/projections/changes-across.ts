/** Balance movements across coin types, by position, owner, part and coin type. */
import { texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import type { PositionRange } from "./across-coins.ts";
import {
  type BalanceChange,
  BEHIND_OWNER,
  type ChangedPart,
  type ChangePlace,
  COLUMNS,
  changesIn,
  followPlace,
  type ListedChange,
} from "./balance-changes.ts";
import { CHANGES_COMMITTED, changesEnding } from "./balance-progress.ts";
import { NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { BEFORE_ALL, placeOf } from "./position.ts";

const NO_COIN = "";

/** From position $1, behind (owner, coin type) ($3, $4) for tokens and ($5, $6) for grants. */
const page = (condition: string) => {
  const of = (table: string, part: ChangedPart, owner: string, coin: string) => `
    (select coin_type as "coinType", ${COLUMNS}, '${part}' as part, ${part === "TOKENS" ? 0 : 1} as rank
     from ${table}
     where position >= $1::int8 and position < progress.ending
       and position < ${changesEnding(`${table}.coin_type`)}
       and (position, owner, coin_type) > ($1::int8, ${owner}, ${coin}) ${condition}
     order by ${table}.position, ${table}.owner, ${table}.coin_type
     limit (select $2::int8))`;
  return `
    ${of("token_changes", "TOKENS", "$3", "$4")}
    union all
    ${of("grant_changes", "GRANTS", "$5", "$6")}`;
};

const guarded = (pages: string) => `
  select progress.filled, changes.* from (${CHANGES_COMMITTED}) as progress
  left join lateral (
    select * from (${pages}) as each_change
    order by position, owner, rank, "coinType" limit (select $2::int8)
  ) as changes on progress.filled`;

// One page per coin type, so that no row of another coin is read.
const ofEach = (condition: string) => `
  select one.* from unnest($7::text[]) as given (coin),
    lateral (${page(`and coin_type = given.coin ${condition}`)}) as one`;

const PAGES = {
  all: guarded(page("")),
  some: guarded(ofEach("")),
  ofOwner: guarded(ofEach("and owner = $8")),
} as const;

/**
 * Movements of all coins, or some, in chain order, up to the checkpoint that both balance pipelines
 * have committed, or from which one of them holds the coin: no row of a coin appears behind a cursor.
 * @throws NotYetIndexedError (wait) while an upgraded database's history is filled in
 */
export const balanceChangesAcross = async (
  on: Reads,
  query: {
    readonly coinTypes?: readonly string[] | undefined;
    /** Requires `coinTypes`: no index covers an owner across all coins. */
    readonly owner?: string | undefined;
    readonly limit: number;
    readonly after?: ChangePlace | undefined;
  },
): Promise<BalanceChange[]> => {
  const { coinTypes, owner, limit, after } = query;
  const given = [after?.position ?? BEFORE_ALL, limit, ...placesBehind(after)];
  const rows = await (coinTypes === undefined
    ? read<ListedChange>(on, PAGES.all, given)
    : owner === undefined
      ? read<ListedChange>(on, PAGES.some, [...given, texts(coinTypes)])
      : read<ListedChange>(on, PAGES.ofOwner, [...given, texts(coinTypes), owner]));
  if (rows[0]?.filled === false) throw new NotYetIndexedError(STILL_FILLING);
  return changesIn(rows);
};

const within = (table: string, part: ChangedPart) => `
  select coin_type as "coinType", ${COLUMNS}, '${part}' as part, true as filled
  from ${table} where position >= $1 and position < $2`;

const WITHIN = `
  ${within("token_changes", "TOKENS")} union all ${within("grant_changes", "GRANTS")}
  order by position, owner, part desc, "coinType" limit (select $3::int8)`;

/** Movements from position `from` to `end`, excluded, over all coins, whether both pipelines have committed them or not. */
export const balanceChangesWithin = async (
  on: Reads,
  { from, end, limit }: PositionRange,
): Promise<BalanceChange[]> => changesIn(await read<ListedChange>(on, WITHIN, [from, end, limit]));

/** Cursor's owner and coin type, for the token table and the grant table. */
const placesBehind = (after: ChangePlace | undefined): readonly string[] => {
  if (after === undefined) return ["", NO_COIN, "", NO_COIN];
  const { owner, part, coinType } = after;
  const behindOwner = [`${owner}${BEHIND_OWNER}`, NO_COIN];
  const atPlace = coinType === undefined ? behindOwner : [owner, coinType];
  return part === "TOKENS" ? [...atPlace, owner, NO_COIN] : [...behindOwner, ...atPlace];
};

/** End of what both pipelines have committed; undefined before the first checkpoint. */
export const changesEnd = async (on: Reads): Promise<ChangePlace | undefined> => {
  const [row] = await read<{ ending: bigint }>(on, CHANGES_COMMITTED, []);
  return row === undefined || row.ending <= 0n
    ? undefined
    : followPlace(placeOf(row.ending).checkpoint - 1n);
};
