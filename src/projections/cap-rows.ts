/** Rows of a past cap table: form, order, and page query. */
import { setImmediate as turn } from "node:timers/promises";
import { type CapPlace, NO_HOLDER, type RowOf } from "../../client/cap-rows.ts";
import { texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import { positionsEnd } from "./position.ts";

/** A checkpoint and its time, which decides what is unlocked. */
export type AtMark = { readonly checkpoint: bigint; readonly timestampMs: bigint };

/** A holder with its wallets, or a wallet without a holder. */
export type CapRow = RowOf<bigint>;

export type CapWallet = CapRow["wallets"][number];

export const BEFORE_ROWS: CapPlace = { balance: 2n ** 128n, holderId: 0n, address: "" };

/** Rows per turn of the event loop, so that other callers are not blocked. */
const STRETCH = 500;

/** Maps rows, yielding to the event loop between stretches. */
export const inStretches = async <From, To>(rows: readonly From[], make: (row: From) => To) => {
  const made: To[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % STRETCH === STRETCH - 1) await turn();
    made.push(make(row));
  }
  return made;
};

type StoredRow = {
  readonly holderId: string | null;
  readonly balance: string;
  readonly tokens: string;
  readonly granted: string;
  readonly unlocked: string;
  readonly wallets: string;
};

const rowOf = (row: StoredRow): CapRow => {
  const [granted, unlocked] = [BigInt(row.granted), BigInt(row.unlocked)];
  const wallets: readonly [string, string, string | null, boolean][] = JSON.parse(row.wallets);
  return {
    holderId: row.holderId === null ? null : BigInt(row.holderId),
    wallets: wallets.map(([address, balance, groupId, isFrozen]) => ({
      address,
      balance: BigInt(balance),
      groupId: groupId === null ? null : BigInt(groupId),
      isFrozen,
    })),
    balance: BigInt(row.balance),
    tokens: BigInt(row.tokens),
    granted,
    unlocked,
    locked: granted - unlocked,
  };
};

/** Up to `limit` rows behind a place. */
export const readRows = async (
  on: Reads,
  coinType: string,
  { checkpoint, timestampMs }: AtMark,
  after: CapPlace,
  limit: number,
): Promise<CapRow[]> => {
  const rows = await read<StoredRow>(on, ROWS, [
    coinType,
    positionsEnd(checkpoint),
    checkpoint,
    timestampMs.toString(),
    (-after.balance).toString(),
    (after.holderId ?? NO_HOLDER).toString(),
    after.address,
    limit,
  ]);
  return inStretches(rows, rowOf);
};

/** Each owner's balance after its last movement before position $2. */
const lastOf = (table: string) => `
  select distinct on (owner) owner, balance_after as held from ${table}
  where coin_type = $1 and position < $2
  order by owner desc, position desc`;

/** Amount unlocked by $4, as the contract computes it: see contracts/sui, timelock. */
const UNLOCKED = `
  case
    when $4::numeric < commencement_timestamp_ms + delay_until_first_release_ms then 0
    when release_count <= 1 then total_amount
    else div(total_amount * initial_release_portion_bps, 10000)
      + div(
          (total_amount - div(total_amount * initial_release_portion_bps, 10000))
          * case when period_between_releases_ms = 0 then release_count - 1
              else least(release_count - 1, div(
                $4::numeric - commencement_timestamp_ms - delay_until_first_release_ms,
                period_between_releases_ms)) end,
          release_count - 1)
  end`;

/** Claimable amount of each grant at the end of checkpoint $3. */
const claimableOf = (table: string, condition: string) => `
  select owner, greatest(0, least(left_balance, ${UNLOCKED} - tokens_transferred)) as claimable
  from ${table} where coin_type = $1 and checkpoint <= $3 ${condition}`;

