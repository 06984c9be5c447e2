/** Compares ranges of memberships and roles with those that the stored events give. */
import type { Sql } from "../../database/connect.ts";
import { positionsEnd } from "../../projections/position.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import { addFound, type Findings, FOUND_ROWS } from "./findings.ts";

type Folded = {
  readonly ranges: string;
  readonly events: string;
  /** Key columns, and a coin's events as `(…names, value, position)`; value null: no state. */
  readonly key: readonly string[];
  readonly said: string;
  /** The state's column in the table of ranges. */
  readonly value: string;
};

const MEMBERSHIPS: Folded = {
  ranges: "membership_ranges",
  events: "holder_events",
  key: ["address", "aspect"],
  said: `
    select address, 'holder' as aspect, case event_type when 'holder_address_added' then holder_id end as value,
           position
    from of_coin where event_type in ('holder_address_added', 'holder_address_removed')
    union all
    select address, 'group', case event_type when 'address_joined_group' then group_id end, position
    from of_coin where event_type in ('address_joined_group', 'address_left_group')
    union all
    select address, 'freeze', case when is_frozen then 1::numeric end, position
    from of_coin where event_type = 'address_frozen'`,
  value: "value",
};

const ROLES: Folded = {
  ranges: "role_ranges",
  events: "role_events",
  key: ["owner", "role"],
  said: "select owner, role, case when granted then 1::numeric end as value, position from of_coin",
  value: "1::numeric",
};

/** A checkpoint's last event decides; an unchanged state continues its range. */
const compare = ({ ranges, events, key, said, value }: Folded) => {
  const names = key.join(", ");
  return `
  with of_coin as (
    select * from ${events} where coin_type = $1 and position < $3
  ), said as (${said}
  ), last as (
    select distinct on (${names}, position / 1000000000) ${names}, value,
           position / 1000000000 as checkpoint
    from said order by ${names}, position / 1000000000, position desc
  ), beside as (
    select *, lag(value) over (partition by ${names} order by checkpoint) as before from last
  ), changed as (
    select ${names}, value, checkpoint,
           coalesce(lead(checkpoint) over (partition by ${names} order by checkpoint), ${STILL_OPEN}) as until
    from beside where value is distinct from before
  ), folded as (
    select ${names}, checkpoint, value, until from changed where value is not null
  ), stored as (
    select ${names}, checkpoint, ${value} as value,
           case when until > $2 then ${STILL_OPEN} else until end as until
    from ${ranges} where coin_type = $1 and checkpoint <= $2
  )
  select format('${ranges}, %s, %s, checkpoint %s: it has %s, but ${events} make it %s',
                $1::text, concat_ws(' ', ${names}), checkpoint, ${shown("stored")}, ${shown("folded")}) as what
  from stored full join folded using (${names}, checkpoint)
  where stored.value is distinct from folded.value or stored.until is distinct from folded.until
  order by concat_ws(' ', ${names}), checkpoint limit ${FOUND_ROWS}`;
};

const shown = (range: string) =>
  `coalesce(${range}.value || ' until ' || coalesce(nullif(${range}.until, ${STILL_OPEN})::text, 'now'), 'nothing')`;

const reconcileRanges =
  (folded: Folded) =>
  (sql: Sql, coinType: string, at: bigint, found: Findings): Promise<void> =>
    addFound(sql, found, compare(folded), [coinType, `${at}`, `${positionsEnd(at)}`]);

export const reconcileMemberships = reconcileRanges(MEMBERSHIPS);

export const reconcileRoles = reconcileRanges(ROLES);

const HELD = `
  with newest as (
    select distinct on (owner, role) owner, role, granted, position from role_events
    where coin_type = $1 order by owner, role, position desc
  ), held as (select owner, role, position from newest where granted
  ), stored as (select owner, role, position from wallet_roles where coin_type = $1)
  select format('wallet_roles, %s, owner %s, role %s: ', $1::text, owner, role) || case
      when stored.position is null then format('the row is missing; role_events granted it at position %s', held.position)
      else format('held since position %s, but by role_events %s', stored.position,
                  coalesce('since ' || held.position, 'it is not held')) end as what
  from stored full join held using (owner, role)
  where stored.position is distinct from held.position order by owner, role limit ${FOUND_ROWS}`;

/** Compares current roles, in this snapshot. */
export const reconcileHeldRoles = (sql: Sql, coinType: string, found: Findings): Promise<void> =>
  addFound(sql, found, HELD, [coinType]);
