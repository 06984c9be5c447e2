/**
 * Tokens in quarantine, per project: a log of the token could not be applied, so that the token has no records from its
 * block on. All other tokens go on. The held facts are the log's own (`evm_facts`).
 */
import { boolean, index, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { at, bytea, identifier, int8 } from "../database/column-types.ts";
import type { Db, Tx } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { appendRows } from "../database/table-rows.ts";
import type { UnappliableLogError } from "../evm/contract/events.ts";
import type { Address } from "../evm/contract/fact.ts";
import { bytesOf, hexOf } from "../values/hex-bytes.ts";
import { idBefore } from "./ids.ts";
import type { Scope } from "./records.ts";

export const transferEventHoldsTable = pgTable(
  "transfer_event_holds",
  {
    project: identifier("project").notNull(),
    chainId: int8("chain_id").notNull(),
    token: bytea("token").notNull(),
    /** Place of the log that could not be applied. */
    block: int8("block").notNull(),
    logIndex: integer("log_index").notNull(),
    txHash: bytea("tx_hash").notNull(),
    reason: text("reason").notNull(),
    since: at("since").notNull().defaultNow(),
    /** The token's records of blocks before this one are there; rises during a retry. */
    nextBlock: int8("next_block").notNull(),
    /** Ids of the missing records are larger. */
    afterId: int8("after_id").notNull(),
    /** An operator has the held facts applied again. */
    retrying: boolean("retrying").notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.project, t.chainId, t.token] })],
);

/** Ids of Transfer logs without a record, so that records after them have the ids that they would have. */
export const transferEventReservedIdsTable = pgTable(
  "transfer_event_reserved_ids",
  {
    project: identifier("project").notNull(),
    chainId: int8("chain_id").notNull(),
    block: int8("block").notNull(),
    logIndex: integer("log_index").notNull(),
    token: bytea("token").notNull(),
    txHash: bytea("tx_hash").notNull(),
    id: int8("id").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.project, t.chainId, t.block, t.logIndex] }),
    index("transfer_event_reserved_ids_of_transaction").on(t.project, t.txHash),
  ],
);

export type NewReservedId = typeof transferEventReservedIdsTable.$inferSelect;

export type Hold = Scope & {
  readonly token: Address;
  readonly block: bigint;
  readonly logIndex: number;
  readonly txHash: Address;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
  readonly nextBlock: bigint;
  readonly afterId: bigint;
  readonly retrying: boolean;
};

/** Held tokens of a project, or of all, by project, chain and token. */
export const holdsOf = async (
  { sql }: Pick<Db, "sql">,
  { project = null, chainId = null }: Partial<{ [K in keyof Scope]: Scope[K] | null }> = {},
): Promise<readonly Hold[]> => {
  const rows = await sql<
    (Omit<Hold, "token" | "txHash"> & { readonly token: Buffer; readonly txHash: Buffer })[]
  >`
    select project, chain_id::float8 as "chainId", token, block, log_index as "logIndex",
           tx_hash as "txHash", reason, ${isoTime(sql, "since")} as since,
           next_block as "nextBlock", after_id as "afterId", retrying
    from transfer_event_holds
    where (${project}::text is null or project = ${project})
      and (${chainId}::int8 is null or chain_id = ${chainId})
    order by project, chain_id, token`;
  return rows.map(({ token, txHash, ...row }) => ({
    ...row,
    token: hexOf(token),
    txHash: hexOf(txHash),
  }));
};

const LONGEST_REASON = 500;

/** Holds a token from a log on; a token held already is held further on. */
export const holdToken = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  { fact, message }: UnappliableLogError,
): Promise<void> => {
  const { block, transaction, token, logIndex } = fact;
  const reason = message.slice(0, LONGEST_REASON).replaceAll("\0", "\ufffd").toWellFormed();
  await sql`
    insert into transfer_event_holds
      (project, chain_id, token, block, log_index, tx_hash, reason, next_block, after_id)
    values (${project}, ${chainId}, ${bytesOf(token)}, ${block.number}, ${logIndex},
            ${bytesOf(transaction.hash)}, ${reason}, ${block.number}, ${idBefore(block.timestamp)})
    on conflict (project, chain_id, token) do update
    set block = excluded.block, log_index = excluded.log_index, tx_hash = excluded.tx_hash,
        reason = excluded.reason, next_block = excluded.next_block, retrying = false`;
};

/** @param nextBlock records before it are there now; null: all of them, so that the token is held no longer */
export const moveHold = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  token: Address,
  nextBlock: bigint | null,
): Promise<void> => {
  const held = sql`project = ${project} and chain_id = ${chainId} and token = ${bytesOf(token)}`;
  if (nextBlock === null) await sql`delete from transfer_event_holds where ${held}`;
  else await sql`update transfer_event_holds set next_block = ${nextBlock} where ${held}`;
};

/** Has the next step apply a token's held facts again, in every project; how many hold it. */
export const retryHolds = async (
  { sql }: Pick<Tx, "sql">,
  chainId: number,
  token: Address,
): Promise<number> => {
  const { count } = await sql`
    update transfer_event_holds set retrying = true
    where chain_id = ${chainId} and token = ${bytesOf(token)}`;
  return count;
};

export const reserveIds = ({ sql }: Tx, rows: readonly NewReservedId[]): Promise<void> =>
  appendRows(sql, transferEventReservedIdsTable, rows);

/** Takes back the ids of a token's Transfer logs from a block to before another, by place. */
export const takeReservedIds = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  token: Address,
  { from, until }: { readonly from: bigint; readonly until: bigint },
): Promise<ReadonlyMap<string, bigint>> => {
  const rows = await sql<{ block: bigint; log_index: number; id: bigint }[]>`
    delete from transfer_event_reserved_ids
    where project = ${project} and chain_id = ${chainId} and token = ${bytesOf(token)}
      and block >= ${from} and block < ${until}
    returning block, log_index, id`;
  return new Map(rows.map(({ block, log_index, id }) => [placeKey(block, log_index), id]));
};

export const placeKey = (block: bigint, logIndex: number): string => `${block} ${logIndex}`;

/** Releases tokens whose log a reorganisation withdrew, and frees the ids of a block and of all later ones. */
export const withdrawHolds = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  fromBlock: bigint,
): Promise<void> => {
  await sql`
    delete from transfer_event_holds
    where project = ${project} and chain_id = ${chainId} and block >= ${fromBlock}`;
  await sql`
    update transfer_event_holds set next_block = ${fromBlock}
    where project = ${project} and chain_id = ${chainId} and next_block > ${fromBlock}`;
  await sql`
    delete from transfer_event_reserved_ids
    where project = ${project} and chain_id = ${chainId} and block >= ${fromBlock}`;
};