/** Wallets of $1 at the end of checkpoint $3, which has the time $4 and ends before position $2. */
const WALLETS = `
  with parts as (
    select owner as address, held as tokens, 0::numeric as granted, 0::numeric as unlocked,
           null::numeric as holder_id, null::numeric as group_id, false as is_frozen
    from (${lastOf("token_changes")}) t
    union all
    select owner, 0, held, 0, null, null, false from (${lastOf("grant_changes")}) g
    union all
    select owner, 0, 0, claimable, null, null, false from (
      ${claimableOf("timelock_objects", "")}
      union all
      ${claimableOf("timelock_ranges", "and until > $3")}
    ) c
    union all
    select address, 0, 0, 0, case aspect when 'holder' then value end,
           case aspect when 'group' then value end, aspect = 'freeze'
    from membership_ranges where coin_type = $1 and checkpoint <= $3 and until > $3
  ), wallets as (
    select address, sum(tokens) as tokens, sum(granted) as granted, sum(unlocked) as unlocked,
           max(holder_id) as holder_id, max(group_id) as group_id, bool_or(is_frozen) as is_frozen
    from parts group by address
  )`;

/** Wallets that hold something, or are a holder's, in a group or frozen; by address. */
export const WALLET_ROWS = `
  ${WALLETS}
  select address as wallet, tokens + granted as balance, tokens, granted, unlocked,
         holder_id as "holderId", group_id as "groupId", is_frozen as "isFrozen"
  from wallets
  where tokens + granted > 0 or holder_id is not null or group_id is not null or is_frozen
  order by address`;

/** Rows behind ($5, $6, $7): negated balance, holder id or null, address if no holder. */
export const ROWS = `
  ${WALLETS}, table_rows as (
    select holder_id, case when holder_id is null then address else '' end as single,
           sum(tokens + granted) as balance, sum(tokens) as tokens, sum(granted) as granted,
           sum(unlocked) as unlocked,
           json_agg(json_build_array(address, (tokens + granted)::text, group_id::text, is_frozen)
                    order by address)::text as wallets
    from wallets group by 1, 2 having sum(tokens + granted) > 0
  )
  select holder_id as "holderId", balance, tokens, granted, unlocked, wallets from table_rows r
  where (- r.balance, coalesce(r.holder_id, ${2n ** 64n}), r.single) > ($5::numeric, $6::numeric, $7)
  order by r.balance desc, r.holder_id nulls last, r.single
  limit (select $8::int8)`;

const UNLOCKED_OF = `
  select coalesce(sum(claimable), 0) as unlocked from (
    ${claimableOf("timelock_objects", "and owner = any($2::text[])")}
    union all
    ${claimableOf("timelock_ranges", "and owner = any($2::text[]) and until > $3")}
  ) as grants`;

/** What these wallets could claim at the end of a checkpoint, as in the rows. */
export const unlockedOf = async (
  on: Reads,
  {
    coinType,
    owners,
    at: { checkpoint, timestampMs },
  }: { readonly coinType: string; readonly owners: readonly string[]; readonly at: AtMark },
): Promise<bigint> => {
  if (owners.length === 0) return 0n;
  const given = [coinType, texts(owners), checkpoint, timestampMs.toString()];
  const [row] = await read<{ unlocked: string }>(on, UNLOCKED_OF, given);
  return BigInt(row?.unlocked ?? 0);
};

/** Tables that `ROWS` reads; a row counts from this checkpoint on. */
export const CAP_TABLE_SOURCES: Readonly<Record<string, string>> = {
  token_changes: "position / 1000000000",
  grant_changes: "position / 1000000000",
  timelock_objects: "checkpoint",
  timelock_ranges: "checkpoint",
  membership_ranges: "checkpoint",
};

export const OWNERS = `
  select owner, balance, granted as "timelockBalance" from (
    select owner, sum(held) as balance, sum(granted) as granted from (
      select owner, held, 0::numeric as granted from (${lastOf("token_changes")}) t
      union all
      select owner, held, held from (${lastOf("grant_changes")}) g
    ) parts
    group by owner having sum(held) > 0
  ) o
  where (- o.balance, o.owner) > ($3::numeric, $4)
  order by o.balance desc, o.owner
  limit (select $5::int8)`;
