/** The other wallet of a movement. */
import { bigints, texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";

export type Counterparty = {
  /** The other wallet whose balance the transaction changed, where it is exactly one. */
  readonly counterparty: string | null;
  /** Its holder after the transaction. */
  readonly counterpartyHolderId: bigint | null;
};

export const NO_COUNTERPARTY: Counterparty = { counterparty: null, counterpartyHolderId: null };

/** First and last other owner: two rows of an index for each table, however many there are. */
const othersIn = (table: string): string =>
  ["asc", "desc"]
    .map(
      (direction) => `
      (select c.owner from ${table} c
       where c.coin_type = $1 and c.position = given.position and c.owner <> given.wallet
       order by c.owner ${direction} limit 1)`,
    )
    .join(" union all ");

const COUNTERPARTIES = `
  select others.first as counterparty, (
    select case when e.event_type = 'holder_address_added' then e.holder_id end from holder_events e
    where e.coin_type = $1 and e.address = others.first and e.position < given.position + 10000
      and e.holder_id is not null and e.address is not null
    order by e.position desc limit 1
  ) as "counterpartyHolderId"
  from unnest($2::int8[], $3::text[]) with ordinality as given (position, wallet, place)
  left join lateral (
    select first from (
      select min(owner) as first, max(owner) as last
      from (${othersIn("token_changes")} union all ${othersIn("grant_changes")}) as each
    ) as bounds where first = last
  ) as others on true
  order by given.place`;

type Stored = {
  readonly counterparty: string | null;
  readonly counterpartyHolderId: string | null;
};

/** Of movements of a coin, in the order given. */
export const counterpartiesOf = async (
  on: Reads,
  coinType: string,
  movements: readonly { readonly position: bigint; readonly wallet: string }[],
): Promise<readonly Counterparty[]> => {
  const rows = await read<Stored>(on, COUNTERPARTIES, [
    coinType,
    bigints(movements.map(({ position }) => position)),
    texts(movements.map(({ wallet }) => wallet)),
  ]);
  return rows.map(({ counterparty, counterpartyHolderId }) => ({
    counterparty,
    counterpartyHolderId: counterpartyHolderId === null ? null : BigInt(counterpartyHolderId),
  }));
};
