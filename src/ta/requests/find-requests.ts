/** Finds a wallet's or an investor's requests through indexes, in the order of their numbers. */
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import type { Fragment } from "../../lanes/lanes.ts";
import { canonicalWallet } from "./asset.ts";

export type RequestSearch = {
  /** Absent: of all assets. */
  readonly asset?: string | undefined;
  /** Canonical; requests for any of them. */
  readonly wallets?: readonly string[] | undefined;
  readonly investorId?: string | undefined;
};

/** Where scans of an index of `ta_requests r` begin. */
export type Starts = {
  /** Rows, named `start`. */
  readonly from: Fragment;
  /** Ties `r` to one of them. `r.sequence` is the index's next column. */
  readonly isOf: Fragment;
};

/** Undefined without a wallet or an investor to search for. */
export const searchStarts = (
  sql: Sql,
  { asset, wallets, investorId }: RequestSearch,
): Starts | undefined => {
  if (investorId !== undefined) {
    return {
      from: sql`(
        select l.id from ${assets(sql, asset)} join ta_lanes l on l.asset = named.asset
        where l.investor_id = ${investorId}) as start`,
      isOf: sql`r.lane_id = start.id ${
        wallets === undefined ? sql`` : sql`and r.wallet = any(${texts(wallets)}::text[])`
      }`,
    };
  }
  if (wallets === undefined) return undefined;
  return {
    from: sql`(
      select named.asset, wallet from ${assets(sql, asset)}
      cross join unnest(${texts(wallets)}::text[]) as wallet) as start`,
    isOf: sql`r.asset = start.asset and r.wallet = start.wallet`,
  };
};

/** The asset, or all: one index look-up per asset, however many requests each has. */
const assets = (sql: Sql, asset: string | undefined): Fragment =>
  asset !== undefined
    ? sql`(select ${asset}::text as asset) as named`
    : sql`(
      with recursive named as (
        (select asset from ta_lanes order by asset limit 1)
        union all
        select (select l.asset from ta_lanes l where l.asset > named.asset order by l.asset limit 1)
        from named where named.asset is not null
      )
      select asset from named where asset is not null) as named`;

/** A wallet's canonical forms on every ledger; empty when it is no wallet on any. */
export const walletForms = (text: string): readonly string[] => [
  ...new Set([canonicalWallet("sui", text) ?? [], canonicalWallet("evm", text) ?? []].flat()),
];
