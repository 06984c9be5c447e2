/** Every change of a wallet's regulatory groups, so that reading can resume at any block. */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { byteas } from "../database/column-arrays.ts";
import { bytea, identifier, int8 } from "../database/column-types.ts";
import type { Db, Tx } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import { bytesOf, hexOf } from "../values/hex-bytes.ts";
import { withdrawHolds } from "./holds.ts";
import type { Scope } from "./records.ts";

export const transferEventGroupsTable = pgTable(
  "transfer_event_groups",
  {
    project: identifier("project").notNull(),
    chainId: int8("chain_id").notNull(),
    token: bytea("token").notNull(),
    wallet: bytea("wallet").notNull(),
    block: int8("block").notNull(),
    logIndex: integer("log_index").notNull(),
    /** Decimal group ids after the log, separated by commas; empty for none. */
    groups: text("groups").notNull(),
  },
  (t) => [primaryKey({ columns: [t.project, t.chainId, t.token, t.wallet, t.block, t.logIndex] })],
);

type Hex = `0x${string}`;

const GROUP_SET = Buffer.from(
  keccak_256(Buffer.from("AddressTransferGroup(address,address,uint256)")),
);

export type NewGroups = {
  readonly token: Hex;
  readonly wallet: Hex;
  readonly groups: readonly bigint[];
  readonly block: bigint;
  readonly logIndex: number;
};

export const appendGroups = (
  { sql }: Tx,
  { project, chainId }: Scope,
  changes: readonly NewGroups[],
): Promise<void> =>
  appendRows(
    sql,
    transferEventGroupsTable,
    changes.map(({ token, wallet, groups, block, logIndex }) => ({
      project,
      chainId: BigInt(chainId),
      token: bytesOf(token),
      wallet: bytesOf(wallet),
      block,
      logIndex,
      groups: groups.join(","),
    })),
  );

/** Deletes the records and groups of a block and of all later ones, and the holds that begin there. */
export const withdraw = async (tx: Tx, scope: Scope, fromBlock: bigint): Promise<void> => {
  const { sql } = tx;
  const { project, chainId } = scope;
  await sql`
    delete from transfer_events
    where project = ${project} and chain_id = ${chainId} and block >= ${fromBlock}`;
  await sql`
    delete from transfer_event_groups
    where project = ${project} and chain_id = ${chainId} and block >= ${fromBlock}`;
  await withdrawHolds(tx, scope, fromBlock);
};

/** Wallets never set are absent. */
export const groupsBefore = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  token: Hex,
  wallets: ReadonlySet<Hex>,
  block: bigint,
): Promise<Map<Hex, readonly bigint[]>> => {
  const rows = await sql<{ wallet: Buffer; groups: string }[]>`
    select asked.wallet, newest.groups
    from unnest(${byteas([...wallets].map(bytesOf))}::bytea[]) as asked (wallet)
    cross join lateral (
      select groups from transfer_event_groups g
      where g.project = ${project} and g.chain_id = ${chainId} and g.token = ${bytesOf(token)}
        and g.wallet = asked.wallet and g.block < ${block}
      order by g.block desc, g.log_index desc limit 1) as newest`;
  return new Map(rows.map(({ wallet, groups }) => [hexOf(wallet), idsIn(groups)]));
};

const idsIn = (groups: string): readonly bigint[] =>
  groups === "" ? [] : groups.split(",").map(BigInt);

/** A wallet's groups just before a transaction, and their block; null when never set. */
export const groupsBeforeTransaction = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  token: Hex,
  wallet: Hex,
  { block, index }: { readonly block: bigint; readonly index: number },
): Promise<{ readonly groups: readonly bigint[]; readonly block: bigint } | null> => {
  const [row] = await sql<{ groups: string; block: bigint }[]>`
    select g.groups, g.block from transfer_event_groups g
    where g.project = ${project} and g.chain_id = ${chainId} and g.token = ${bytesOf(token)}
      and g.wallet = ${bytesOf(wallet)} and g.block <= ${block}
      and (g.block < ${block} or exists (
        select 1 from evm_facts f
        where f.chain_id = g.chain_id and f.token = g.token and f.block = g.block
          and f.log_index = g.log_index and f.tx_index < ${index}))
    order by g.block desc, g.log_index desc limit 1`;
  return row === undefined ? null : { groups: idsIn(row.groups), block: row.block };
};

/** Whether a transaction put a wallet into exactly this group, in a final block; null if not. */
export const groupSetBy = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  token: Hex,
  set: { readonly wallet: Hex; readonly group: bigint; readonly txHash: Hex },
): Promise<{ readonly final: boolean } | null> => {
  const [found] = await sql<{ final: boolean }[]>`
    select f.block <= c.final_block as final from transfer_event_groups g
    join evm_facts f on f.chain_id = g.chain_id and f.token = g.token and f.block = g.block
      and f.log_index = g.log_index
    join evm_chains c on c.chain_id = g.chain_id
    where g.project = ${project} and g.chain_id = ${chainId} and g.token = ${bytesOf(token)}
      and g.wallet = ${bytesOf(set.wallet)} and g.groups = ${String(set.group)}
      and f.tx_hash = ${bytesOf(set.txHash)}
      and substring(f.topics from 1 for 32) = ${GROUP_SET}
    limit 1`;
  return found ?? null;
};
