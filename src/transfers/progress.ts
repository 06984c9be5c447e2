/** Watermarks of `transfer_events`, per project and network. */
import { sql } from "drizzle-orm";
import { pgTable, primaryKey, smallint, text, unique } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { at, identifier, int8 } from "../database/column-types.ts";
import type { Db, Sql, Tx } from "../database/connect.ts";
import { isSerializationFailure } from "../database/database-error.ts";
import { bytesOf } from "../values/hex-bytes.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { withdraw } from "./groups.ts";
import type { Scope } from "./records.ts";

export const transferEventProgressTable = pgTable(
  "transfer_event_progress",
  {
    project: identifier("project").notNull(),
    chainId: int8("chain_id").notNull(),
    /** Index of the network in the project's ids, from 0, fixed for the life of this database. */
    place: smallint("place").notNull(),
    /** Inputs of the records, see `settingsOf`; empty while there are none. */
    settings: text("settings").notNull().default(""),
    /** The tokens' lowest first block. */
    firstBlock: int8("first_block").notNull(),
    /** Next block to derive records from. */
    nextBlock: int8("next_block").notNull(),
    /** Last step seen of the network's log: later rollbacks are still to be applied. */
    step: int8("step").notNull().default(sql`0`),
    /** Callbacks of all records up to this block are enqueued. */
    notifiedBlock: int8("notified_block").notNull().default(sql`-1`),
    /** Records up to this block became final without a callback address: never sent. */
    silentBlock: int8("silent_block").notNull().default(sql`-1`),
    committedAt: at("committed_at").notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.project, t.chainId] }), unique().on(t.project, t.place)],
);

export type Progress = {
  readonly settings: string;
  readonly firstBlock: bigint;
  readonly nextBlock: bigint;
  readonly step: bigint;
  readonly notifiedBlock: bigint;
  readonly silentBlock: bigint;
};

/** Another process derives these records too; this transaction rolled back. Stop this process. */
export class TransferEventsMovedError extends Error {
  override readonly name = "TransferEventsMovedError";
  readonly remedy: Remedy = "stop";

  constructor({ project, chainId }: Scope, block: bigint) {
    super(
      `transfer_events of ${project} on chain ${chainId}: the watermark no longer expects block ${block}; another process runs this pipeline`,
    );
  }
}

/** A new network comes after all that the project ever had, so that existing ids stay. */
export const registerScope = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  firstBlock: bigint,
): Promise<void> => {
  await sql`
    insert into transfer_event_progress (project, chain_id, place, first_block, next_block)
    select ${project}, ${chainId}, coalesce(max(place) + 1, 0), ${firstBlock}, ${firstBlock}
    from transfer_event_progress where project = ${project}
    on conflict (project, chain_id) do nothing`;
};

/** Chains of a project in the order of its ids, including former ones. */
export const placedChains = async (
  { sql }: Pick<Db, "sql">,
  project: string,
): Promise<readonly number[]> => {
  const rows = await sql<{ chain_id: bigint }[]>`
    select chain_id from transfer_event_progress where project = ${project} order by place`;
  return rows.map(({ chain_id }) => Number(chain_id));
};

export const withdrawOtherScopes = async (tx: Tx, scopes: readonly Scope[]): Promise<void> => {
  const rows = await tx.sql<{ project: string; chain_id: bigint }[]>`
    select project, chain_id from transfer_event_progress where settings <> ''`;
  for (const { project, chain_id } of rows) {
    const chainId = Number(chain_id);
    if (scopes.some((scope) => scope.project === project && scope.chainId === chainId)) continue;
    await withdraw(tx, { project, chainId }, 0n);
    await tx.sql`
      update transfer_event_progress set settings = '', next_block = first_block
      where project = ${project} and chain_id = ${chainId}`;
  }
};

/** Null for an unregistered scope. */
export const readProgress = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
): Promise<(Progress & { readonly place: number }) | null> => {
  const [row] = await sql<(Progress & { readonly place: number })[]>`
    select place, settings, first_block as "firstBlock", next_block as "nextBlock", step,
           notified_block as "notifiedBlock", silent_block as "silentBlock"
    from transfer_event_progress where project = ${project} and chain_id = ${chainId}`;
  return row ?? null;
};

/** The next run derives records again; the old ones are served until then. */
export const remakeTransferEvents = async (
  { sql }: Pick<Tx, "sql">,
  chainId: number | null = null,
): Promise<void> => {
  await sql`
    update transfer_event_progress set settings = 'derive again'
    where settings <> '' and (${chainId}::int8 is null or chain_id = ${chainId})`;
};

