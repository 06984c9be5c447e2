/**
 * Numbers of owners and holders at several checkpoints, as a cap table counts them.
 *
 * One statement reads when each wallet's balance began and ended, from an index of those alone, and when it belonged to
 * whom: its time grows with the wallets that ever held the coin, not with their movements or the number of checkpoints.
 */
import { bigints } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import { CROSSINGS } from "./balance-changes.ts";
import { positionsEnd } from "./position.ts";
import { STILL_OPEN } from "./ranges.ts";

export type HolderCounts = {
  /** Rows of the cap table: holders, and wallets without one, with a balance. */
  readonly holders: number;
  /** Wallets with a balance. */
  readonly owners: number;
};

/** The points, numbered from 0, of checkpoints from one to another, excluded. */
const during = (from: string, until: string): string =>
  `int4range(width_bucket(${from} - 1, $3::int8[]), width_bucket(${until} - 1, $3::int8[]))`;

/** When a part of each wallet's balance was above zero. */
const heldIn = (table: string): string => `
  select owner, ${during("checkpoint", `coalesce(next, ${STILL_OPEN})`)} as points
  from (
    select owner, balance_after, position / 1000000000 as checkpoint,
           lead(position / 1000000000) over (partition by owner order by position) as next
    from ${table}
    where coin_type = $1 and position < $2 and (${CROSSINGS})
  ) as crossings
  where balance_after > 0`;

/**
 * A change of the counts at a point.
 *
 * Nothing is joined: a wallet's rows are sorted beside each other, so that no estimate of how many there are makes
 * Postgres compare each with each.
 */
const COUNTS = `
  with spans as (
    select owner as address, null::numeric as value, points
    from (${heldIn("token_changes")} union all ${heldIn("grant_changes")}) as parts
    where not isempty(points)
    union all
    select address, value, points from (
      select address, value, ${during("checkpoint", "until")} as points from membership_ranges
      where coin_type = $1 and aspect = 'holder' and checkpoint < $2 / 1000000000
    ) as ranges
    where not isempty(points)
  ), wallets as materialized (
    -- Without a value when it held, with one when it belonged to that holder.
    select address, value, points,
           first_value(case when value is null then points end)
             over (partition by address order by value nulls first) as held
    from (select address, value, range_agg(points) as points from spans group by address, value) as whole
  ), holders as (
    select range_agg(held * points) as held from wallets
    where value is not null and held is not null group by value
    union all
    select held - coalesce(range_agg(points) filter (where value is not null), '{}') from wallets
    where held is not null group by address, held
  ), owners as (
    select points as held from wallets where value is null
  )
  select point, sum(holders)::int4 as holders, sum(owners)::int4 as owners from (
    select lower(points) as point, 1 as holders, 0 as owners from holders, unnest(held) as points
    union all select upper(points), -1, 0 from holders, unnest(held) as points
    union all select lower(points), 0, 1 from owners, unnest(held) as points
    union all select upper(points), 0, -1 from owners, unnest(held) as points
  ) as changes
  group by point order by point`;

/** At the end of each of these checkpoints, which ascend, in their order. */
export const holderCountsAt = async (
  on: Reads,
  coinType: string,
  checkpoints: readonly bigint[],
): Promise<readonly HolderCounts[]> => {
  const last = checkpoints.at(-1);
  if (last === undefined) return [];
  const given = [coinType, positionsEnd(last), bigints(checkpoints)];
  const changes = await read<HolderCounts & { readonly point: number }>(on, COUNTS, given);
  const byPoint = new Map(changes.map((change) => [change.point, change]));
  let [holders, owners] = [0, 0];
  return checkpoints.map((_, point) => {
    const change = byPoint.get(point);
    holders += change?.holders ?? 0;
    owners += change?.owners ?? 0;
    return { holders, owners };
  });
};
