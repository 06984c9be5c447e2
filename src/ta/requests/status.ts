/** The status of a request and of a wallet, for callers. */
import { texts } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";
import { isoTime } from "../../database/iso-time.ts";
import { HttpError } from "../../http/http-error.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { newestGroup } from "../../projections/holder-events.ts";
import { FOR_HOLDERS } from "../../projections/needed.ts";
import { RebuildingError } from "../../projections/past.ts";
import { groupsBefore } from "../../transfers/groups.ts";
import { hexText } from "../../values/hex-bytes.ts";
import type { TaAsset } from "./asset.ts";

/** Body of `GET /api/v1/requests/{requestId}`; times are ISO 8601. */
export type RequestStatus = {
  readonly requestId: string;
  readonly status: string;
  readonly message: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
  readonly txId: string | null;
  /** Oldest first. */
  readonly history: readonly {
    readonly status: string;
    readonly at: string;
    readonly message: string;
  }[];
};

/** A request of these keys (`api_keys.id`) with its history; null for an unknown id. */
export const requestStatus = async (
  { sql }: Pick<Db, "sql">,
  { keyIds, requestId }: { readonly keyIds: readonly string[]; readonly requestId: string },
): Promise<RequestStatus | null> => {
  const at = isoTime(sql, "h.at");
  const [row] = await sql<RequestStatus[]>`
    select r.id as "requestId", r.status, r.message, r.reason, r.tx_id as "txId", (
      select json_agg(json_build_object('status', h.status, 'at', ${at}, 'message', h.message)
                      order by h.number)
      from ta_request_history h where h.request_id = r.id) as history
    from ta_requests r where r.id = ${requestId} and r.key_id = any(${texts(keyIds)}::text[])`;
  return row ?? null;
};

/** Newest whitelist request of these keys (`api_keys.id`) for a wallet; null without one. */
export const newestWhitelistRequest = async (
  { sql }: Pick<Db, "sql">,
  {
    asset,
    wallet,
    keyIds,
  }: { readonly asset: string; readonly wallet: string; readonly keyIds: readonly string[] },
): Promise<string | null> => {
  const [row] = await sql<{ id: string }[]>`
    select id from ta_requests
    where asset = ${asset} and wallet = ${wallet} and kind = 'whitelist'
      and key_id = any(${texts(keyIds)}::text[])
    order by sequence desc limit 1`;
  return row?.id ?? null;
};

/** After every block. */
const NO_BLOCK = 2n ** 63n - 1n;

/**
 * The present group of a wallet (in canonical form); null for none.
 * @throws HttpError (503) while the projection is being rebuilt
 */
export const walletGroup = async (
  db: Db,
  asset: TaAsset,
  wallet: string,
): Promise<bigint | null> => {
  if (asset.ledger === "sui") return groupOnSui(db, asset.coinType, wallet);
  const { chainId, address } = asset.token;
  const hex = hexText(wallet);
  const groups = await groupsBefore(
    db,
    { project: asset.project, chainId },
    address,
    new Set([hex]),
    NO_BLOCK,
  );
  // Of several groups, transfer records show the first.
  return groups.get(hex)?.[0] ?? null;
};

/** 503 during a rebuild: the wallet may be whitelisted all the same. */
const groupOnSui = async (db: Db, coinType: string, wallet: string): Promise<bigint | null> => {
  try {
    return await newestGroup(guardedReads(db, FOR_HOLDERS), coinType, wallet);
  } catch (error) {
    if (!(error instanceof RebuildingError)) throw error;
    throw new HttpError(503, error.message, { "retry-after": "30" });
  }
};
