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
import type { Address, EvmFact } from "../evm/contract/fact.ts";
import { leftOutFacts, noteEvent } from "../projections/quarantines.ts";
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

/** The pipeline of a project's holds in `quarantines`. */
export const heldIn = (project: string): string => `transfer_events ${project}`;

/** A token in `quarantines`. */
export const heldName = (chainId: number, token: Address): string => `${chainId}:${token}`;

/** Logs that an operator left out, by `leftOutKey`. */
export type LeftOut = ReadonlySet<string>;

export const readLeftOut = async ({ sql }: Pick<Db, "sql">, { project }: Scope): Promise<LeftOut> =>
  new Set(
    (await leftOutFacts(sql, heldIn(project))).map(({ coinType, checkpoint, index, txDigest }) =>
      [coinType, checkpoint, index, txDigest].join(" "),
    ),
  );

export const leftOutKey = (
  chainId: number,
  { token, block, logIndex, transaction }: EvmFact,
): string => [heldName(chainId, token), block.number, logIndex, transaction.hash].join(" ");

/** As `held-coins.ts` names what is held. */
export const heldToken = ({ project, chainId, token, block, reason, since }: Hold) => ({
  pipeline: heldIn(project),
  coinType: heldName(chainId, token),
  from: block,
  fact: null,
  reason,
  since,
});

const LONGEST_REASON = 500;

/** Holds a token from a log on; a token held already is held further on. */
export const holdToken = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  { fact, event, message }: UnappliableLogError,
): Promise<void> => {
  const { block, transaction, token, logIndex } = fact;
  const [before] = await sql<{ block: bigint; log_index: number }[]>`
    select block, log_index from transfer_event_holds
    where project = ${project} and chain_id = ${chainId} and token = ${bytesOf(token)}`;
  const reason = message.slice(0, LONGEST_REASON).replaceAll("\0", "\ufffd").toWellFormed();
  await sql`
    insert into transfer_event_holds
      (project, chain_id, token, block, log_index, tx_hash, reason, next_block, after_id)
    values (${project}, ${chainId}, ${bytesOf(token)}, ${block.number}, ${logIndex},
            ${bytesOf(transaction.hash)}, ${reason}, ${block.number}, ${idBefore(block.timestamp)})
    on conflict (project, chain_id, token) do update
    set block = excluded.block, log_index = excluded.log_index, tx_hash = excluded.tx_hash,
        reason = excluded.reason, next_block = excluded.next_block, retrying = false`;
  if (before?.block === block.number && before.log_index === logIndex) return;
  await noteEvent(sql, heldIn(project), heldName(chainId, token), {
    event: "held",
    checkpoint: block.number,
    transaction: transaction.index,
    kind: "event",
    index: logIndex,
    type: event,
    txDigest: transaction.hash,
    reason,
  });
};

/** The token's records of blocks before this one are there now. */
export const moveHold = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  token: Address,
  nextBlock: bigint,
): Promise<void> => {
  await sql`
    update transfer_event_holds set next_block = ${nextBlock}
    where project = ${project} and chain_id = ${chainId} and token = ${bytesOf(token)}`;
};

/** All records of the token up to this block are there, or were withdrawn with the log that held it. */
export const releaseHold = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  token: Address,
  lastBlock: bigint,
): Promise<void> => {
  await sql`
    delete from transfer_event_holds
    where project = ${project} and chain_id = ${chainId} and token = ${bytesOf(token)}`;
  const released = { event: "released", checkpoint: lastBlock } as const;
  await noteEvent(sql, heldIn(project), heldName(chainId, token), released);
};

/** Has the next steps apply held facts again: of all tokens of the scope, or of one. */
export const retryHolds = async (
  { sql }: Pick<Tx, "sql">,
  { project, chainId }: Scope,
  token: Address | null = null,
): Promise<void> => {
  await sql`
    update transfer_event_holds set retrying = true
    where project = ${project} and chain_id = ${chainId}
      and (${token === null ? null : bytesOf(token)}::bytea is null or token = ${token === null ? null : bytesOf(token)})`;
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
export const withdrawHolds = async (tx: Tx, scope: Scope, fromBlock: bigint): Promise<void> => {
  const { sql } = tx;
  const { project, chainId } = scope;
  for (const { token, block } of await holdsOf(tx, scope)) {
    if (block >= fromBlock) await releaseHold(tx, scope, token, fromBlock - 1n);
  }
  await sql`
    update transfer_event_holds set next_block = ${fromBlock}
    where project = ${project} and chain_id = ${chainId} and next_block > ${fromBlock}`;
  await sql`
    delete from transfer_event_reserved_ids
    where project = ${project} and chain_id = ${chainId} and block >= ${fromBlock}`;
};
