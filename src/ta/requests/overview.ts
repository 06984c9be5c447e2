/** What an operator sees of all requests: their state, and nothing personal. */
import type { Sql } from "../../database/connect.ts";

/** One request. Neither its investor nor the wallet is named. */
export type RequestOverview = {
  readonly id: string;
  readonly asset: string;
  readonly kind: "whitelist" | "kyc";
  readonly status: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
  /** Since it was accepted. */
  readonly ageSeconds: number;
  readonly txId: string | null;
  /** What has to happen next; null once it is final. */
  readonly waitsFor: string | null;
  /** The gas coin or nonce reserved for it, under the name that users of the command know; null for none. */
  readonly purse: string | null;
  /** Of its newest step. */
  readonly message: string;
};

/** Requests of one asset, or all: the open ones oldest first, or the newest whatever became of them. */
export const requestOverviews = async (
  sql: Sql,
  page: { readonly asset?: string | undefined; readonly open: boolean; readonly limit: number },
): Promise<readonly RequestOverview[]> => {
  const { asset = null, open, limit } = page;
  const rows = await sql<Row[]>`
    ${overview(sql)}
    where (${asset}::text is null or r.asset = ${asset}) and (${!open} or ${isOpen(sql)})
    order by ${open ? sql`r.created_at, r.sequence` : sql`r.created_at desc, r.sequence desc`}
    limit ${limit}`;
  return rows.map(shown);
};

/** One request with every step, oldest first; null when there is none of this id (a UUID). */
export const requestWithHistory = async (
  sql: Sql,
  id: string,
): Promise<(RequestOverview & { readonly history: readonly Step[] }) | null> => {
  const [row] = await sql<Row[]>`${overview(sql)} where r.id = ${id}`;
  if (row === undefined) return null;
  const history = await sql<Step[]>`
    select to_json(at at time zone 'UTC') #>> '{}' || 'Z' as at, status, message
    from ta_request_history where request_id = ${id} order by number`;
  return { ...shown(row), history: [...history] };
};

/** A step of a request. */
export type Step = { readonly at: string; readonly status: string; readonly message: string };

type Row = Omit<RequestOverview, "ageSeconds" | "txId" | "waitsFor" | "purse"> & {
  readonly age_seconds: number;
  readonly tx_id: string | null;
  /** The gas coin or nonce reserved for it. */
  readonly resource: string | null;
  readonly open: boolean;
  /** An earlier request of the same investor, which is not final. */
  readonly before: string | null;
  /** Another request that has the same wallet in its turn. */
  readonly wallet_of: string | null;
};

const isOpen = (sql: Sql) => sql`r.status in ('QUEUED', 'PENDING')`;

const overview = (sql: Sql) => sql`
  select r.id, r.asset, r.kind, r.status, r.reason, r.tx_id, r.message, p.resource,
         floor(extract(epoch from now() - r.created_at))::float8 as age_seconds,
         ${isOpen(sql)} as open, w.request_id as wallet_of,
         (select e.id from ta_requests e
          where e.lane_id = r.lane_id and e.status in ('QUEUED', 'PENDING')
            and e.sequence < r.sequence and ${isOpen(sql)}
          order by e.sequence limit 1) as before
  from ta_requests r
  left join ta_reservations p on p.request_id = r.id
  left join ta_wallet_claims w
    on w.asset = r.asset and w.wallet = r.wallet and w.request_id <> r.id and r.kind = 'whitelist'`;

const shown = (row: Row): RequestOverview => {
  const { id, asset, kind, status, reason, message, resource } = row;
  return {
    id,
    asset,
    kind,
    status,
    reason,
    ageSeconds: row.age_seconds,
    txId: row.tx_id,
    waitsFor: row.open ? waitsFor(row) : null,
    purse: resource,
    message,
  };
};

/** The order is that of processing: each is looked at when those before it do not hold it up. */
const waitsFor = ({
  asset,
  status,
  kind,
  before,
  wallet_of,
  tx_id,
  resource,
  message,
}: Row): string => {
  if (before !== null) return `the investor's request before it, ${before}`;
  if (status === "QUEUED") return `a process that works for ${asset}`;
  if (tx_id !== null) return `its transaction (${message})`;
  if (kind === "kyc") return `a process that works for ${asset}`;
  if (wallet_of !== null) return `the request that has its wallet, ${wallet_of}`;
  if (resource !== null) return "its signer";
  return "the register to reach the ledger's end, then a coin or nonce that is free";
};
