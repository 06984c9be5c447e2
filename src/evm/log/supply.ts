/** What the log says about a token's supply. */
import type { Db } from "../../database/connect.ts";
import { bytesOf } from "../../values/hex-bytes.ts";
import { transferTopic } from "../contract/events.ts";
import type { Address } from "../contract/fact.ts";

/** Facts that one statement looks at. */
const PART_FACTS = 50_000;

/** Minted minus burned by the token's Transfers of blocks `from` to `to`, both included. */
export const netMinted = async (
  db: Db,
  chainId: number,
  token: Address,
  from: bigint,
  to: bigint,
): Promise<bigint> => {
  const address = bytesOf(token);
  let net = 0n;
  let at = { block: from, logIndex: -1 };
  for (;;) {
    // From and to of a Transfer are its second and third topic; 32 zero bytes are the zero address.
    const rows = await db.sql<
      { block: bigint; log_index: number; minted: boolean | null; data: Buffer }[]
    >`
      with part as materialized (
        select block, log_index, address, topics, data from evm_facts
        where chain_id = ${chainId} and token = ${address} and block <= ${to}
          and (block, log_index) > (${at.block}, ${at.logIndex})
        order by block, log_index limit ${PART_FACTS}),
      movement as (
        select block, log_index, data, substr(topics, 33, 32) = decode(repeat('00', 32), 'hex') as minted,
               substr(topics, 65, 32) = decode(repeat('00', 32), 'hex') as burned
        from part
        where address = ${address} and length(topics) = 96
          and substr(topics, 1, 32) = ${bytesOf(transferTopic)})
      select block, log_index, minted, data from movement where minted <> burned
      union all
      select * from (
        select block, log_index, null::boolean, ''::bytea from part
        order by block desc, log_index desc limit 1) as last`;
    for (const { minted, data } of rows) {
      if (minted === null) continue;
      const amount = BigInt(`0x${data.toString("hex")}`);
      net += minted ? amount : -amount;
    }
    const last = rows.find(({ minted }) => minted === null);
    if (last === undefined) return net;
    at = { block: last.block, logIndex: last.log_index };
  }
};
