/** Which wallets a holder had when, by its events in chain order. */
import { type Reads, read } from "../database/readers.ts";
import { positionsEnd, transactionAt } from "./position.ts";

/** An end of a tenure; `position` is that of its transaction. */
export type TenureEnd = {
  readonly position: bigint;
  readonly txDigest: string;
  /** Time of the checkpoint, Unix milliseconds. */
  readonly timestampMs: bigint;
};

/** A wallet belonged to a holder from one transaction to another: what both did counts as its holder's. */
export type Tenure = {
  readonly address: string;
  readonly begin: TenureEnd;
  /** Null while it belongs to it. */
  readonly end: TenureEnd | null;
};

export type Tenures = {
  /** In the order of their begin. */
  readonly tenures: readonly Tenure[];
  /** The holder had a wallet more often than `MOST_TENURES`: later ones are left out. */
  readonly areMore: boolean;
};

export const MOST_TENURES = 10_000;

/** The wallet's next event that names another holder, or none, ends it. */
const TENURES = `
  select e.address, e.position, e.tx_digest as "txDigest", e.timestamp_ms as "timestampMs",
         ended.position as "endPosition", ended.tx_digest as "endDigest", ended.timestamp_ms as "endMs"
  from holder_events e
  left join lateral (
    select n.position, n.tx_digest, n.timestamp_ms from holder_events n
    where n.coin_type = e.coin_type and n.address = e.address and n.position > e.position
      and n.position < $3 and n.holder_id is not null and n.address is not null
      and (n.event_type <> 'holder_address_added' or n.holder_id <> e.holder_id)
    order by n.position limit 1
  ) as ended on true
  where e.coin_type = $1 and e.holder_id = $2::numeric and e.event_type = 'holder_address_added'
    and e.holder_id is not null and e.position < $3
  order by e.position limit ${MOST_TENURES + 1}`;

type Stored = Omit<TenureEnd, "position"> & {
  readonly address: string;
  readonly position: bigint;
  readonly endPosition: bigint | null;
  readonly endDigest: string | null;
  readonly endMs: bigint | null;
};

type HolderAt = { readonly coinType: string; readonly holderId: bigint; readonly at: bigint };

/** Tenures begun by the end of a checkpoint; one that ended later has no end. */
export const tenuresOf = async (
  on: Reads,
  { coinType, holderId, at }: HolderAt,
): Promise<Tenures> => {
  const rows = await read<Stored>(on, TENURES, [coinType, `${holderId}`, positionsEnd(at)]);
  const byWallet = new Map<string, Tenure[]>();
  for (const row of rows.slice(0, MOST_TENURES)) {
    const { address, endPosition, endDigest, endMs, ...began } = row;
    const begin = { ...began, position: transactionAt(row.position).from };
    const end =
      endPosition === null || endDigest === null || endMs === null
        ? null
        : {
            position: transactionAt(endPosition).from,
            txDigest: endDigest,
            timestampMs: endMs,
          };
    const known = byWallet.get(address) ?? [];
    const before = known.at(-1);
    // Added again while it belongs to the holder, or in the transaction that removed it.
    const goesOn = before && (before.end === null || before.end.position >= begin.position);
    if (goesOn) known[known.length - 1] = { ...before, end };
    else known.push({ address, begin, end });
    byWallet.set(address, known);
  }
  const tenures = [...byWallet.values()]
    .flat()
    .sort((a, b) => (a.begin.position < b.begin.position ? -1 : 1));
  return { tenures, areMore: rows.length > MOST_TENURES };
};

const WAS_HOLDER = `
  select 1 as one from holder_events
  where coin_type = $1 and holder_id = $2::numeric and holder_id is not null and position < $3 limit 1`;

/** Whether a coin's register had this holder by the end of a checkpoint. */
export const wasHolderAt = async (
  on: Reads,
  { coinType, holderId, at }: HolderAt,
): Promise<boolean> =>
  (await read(on, WAS_HOLDER, [coinType, `${holderId}`, positionsEnd(at)])).length === 1;
