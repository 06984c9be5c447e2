/** What is shown about missing changes of one coin, for its readers. */
import { type Reads, read } from "../database/readers.ts";

export type ShownComplete = {
  readonly coinType: string;
  /** Last checkpoint through which no change of the coin is missing; null when no proof shows one. */
  readonly through: bigint | null;
  /** Of that proof, ISO 8601. */
  readonly provenAt: string | null;
  /** Whether the deployment's key signed a certificate of it. */
  readonly isSigned: boolean;
  /** What is missing; null while nothing is known to be. */
  readonly missing: {
    /** First checkpoint that may lack the change. */
    readonly from: bigint;
    /** Names the object and its missing version. */
    readonly reason: string;
    /** ISO 8601. */
    readonly since: string;
  } | null;
};

type Row = {
  readonly through: bigint | null;
  readonly provenAt: string | null;
  readonly isSigned: boolean | null;
  readonly from: bigint | null;
  readonly reason: string | null;
  readonly since: string | null;
};

const iso = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A proof of all coins names the verdict on each; a certificate is of one. */
const SHOWN = `
  select case when proof.through is not null
              then least(proof.through, lacking.from_checkpoint - 1) end as through,
         ${iso("proof.made_at")} as "provenAt", proof.key_id is not null as "isSigned",
         lacking.from_checkpoint as "from", lacking.reason, ${iso("lacking.since")} as since
  from (select) as one
  left join lateral (
    select through, made_at, key_id from public.completeness
    where (coin_type = $1 and incomplete = '[]'::jsonb)
       or (coin_type is null and certificate -> 'verdicts' ->> $1 = 'complete')
    order by through desc, key_id is null, id desc limit 1
  ) as proof on true
  left join public.incomplete_coins as lacking on lacking.coin_type = $1`;

/** @param coinType canonical; of one that was never seen nothing is shown */
export const shownComplete = async (on: Reads, coinType: string): Promise<ShownComplete> => {
  const [row] = await read<Row>(on, SHOWN, [coinType]);
  const { from = null, reason, since } = row ?? {};
  return {
    coinType,
    through: row?.through ?? null,
    provenAt: row?.provenAt ?? null,
    isSigned: row?.isSigned ?? false,
    missing: from === null ? null : { from, reason: reason ?? "", since: since ?? "" },
  };
};
