import { randomBytes } from "node:crypto";
import type { Sql } from "../../database/connect.ts";
import type { OpenRequest } from "./lanes.ts";
import type { Register } from "./register.ts";

/** Draws before giving up; of 2^52 ids, one that is taken is next to impossible. */
const DRAWS = 8;

/**
 * The holder that an investor of an asset is: the same for all his wallets. The first time a new id
 * is drawn, at random below 2^53 (exact in every client) and free on the ledger; counting upwards
 * would collide with whoever else registers holders.
 */
export const holderIdOf = async (
  sql: Sql,
  register: Register,
  { asset, investorId }: Pick<OpenRequest, "asset" | "investorId">,
): Promise<bigint> => {
  const kept = async () => {
    const [row] = await sql<{ holder_id: string }[]>`
      select holder_id from ta_holders where asset = ${asset} and investor_id = ${investorId}`;
    return row === undefined ? undefined : BigInt(row.holder_id);
  };
  const known = await kept();
  if (known !== undefined) return known;
  for (let draws = 0; draws < DRAWS; draws += 1) {
    const drawn = (randomBytes(8).readBigUInt64BE() >> 12n) + 1n;
    if (await register.knowsHolder(drawn)) continue;
    await sql`
      insert into ta_holders (asset, investor_id, holder_id)
      values (${asset}, ${investorId}, ${String(drawn)}::numeric) on conflict do nothing`;
    const holder = await kept();
    if (holder !== undefined) return holder;
  }
  throw new Error(`no free holder id found in ${DRAWS} draws`);
};
