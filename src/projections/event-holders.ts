/**
 * Holders along the chain: the wallets that a holder had, and the holder that a wallet had, at the
 * place of each event. A wallet's newest holder event decides, as for its current holder.
 */
import { getTableName } from "drizzle-orm";
import { bigints, texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import type { WalletPeriod } from "./event-range.ts";
import { holderProgress } from "./holder-events.ts";
import { BEHIND_ALL } from "./position.ts";
import { indexRange } from "./row-keys.ts";

/** Periods of one holder that a list is read for; each is a look-up per type. */
export const MOST_PERIODS = 1_000;

/** SQL: the first position whose holder events are not served, for the coin $1. */
const ENDING = `
  coalesce((select 1000000000 * least(next_checkpoint, (held -> $1::text ->> 'from')::int8)
            from ${getTableName(holderProgress.watermark)}), 0)`;

/** SQL: when wallets were added to the holder $2, found by a column of the events, with further conditions. */
const added = (column: string, value: string, and = ""): string => {
  const bounds = { low: "-1", high: `${BEHIND_ALL}` };
  const values = ["$1", value, "'holder_address_added'"];
  const { where, orderBy } = indexRange(["coin_type", column, "event_type"], values, bounds);
  return `
      (select address, position from holder_events
       where ${where} and ${column} is not null ${and}
       order by ${orderBy("asc")} limit ${MOST_PERIODS + 1})`;
};

// The newest holder event per wallet is found by holder_events_of_member.
const periods = (source: string): string => `
  select ended.ending, period.* from (select ${ENDING} as ending) as ended
  left join lateral (
    select added.address, added.position as begins, coalesce((
      select next.position from holder_events next
      where next.coin_type = $1 and next.address = added.address and next.position > added.position
        and next.holder_id is not null and next.address is not null
      order by next.position limit 1), ${BEHIND_ALL}) as ends
    from ${source} as added
    order by added.address, added.position
  ) as period on true`;

const PERIODS = {
  // The range alone says which holder: with an equal sign beside it, the index on the type has the order, too.
  ofHolder: periods(added("holder_id", "$2::numeric")),
  ofWallet: periods(added("address", "$3::text", "and holder_id = $2::numeric")),
};

type FoundPeriod = {
  readonly ending: bigint;
  readonly address: string | null;
  readonly begins: bigint;
  readonly ends: bigint;
};

/** Wallets of a holder over its history. */
export type HolderPeriods = {
  /** Undefined for more than `MOST_PERIODS`. */
  readonly periods: readonly WalletPeriod[] | undefined;
  /** The first position of which `holder_lifecycle` has not committed all. */
  readonly ending: bigint;
};

/** @param owner only this wallet, while the holder had it */
export const holderPeriods = async (
  on: Reads,
  of: { readonly coinType: string; readonly holderId: bigint; readonly owner?: string | undefined },
): Promise<HolderPeriods> => {
  const { coinType, holderId, owner } = of;
  const given = [coinType, String(holderId)];
  const rows = await (owner === undefined
    ? read<FoundPeriod>(on, PERIODS.ofHolder, given)
    : read<FoundPeriod>(on, PERIODS.ofWallet, [...given, owner]));
  const ending = rows[0]?.ending ?? 0n;
  if (rows.length > MOST_PERIODS) return { periods: undefined, ending };
  const found: WalletPeriod[] = [];
  for (const { address, begins, ends } of rows) {
    if (address === null) continue;
    const before = found.at(-1);
    // Added again without a removal between.
    const goesOn = before?.address === address && before.ends === begins;
    if (goesOn) found.pop();
    found.push({ address, begins: goesOn ? before.begins : begins, ends });
  }
  return { periods: found, ending };
};

/** A wallet at an event; its holder events at `position` count. */
export type WalletPlace = { readonly address: string; readonly position: bigint };

/** Holders by `placeKey`, those of wallets without one left out. */
export type PlacedHolders = {
  readonly holders: ReadonlyMap<string, bigint>;
  /** As in `HolderPeriods`: places from there on are not known. */
  readonly ending: bigint;
};

export const placeKey = ({ address, position }: WalletPlace): string => `${position} ${address}`;

const HOLDERS = `
  select ended.ending, found.* from (select ${ENDING} as ending) as ended
  left join lateral (
    select place.address, place.position, newest.holder_id as "holderId"
    from unnest($2::text[], $3::int8[]) as place (address, position), lateral (
      select e.holder_id, e.event_type from holder_events e
      where e.coin_type = $1 and e.address = place.address and e.position <= place.position
        and e.holder_id is not null and e.address is not null
      order by e.position desc limit 1
    ) as newest
    where newest.event_type = 'holder_address_added'
  ) as found on true`;

type FoundHolder = {
  readonly ending: bigint;
  readonly address: string;
  readonly position: bigint | null;
  readonly holderId: string;
};

/** The holder of each wallet at its event, in one statement. */
export const holdersAt = async (
  on: Reads,
  coinType: string,
  places: readonly WalletPlace[],
): Promise<PlacedHolders> => {
  const rows = await read<FoundHolder>(on, HOLDERS, [
    coinType,
    texts(places.map(({ address }) => address)),
    bigints(places.map(({ position }) => position)),
  ]);
  const holders = new Map<string, bigint>();
  for (const { address, position, holderId } of rows) {
    if (position !== null) holders.set(placeKey({ address, position }), BigInt(holderId));
  }
  return { holders, ending: rows[0]?.ending ?? 0n };
};

/** The first position of which `holder_lifecycle` has not committed all, or holds the coin. */
export const holdersEnd = async (on: Reads, coinType: string): Promise<bigint> => {
  const [row] = await read<{ ending: bigint }>(on, `select ${ENDING} as ending`, [coinType]);
  return row?.ending ?? 0n;
};
