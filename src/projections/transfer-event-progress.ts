/** How far the records of each project on each network are: the watermarks of `transfer_events`. */
import { pgTable, primaryKey, text, timestamp } from "drizzle-orm/pg-core";
import type { Db, Tx } from "../database/connect.ts";
import { isSerializationFailure } from "../database/database-error.ts";
import { lowest } from "../evm/block-numbers.ts";
import type { Remedy } from "../remedy.ts";
import { identifier, int8 } from "./column-types.ts";
import type { Scope } from "./transfer-events.ts";

export const transferEventProgressTable = pgTable(
  "transfer_event_progress",
  {
    project: identifier("project").notNull(),
    chainId: int8("chain_id").notNull(),
    /** Tokens, how they are read, and the network's place, as the records were made with them. */
    settings: text("settings").notNull(),
    /** First block of the tokens. */
    firstBlock: int8("first_block").notNull(),
    /** Next block to make records of: every one below is in them. */
    nextBlock: int8("next_block").notNull(),
    /** Step of the network's log that was seen last: rollbacks after it are still to be followed. */
    step: int8("step").notNull(),
    /** Callbacks of all records up to this block are enqueued. */
    notifiedBlock: int8("notified_block").notNull(),
    committedAt: timestamp("committed_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.project, t.chainId] })],
);

/** Where a project stands on a network. */
export type Progress = {
  readonly nextBlock: bigint;
  readonly step: bigint;
  readonly notifiedBlock: bigint;
};

/**
 * Another writer moved this watermark first; our transaction rolled back. Two processes make these
 * records: stop this one and alert.
 */
export class TransferEventsMovedError extends Error {
  override readonly name = "TransferEventsMovedError";
  readonly remedy: Remedy = "stop";

  constructor({ project, chainId }: Scope, block: bigint) {
    super(
      `transfer_events of ${project} on chain ${chainId}: the watermark no longer expects block ${block}; another process runs this pipeline`,
    );
  }
}

/**
 * Makes the watermark of a scope, or keeps it. When tokens, how they are read, or the network's place
 * have changed, the records so far are forgotten: their ids and contents follow from those.
 */
export const registerScope = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  { settings, firstBlock }: { readonly settings: string; readonly firstBlock: bigint },
): Promise<void> => {
  const [kept] = await sql<{ settings: string; first_block: bigint }[]>`
    select settings, first_block from transfer_event_progress
    where project = ${project} and chain_id = ${chainId} for update`;
  if (kept?.settings === settings) return;
  if (kept !== undefined) await forgetScope({ sql }, { project, chainId });
  // A later first block takes nothing away: the log still has what was before it.
  const first = kept === undefined ? firstBlock : lowest(kept.first_block, firstBlock);
  await sql`
    insert into transfer_event_progress
      (project, chain_id, settings, first_block, next_block, step, notified_block)
    values (${project}, ${chainId}, ${settings}, ${first}, ${first}, 0, -1)`;
};

/** Forgets the records of scopes that are not configured any more. */
export const forgetOtherScopes = async (tx: Tx, scopes: readonly Scope[]): Promise<void> => {
  const rows = await tx.sql<{ project: string; chain_id: bigint }[]>`
    select project, chain_id from transfer_event_progress`;
  for (const { project, chain_id } of rows) {
    const chainId = Number(chain_id);
    if (scopes.some((scope) => scope.project === project && scope.chainId === chainId)) continue;
    await forgetScope(tx, { project, chainId });
  }
};

const forgetScope = async ({ sql }: Pick<Tx, "sql">, { project, chainId }: Scope) => {
  await Promise.all([
    sql`delete from transfer_events where project = ${project} and chain_id = ${chainId}`,
    sql`delete from transfer_event_groups where project = ${project} and chain_id = ${chainId}`,
    sql`delete from transfer_event_progress where project = ${project} and chain_id = ${chainId}`,
  ]);
};

/** Null for a scope that was never registered. */
export const readProgress = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
): Promise<Progress | null> => {
  const [row] = await sql<{ next_block: bigint; step: bigint; notified_block: bigint }[]>`
    select next_block, step, notified_block from transfer_event_progress
    where project = ${project} and chain_id = ${chainId}`;
  return row === undefined
    ? null
    : { nextBlock: row.next_block, step: row.step, notifiedBlock: row.notified_block };
};

/**
 * Takes a watermark for the rest of a repeatable-read transaction, before it writes: a second writer
 * queues here, and then finds the watermark moved.
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
 * Moves a watermark, compare-and-set.
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
    set next_block = ${to.nextBlock}, step = ${to.step}, notified_block = ${to.notifiedBlock},
        committed_at = clock_timestamp()
    where project = ${scope.project} and chain_id = ${scope.chainId}
      and next_block = ${from.nextBlock} and step = ${from.step}
      and notified_block = ${from.notifiedBlock}`;
  if (count !== 1) throw new TransferEventsMovedError(scope, from.nextBlock);
};