export type RecordsMark = {
  readonly project: string;
  readonly chainId: number;
  /** Slug, such as `avalanche_fuji`. */
  readonly network: string;
  readonly nextBlock: bigint;
  /** Null before the network was first read. */
  readonly headBlock: bigint | null;
};

/** Watermarks of these projects on every chain, including former ones. */
export const recordsProgress = async (
  { sql }: Pick<Db, "sql">,
  projects: readonly string[],
): Promise<readonly (Scope & Pick<Progress, "nextBlock" | "notifiedBlock">)[]> => {
  const rows = await sql<
    { project: string; chainId: bigint; nextBlock: bigint; notifiedBlock: bigint }[]
  >`
    select project, chain_id as "chainId", next_block as "nextBlock",
           notified_block as "notifiedBlock"
    from transfer_event_progress where project = any(${texts(projects)}::text[])`;
  return rows.map((row) => ({ ...row, chainId: Number(row.chainId) }));
};

/** Watermarks of every project and network with records, by name. */
export const recordsMarks = async ({
  sql,
}: Pick<Db, "sql">): Promise<readonly RecordsMark[]> => sql<RecordsMark[]>`
  select p.project, p.chain_id::float8 as "chainId", c.network, p.next_block as "nextBlock", c.head_block as "headBlock"
  from transfer_event_progress p join evm_chains c on c.chain_id = p.chain_id
  where p.settings <> '' order by p.project, p.place`;

/** First block without the records of a token in quarantine; null for others. */
const heldFrom = (sql: Sql, token: `0x${string}`) => sql`(
  select h.next_block from transfer_event_holds h
  where h.project = p.project and h.chain_id = p.chain_id and h.token = ${bytesOf(token)})`;

/** First block without the token's records; null while it has none. */
export const recordsEnd = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  token: `0x${string}`,
): Promise<bigint | null> => {
  const [row] = await sql<{ next_block: bigint }[]>`
    select least(next_block, ${heldFrom(sql, token)}) as next_block from transfer_event_progress p
    where project = ${project} and chain_id = ${chainId} and position(${token} in settings) > 0`;
  return row?.next_block ?? null;
};

/** Last block with final records of the token and no pending rollback; null while it has none. */
export const finalRecordsEnd = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  token: `0x${string}`,
): Promise<bigint | null> => {
  const [row] = await sql<{ block: bigint }[]>`
    select least(p.next_block - 1, c.final_block, ${heldFrom(sql, token)} - 1, (
      select min(to_block) from evm_rollbacks r where r.chain_id = p.chain_id and r.step > p.step
    )) as block
    from transfer_event_progress p join evm_chains c on c.chain_id = p.chain_id
    where p.project = ${project} and p.chain_id = ${chainId} and position(${token} in p.settings) > 0`;
  return row?.block ?? null;
};

/**
 * Locks a watermark for the rest of a repeatable-read transaction, before it writes: a second
 * writer queues here and then fails.
 * @throws TransferEventsMovedError (stop)
 */
export const claimProgress = async (
  { sql }: Tx,
  scope: Scope,
  { nextBlock }: Progress,
): Promise<void> => {
  try {
    await sql`
      select 1 from transfer_event_progress
      where project = ${scope.project} and chain_id = ${scope.chainId} for no key update`;
  } catch (error) {
    if (isSerializationFailure(error)) throw new TransferEventsMovedError(scope, nextBlock);
    throw error;
  }
};

/**
 * Compare-and-set.
 * @throws TransferEventsMovedError (stop)
 */
export const moveProgress = async (
  { sql }: Tx,
  scope: Scope,
  from: Progress,
  to: Progress,
): Promise<void> => {
  const { count } = await sql`
    update transfer_event_progress
    set settings = ${to.settings}, first_block = ${to.firstBlock}, next_block = ${to.nextBlock},
        step = ${to.step}, notified_block = ${to.notifiedBlock}, silent_block = ${to.silentBlock},
        committed_at = clock_timestamp()
    where project = ${scope.project} and chain_id = ${scope.chainId}
      and settings = ${from.settings} and next_block = ${from.nextBlock} and step = ${from.step}
      and notified_block = ${from.notifiedBlock}`;
  if (count !== 1) throw new TransferEventsMovedError(scope, from.nextBlock);
};
