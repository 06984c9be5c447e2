/** The operator's view of all requests; nothing personal. */
import type { Sql } from "../../database/connect.ts";

/** One request, without investor and wallet. */
type RequestOverview = {
  readonly id: string;
  readonly asset: string;
  readonly kind: "whitelist" | "kyc";
  readonly status: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
  /** Since acceptance. */
  readonly ageSeconds: number;
  readonly txId: string | null;
  /** The next step's precondition; null once final. */
  readonly waitsFor: string | null;
  /** The reserved gas coin or nonce, under the command's name for it; null for none. */
  readonly purse: string | null;
  /** The newest step's. */
  readonly message: string;
};

/** Requests of one asset or all: open ones oldest first, or all newest first. */
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

export type ListedRequest = Omit<RequestOverview, "ageSeconds" | "purse"> & {
  /** ISO 8601. */
  readonly createdAt: string;
  /** The newest step's. */
  readonly updatedAt: string;
  readonly place: RequestPlace;
};

/** Cursor of the list. */
type RequestPlace = {
  /** ISO 8601 in UTC, with microseconds. */
  readonly at: string;
  readonly sequence: bigint;
};

/** Requests before a cursor, newest first. `OPEN` means `QUEUED` and `PENDING`. */
export const listedRequests = async (
  { sql }: { readonly sql: Sql },
  page: {
    readonly status?: "QUEUED" | "PENDING" | "SUCCESS" | "FAILED" | "OPEN" | undefined;
    readonly asset?: string | undefined;
    readonly id?: string | undefined;
    readonly after?: RequestPlace | undefined;
    readonly limit: number;
  },
): Promise<readonly ListedRequest[]> => {
  const { status, asset, id, after, limit } = page;
  const ofStatus =
    status === undefined
      ? sql``
      : status === "OPEN"
        ? sql`and ${isOpen(sql)}`
        : // Repeat the predicate, or Postgres skips the partial index.
          sql`and ${status === "FAILED" ? sql`r.status = 'FAILED'` : sql`r.status = ${status}`}`;
  const rows = await sql<(Row & { created: string; updated: string; sequence: bigint })[]>`
    ${overview(sql)}
    where r.id in (
      select r.id from ta_requests r where true ${ofStatus}
        ${asset === undefined ? sql`` : sql`and r.asset = ${asset}`}
        ${id === undefined ? sql`` : sql`and r.id = ${id}`}
        ${after === undefined ? sql`` : sql`and (r.created_at, r.sequence) < (${after.at}::timestamptz, ${after.sequence}::int8)`}
      order by r.created_at desc, r.sequence desc limit ${limit})
    order by r.created_at desc, r.sequence desc`;
  return rows.map((row) => {
    const { ageSeconds: _, purse: __, ...request } = shown(row);
    return {
      ...request,
      createdAt: new Date(row.created).toISOString(),
      updatedAt: new Date(row.updated).toISOString(),
      place: { at: row.created, sequence: row.sequence },
    };
  });
};

/** A request's wallet, canonical; undefined for an unknown id (a UUID). */
export const requestWallet = async (
  { sql }: { readonly sql: Sql },
  id: string,
): Promise<string | undefined> => {
  const [row] = await sql<{ wallet: string }[]>`select wallet from ta_requests where id = ${id}`;
  return row?.wallet;
};

/** Oldest first. */
export const requestHistory = async (
  { sql }: { readonly sql: Sql },
  id: string,
): Promise<readonly Step[]> => {
  const steps = await sql<Step[]>`
    select to_json(at at time zone 'UTC') #>> '{}' || 'Z' as at, status, message
    from ta_request_history where request_id = ${id} order by number`;
  return [...steps];
};

/** A count of `most` means that many or more. */
type RequestCounts = {
  readonly open: number;
  /** Since then. */
  readonly failed: number;
  readonly succeeded: number;
};

export const requestCounts = async (
  { sql }: { readonly sql: Sql },
  since: Date,
  most: number,
): Promise<RequestCounts> => {
  const ended = (status: string) => sql`(
    select count(*)::int4 from (
      select 1 from ta_requests
      where status in ('SUCCESS', 'FAILED') and status = ${status}
        and updated_at >= ${since.toISOString()}::timestamptz limit ${most}) as bounded)`;
  const [row] = await sql<RequestCounts[]>`
    select (select count(*)::int4 from (
              select 1 from ta_requests r where ${isOpen(sql)} limit ${most}) as bounded) as open,
           ${ended("FAILED")} as failed, ${ended("SUCCESS")} as succeeded`;
  return row ?? { open: 0, failed: 0, succeeded: 0 };
};

/** One request with its steps, oldest first; null for an unknown id (a UUID). */
export const requestWithHistory = async (
  sql: Sql,
  id: string,
): Promise<(RequestOverview & { readonly history: readonly Step[] }) | null> => {
  const [row] = await sql<Row[]>`${overview(sql)} where r.id = ${id}`;
  if (row === undefined) return null;
  return { ...shown(row), history: await requestHistory({ sql }, id) };
};

export type Step = { readonly at: string; readonly status: string; readonly message: string };

type Row = Omit<RequestOverview, "ageSeconds" | "txId" | "waitsFor" | "purse"> & {
  readonly age_seconds: number;
  readonly tx_id: string | null;
  readonly resource: string | null;
  readonly open: boolean;
  /** An earlier open request of the same investor. */
  readonly before: string | null;
  /** Another request that has claimed the same wallet. */
  readonly wallet_of: string | null;
};

const isOpen = (sql: Sql) => sql`r.status in ('QUEUED', 'PENDING')`;

const overview = (sql: Sql) => sql`
  select r.id, r.asset, r.kind, r.status, r.reason, r.tx_id, r.message, p.resource,
         floor(extract(epoch from now() - r.created_at))::float8 as age_seconds, r.sequence,
         to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created,
         to_json(r.updated_at) #>> '{}' as updated,
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

/** In the order of processing. */
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
