/** Wallets at the end of a checkpoint: balances, holder, group and freeze, each by key. */
import { texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import { FROM_ZERO } from "./balance-changes.ts";
import { positionsEnd } from "./position.ts";

export type WalletOfCoin = { readonly coinType: string; readonly address: string };

/** Amounts in the coin's smallest unit. */
export type WalletState = WalletOfCoin & {
  readonly tokens: bigint;
  readonly granted: bigint;
  readonly holderId: bigint | null;
  readonly groupId: bigint | null;
  readonly isFrozen: boolean;
};

export type WalletWithRoles = WalletState & {
  /** Canonical role types, ascending. */
  readonly roles: readonly string[];
};

const lastOf = (table: string): string => `
  (select c.balance_after from ${table} c
   where c.coin_type = given.coin_type and c.owner = given.address and c.position < $3
   order by c.position desc limit 1)`;

const heldValue = (aspect: string): string => `
  (select case when m.until > $4 then m.value end from membership_ranges m
   where m.coin_type = given.coin_type and m.address = given.address and m.aspect = '${aspect}'
     and m.checkpoint <= $4
   order by m.checkpoint desc limit 1)`;

const ROLES = `
         (select json_agg(r.role order by r.role)::text from role_ranges r
          where r.coin_type = given.coin_type and r.owner = given.address
            and r.checkpoint <= $4 and r.until > $4)`;

const statesWith = (roles: string): string => `
  select given.coin_type as "coinType", given.address,
         coalesce(${lastOf("token_changes")}, 0) as tokens,
         coalesce(${lastOf("grant_changes")}, 0) as granted,
         ${heldValue("holder")} as "holderId", ${heldValue("group")} as "groupId",
         ${heldValue("freeze")} is not null as "isFrozen",
         ${roles} as roles
  from unnest($1::text[], $2::text[]) with ordinality as given (coin_type, address, place)
  order by given.place`;

const STATES = statesWith("null");
const STATES_AND_ROLES = statesWith(ROLES);

type StoredState = WalletOfCoin & {
  readonly tokens: string;
  readonly granted: string;
  readonly holderId: string | null;
  readonly groupId: string | null;
  readonly isFrozen: boolean;
  readonly roles: string | null;
};

const numberIn = (text: string | null) => (text === null ? null : BigInt(text));

type Asked = { readonly wallets: readonly WalletOfCoin[]; readonly at: bigint };

const statesBy = async (
  text: string,
  on: Reads,
  { wallets, at }: Asked,
): Promise<WalletWithRoles[]> => {
  if (wallets.length === 0) return [];
  const rows = await read<StoredState>(on, text, [
    texts(wallets.map(({ coinType }) => coinType)),
    texts(wallets.map(({ address }) => address)),
    positionsEnd(at),
    at,
  ]);
  return rows.map(({ tokens, granted, holderId, groupId, roles, ...row }) => ({
    ...row,
    tokens: BigInt(tokens),
    granted: BigInt(granted),
    holderId: numberIn(holderId),
    groupId: numberIn(groupId),
    roles: roles === null ? [] : JSON.parse(roles),
  }));
};

/** In the order given. */
export const walletStates = (on: Reads, asked: Asked): Promise<WalletState[]> =>
  statesBy(STATES, on, asked);

/** As `walletStates`; also reads the tables of `role_changes`. */
export const walletsWithRoles = (on: Reads, asked: Asked): Promise<WalletWithRoles[]> =>
  statesBy(STATES_AND_ROLES, on, asked);

const next = (table: string, wallet: string, condition: string, after: string): string => `
  (select t.coin_type from ${table} t where t.${wallet} = $1 and t.coin_type > ${after} ${condition}
   order by t.coin_type limit 1)`;

/** The next coin in any of the tables: one row of an index each, however many rows a coin has. */
const nextCoin = (after: string): string => `least(
  ${next("token_changes", "owner", `and ${FROM_ZERO}`, after)},
  ${next("grant_changes", "owner", `and ${FROM_ZERO}`, after)},
  ${next("membership_ranges", "address", "", after)},
  ${next("role_ranges", "owner", "", after)})`;

const COINS = `
  with recursive coins (coin_type, n) as (
    select ${nextCoin("$2")}, 1
    union all
    select ${nextCoin("coins.coin_type")}, n + 1 from coins
    where coins.coin_type is not null and n < $3
  )
  select coin_type as "coinType" from coins where coin_type is not null order by n`;

/**
 * Coins in which a wallet ever had a balance, a holder, a group, a freeze or a role, ascending.
 * @param after coin type of the last one seen
 */
export const coinsOfWallet = async (
  on: Reads,
  {
    address,
    limit,
    after = "",
  }: { readonly address: string; readonly limit: number; readonly after?: string | undefined },
): Promise<string[]> => {
  const rows = await read<{ coinType: string }>(on, COINS, [address, after, limit]);
  return rows.map(({ coinType }) => coinType);
};
