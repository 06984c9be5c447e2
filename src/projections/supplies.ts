/** A token's supply over time. */
import { bigints } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";

/** One look-up by key for each checkpoint. */
const SUPPLIES = `
  select (select s.supply from token_supplies s
          where s.coin_type = $1 and s.checkpoint <= given.checkpoint
          order by s.checkpoint desc limit 1) as supply
  from unnest($2::int8[]) with ordinality as given (checkpoint, place)
  order by given.place`;

/** The treasury's supply at the end of each of these checkpoints, in their order; null before it was seen. */
export const suppliesAt = async (
  on: Reads,
  coinType: string,
  checkpoints: readonly bigint[],
): Promise<readonly (bigint | null)[]> => {
  const rows = await read<{ supply: string | null }>(on, SUPPLIES, [
    coinType,
    bigints(checkpoints),
  ]);
  return rows.map(({ supply }) => (supply === null ? null : BigInt(supply)));
};
