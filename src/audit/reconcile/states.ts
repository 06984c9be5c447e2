/** Compares ranges of memberships and roles with those that the stored events give. */
import type { Sql } from "../../database/connect.ts";
import { positionsEnd } from "../../projections/position.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import { type Findings, FOUND_ROWS } from "./found.ts";

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
  ), kept as (
    select ${names}, checkpoint, ${value} as value,
           case when until > $2 then ${STILL_OPEN} else until end as until
    from ${ranges} where coin_type = $1 and checkpoint <= $2
  )
  select concat_ws(' ', ${names}) as key, checkpoint, kept.value::text as kept, kept.until as "keptUntil",
         folded.value::text as folded, folded.until as "foldedUntil"
  from kept full join folded using (${names}, checkpoint)
  where kept.value is distinct from folded.value or kept.until is distinct from folded.until
  order by 1, 2 limit ${FOUND_ROWS}`;
};

type Row = {
  readonly key: string;
  readonly checkpoint: bigint;
  /** Both null: no such range. */
  readonly kept: string | null;
  readonly keptUntil: bigint | null;
  readonly folded: string | null;
  readonly foldedUntil: bigint | null;
};

const shown = (value: string | null, until: bigint | null): string =>
  value === null ? "nothing" : `${value} until ${until === STILL_OPEN ? "now" : until}`;

const reconcileRanges = async (
  sql: Sql,
  folded: Folded,
  coinType: string,
  at: bigint,
  found: Findings,
): Promise<void> => {
  const given = [coinType, `${at}`, `${positionsEnd(at)}`];
  for (const row of await sql.unsafe<Row[]>(compare(folded), given)) {
    found.add(
      `${folded.ranges}, ${coinType}, ${row.key}, checkpoint ${row.checkpoint}: it has ${shown(row.kept, row.keptUntil)}, but ${folded.events} make it ${shown(row.folded, row.foldedUntil)}`,
    );
  }
};

export const reconcileMemberships = (sql: Sql, coinType: string, at: bigint, found: Findings) =>
  reconcileRanges(sql, MEMBERSHIPS, coinType, at, found);

export const reconcileRoles = (sql: Sql, coinType: string, at: bigint, found: Findings) =>
  reconcileRanges(sql, ROLES, coinType, at, found);

const HELD = `
  with newest as (
    select distinct on (owner, role) owner, role, granted, position from role_events
    where coin_type = $1 order by owner, role, position desc
  ), held as (select owner, role, position from newest where granted
  ), kept as (select owner, role, position from wallet_roles where coin_type = $1)
  select owner, role, kept.position as kept, held.position as held
  from kept full join held using (owner, role)
  where kept.position is distinct from held.position order by 1, 2 limit ${FOUND_ROWS}`;

/** Compares current roles, in this snapshot. */
export const reconcileHeldRoles = async (
  sql: Sql,
  coinType: string,
  found: Findings,
): Promise<void> => {
  const rows = await sql.unsafe<
    {
      readonly owner: string;
      readonly role: string;
      readonly kept: bigint | null;
      readonly held: bigint | null;
    }[]
  >(HELD, [coinType]);
  for (const { owner, role, kept, held } of rows) {
    const of = `wallet_roles, ${coinType}, owner ${owner}, role ${role}`;
    found.add(
      kept === null
        ? `${of}: the row is missing; role_events granted it at position ${held}`
        : `${of}: held since position ${kept}, but by role_events ${held === null ? "it is not held" : `since ${held}`}`,
    );
  }
};
