import { randomBytes } from "node:crypto";
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { type Reads, read } from "../../database/readers.ts";
import type { Register } from "./register.ts";
import type { OpenRequest } from "./request.ts";

/** Draws before giving up; of 2^52 ids, one that is taken is next to impossible. */
const DRAWS = 8;

/**
 * The holder of all wallets of an investor for an asset. First drawn at random below 2^53 (exact in every
 * client): counting upwards would collide with other programs that register holders.
 */
export const holderIdOf = async (
  sql: Sql,
  register: Register,
  investor: Investor,
): Promise<bigint> => {
  const known = await keptHolder(sql, investor);
  if (known !== undefined) return known;
  for (let draws = 0; draws < DRAWS; draws += 1) {
    const drawn = (randomBytes(8).readBigUInt64BE() >> 12n) + 1n;
    if (await register.knowsHolder(drawn)) continue;
    const holder = await keep(sql, investor, drawn);
    if (holder !== undefined) return holder;
  }
  throw new Error(`no free holder id found in ${DRAWS} draws`);
};

/**
 * Makes the holder that an investor's wallet is registered under the investor's own, unless the investor
 * has one on the ledger, or it is another investor's.
 * @returns whether the wallet's holder is the investor's
 */
export const adoptHolder = async (
  sql: Sql,
  register: Pick<Register, "knowsHolder">,
  investor: Investor,
  holderId: bigint,
): Promise<boolean> => {
  const known = await keptHolder(sql, investor);
  if (known !== undefined && !(await register.knowsHolder(known))) {
    // Drawn for a transaction that did not succeed.
    await sql`
      delete from ta_holders where asset = ${investor.asset}
        and investor_id = ${investor.investorId} and holder_id = ${String(known)}::numeric`;
  }
  return (await keep(sql, investor, holderId)) === holderId;
};

/** Investors' ids by holder, of those that this service registered for one of these assets. */
export const investorsOf = async (
  on: Reads,
  assets: readonly string[],
  holderIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  if (assets.length === 0 || holderIds.length === 0) return new Map();
  const rows = await read<{ holderId: string; investorId: string }>(on, INVESTORS, [
    texts(assets),
    texts(holderIds),
  ]);
  return new Map(rows.map(({ holderId, investorId }) => [holderId, investorId]));
};

const INVESTORS = `
  select given.holder_id::text as "holderId", h.investor_id as "investorId"
  from unnest($1::text[]) as named (asset) cross join unnest($2::numeric[]) as given (holder_id)
  cross join lateral (
    select investor_id from ta_holders t
    where t.asset = named.asset and t.holder_id = given.holder_id limit 1
  ) as h`;

export type Investor = Pick<OpenRequest, "asset" | "investorId">;

/** The investor's holder; undefined before one was drawn. */
export const keptHolder = async (
  sql: Sql,
  { asset, investorId }: Investor,
): Promise<bigint | undefined> => {
  const [row] = await sql<{ holder_id: string }[]>`
    select holder_id from ta_holders where asset = ${asset} and investor_id = ${investorId}`;
  return row === undefined ? undefined : BigInt(row.holder_id);
};

/** No effect for an investor who has one; returns the investor's holder after that, if any. */
const keep = async (sql: Sql, investor: Investor, holderId: bigint) => {
  await sql`
    insert into ta_holders (asset, investor_id, holder_id)
    values (${investor.asset}, ${investor.investorId}, ${String(holderId)}::numeric)
    on conflict do nothing`;
  return await keptHolder(sql, investor);
};
