/**
 * Transfer events per project: one immutable row per Transfer log, withdrawn when the chain
 * replaces its block. The table's declaration is the only list of its columns.
 */
import { type AnyColumn, getTableColumns } from "drizzle-orm";
import { index, integer, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { bigints } from "../database/column-arrays.ts";
import { bytea, identifier, int8, uint256 } from "../database/column-types.ts";
import type { Db, Tx } from "../database/connect.ts";
import type { RawRow } from "../database/readers.ts";
import { appendRows, placesOf } from "../database/table-rows.ts";

/** One index per query: all, one transaction, one recipient; and a network's, for withdrawing. */
export const transferEventsTable = pgTable(
  "transfer_events",
  {
    project: identifier("project").notNull(),
    /** See `ids.ts`. */
    id: int8("id").notNull(),
    chainId: int8("chain_id").notNull(),
    block: int8("block").notNull(),
    /** Unix seconds. */
    blockTimestamp: int8("block_timestamp").notNull(),
    logIndex: integer("log_index").notNull(),
    txHash: bytea("tx_hash").notNull(),
    token: bytea("token").notNull(),
    methodName: identifier("method_name").notNull(),
    /** In the token's smallest unit. */
    amount: uint256("amount").notNull(),
    sender: bytea("sender").notNull(),
    recipient: bytea("recipient").notNull(),
    /** Null where the wallet has no known group. */
    senderGroup: uint256("sender_group"),
    recipientGroup: uint256("recipient_group"),
    /** Null for a movement that funds no grant, as are all columns below. */
    scheduleId: uint256("schedule_id"),
    /** Unix seconds. */
    commencementTimestamp: uint256("commencement_timestamp"),
    /** Null, with the other three, where the contract does not return the schedule. */
    releaseCount: uint256("release_count"),
    delayUntilFirstReleaseInSeconds: uint256("delay_until_first_release_in_seconds"),
    initialReleasePortionInBips: uint256("initial_release_portion_in_bips"),
    periodBetweenReleasesInSeconds: uint256("period_between_releases_in_seconds"),
  },
  (t) => [
    primaryKey({ columns: [t.project, t.id] }),
    index("transfer_events_of_transaction").on(t.project, t.txHash, t.id),
    index("transfer_events_of_recipient").on(t.project, t.recipient, t.id),
    index("transfer_events_of_network").on(t.project, t.chainId, t.block, t.id),
  ],
);

export type NewTransferEvent = typeof transferEventsTable.$inferSelect;

export type Scope = { readonly project: string; readonly chainId: number };

/** An existing record is an error: withdraw replaced ones first. */
export const appendTransferEvents = ({ sql }: Tx, rows: readonly NewTransferEvent[]) =>
  appendRows(sql, transferEventsTable, rows);

/** Id of the last record before a block, or reserved for one; null when there is none. */
export const lastTransferEventBefore = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  block: bigint,
): Promise<bigint | null> => {
  const before = sql`project = ${project} and chain_id = ${chainId} and block < ${block}`;
  const [row] = await sql<{ id: bigint | null }[]>`
    select greatest(
      (select id from transfer_events where ${before} order by block desc, id desc limit 1),
      (select id from transfer_event_reserved_ids where ${before}
       order by block desc, log_index desc limit 1)) as id`;
  return row?.id ?? null;
};

/** All columns but the project, which the reader knows. */
const { project: _, ...readColumns } = getTableColumns(transferEventsTable);

/** A record's columns as texts: decimal digits, or `0x` and hex digits. */
export type TransferEvent = RawRow;

/** Index of each column in a `TransferEvent`. */
export const AT = placesOf(readColumns);

/** Numbers and bytes as text: they are only printed. */
const selected = (key: string, column: AnyColumn): string => {
  const type = column.getSQLType();
  if (type === "bytea") return `'0x' || encode(${column.name}, 'hex') as "${key}"`;
  return `${column.name}${type === "bigint" ? "::text" : ""} as "${key}"`;
};

/** Select list of a `TransferEvent`. Qualify columns in `order by`: bare names mean these texts. */
export const TRANSFER_EVENT = Object.entries(readColumns)
  .map(([key, column]) => selected(key, column))
  .join(", ");

const NOTHING = Buffer.alloc(0);

/** Text of a non-null column. */
export const textAt = (event: TransferEvent, place: number): Buffer => event[place] ?? NOTHING;

/**
 * Records of whole blocks after `afterBlock` up to `toBlock`, in chain order, within `limit`, but
 * at least one block with records.
 */
export const transferEventsOfBlocks = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  {
    afterBlock,
    toBlock,
    limit,
  }: {
    readonly afterBlock: bigint;
    readonly toBlock: bigint;
    readonly limit: number;
  },
): Promise<{ readonly events: readonly TransferEvent[]; readonly lastBlock: bigint }> => {
  const within = (last: bigint) => sql`
    project = ${project} and chain_id = ${chainId} and block > ${afterBlock} and block <= ${last}`;
  const [cut] = await sql<{ block: bigint; first: bigint }[]>`
    select block, (select min(block) from transfer_events where ${within(toBlock)}) as first
    from transfer_events where ${within(toBlock)}
    order by block, id offset ${limit} limit 1`;
  // The block at the limit is left for the next call, unless it is the only one.
  const lastBlock =
    cut === undefined ? toBlock : cut.block > cut.first ? cut.block - 1n : cut.first;
  const events = await sql`
    select ${sql.unsafe(TRANSFER_EVENT)} from transfer_events where ${within(lastBlock)}
    order by transfer_events.block, transfer_events.id`.raw();
  return { events, lastBlock };
};

/** By id. */
export const transferEventsOfIds = async (
  { sql }: Pick<Db, "sql">,
  { project }: Pick<Scope, "project">,
  ids: readonly bigint[],
): Promise<readonly TransferEvent[]> =>
  await sql`
    select ${sql.unsafe(TRANSFER_EVENT)} from transfer_events
    where project = ${project} and id = any(${bigints(ids)}::int8[])
    order by transfer_events.id`.raw();
