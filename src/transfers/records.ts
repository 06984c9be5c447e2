/**
 * Transfer events of EVM security tokens, per project: one row per Transfer log, withdrawn when the
 * chain replaces its block, never changed.
 */
import { index, integer, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { asInt8, bytea, identifier, int8, uint256 } from "../database/column-types.ts";
import type { Db, Tx } from "../database/connect.ts";
import { copyInto } from "../database/copy.ts";
import type { Parameter, RawReads, RawRow } from "../database/readers.ts";
import { bytesOf } from "../values/hex-bytes.ts";

/** One index per way in: all, one transaction, one recipient; and a network's own, for withdrawing. */
export const transferEventsTable = pgTable(
  "transfer_events",
  {
    project: identifier("project").notNull(),
    /** See `transfer-event-id.ts`. */
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
    /** Null where the wallet has no group known. */
    senderGroup: uint256("sender_group"),
    recipientGroup: uint256("recipient_group"),
    /** Null for a movement that funds no grant, and with it everything below. */
    scheduleId: uint256("schedule_id"),
    /** Unix seconds. */
    commencementTimestamp: uint256("commencement_timestamp"),
    /** Null, and with it the other three, where the contract refuses to tell of the schedule. */
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

/** `0x` and hex digits in lower case. */
type Hex = `0x${string}`;

/** A row on its way in. */
export type NewTransferEvent = {
  readonly id: bigint;
  readonly block: bigint;
  readonly blockTimestamp: bigint;
  readonly logIndex: number;
  readonly txHash: Hex;
  readonly token: Hex;
  readonly methodName: string;
  readonly amount: bigint;
  readonly sender: Hex;
  readonly recipient: Hex;
  readonly senderGroup: bigint | null;
  readonly recipientGroup: bigint | null;
  readonly scheduleId: bigint | null;
  readonly commencementTimestamp: bigint | null;
  readonly releaseCount: bigint | null;
  readonly delayUntilFirstReleaseInSeconds: bigint | null;
  readonly initialReleasePortionInBips: bigint | null;
  readonly periodBetweenReleasesInSeconds: bigint | null;
};

const COLUMNS = [
  "project",
  "id",
  "chain_id",
  "block",
  "block_timestamp",
  "log_index",
  "tx_hash",
  "token",
  "method_name",
  "amount",
  "sender",
  "recipient",
  "sender_group",
  "recipient_group",
  "schedule_id",
  "commencement_timestamp",
  "release_count",
  "delay_until_first_release_in_seconds",
  "initial_release_portion_in_bips",
  "period_between_releases_in_seconds",
];

/** The records of one project on one network. */
export type Scope = { readonly project: string; readonly chainId: number };

/** Appends records. One that is already there is an error: what is replaced is withdrawn first. */
export const appendTransferEvents = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  rows: readonly NewTransferEvent[],
): Promise<void> => {
  if (rows.length === 0) return;
  const chain = BigInt(chainId);
  await copyInto(sql, "transfer_events", COLUMNS, rows, (row, fields) => {
    fields.text(project);
    fields.bigint(row.id);
    fields.bigint(chain);
    fields.bigint(row.block);
    fields.bigint(row.blockTimestamp);
    fields.integer(row.logIndex);
    fields.bytea(bytesOf(row.txHash));
    fields.bytea(bytesOf(row.token));
    fields.text(row.methodName);
    fields.numeric(row.amount);
    fields.bytea(bytesOf(row.sender));
    fields.bytea(bytesOf(row.recipient));
    fields.numeric(row.senderGroup);
    fields.numeric(row.recipientGroup);
    fields.numeric(row.scheduleId);
    fields.numeric(row.commencementTimestamp);
    fields.numeric(row.releaseCount);
    fields.numeric(row.delayUntilFirstReleaseInSeconds);
    fields.numeric(row.initialReleasePortionInBips);
    fields.numeric(row.periodBetweenReleasesInSeconds);
  });
};

/** Withdraws the records from a block on. */
export const withdrawTransferEvents = async (
  { sql }: Tx,
  { project, chainId }: Scope,
  fromBlock: bigint,
): Promise<void> => {
  await sql`
    delete from transfer_events
    where project = ${project} and chain_id = ${chainId} and block >= ${fromBlock}`;
};

/** Id of the last record before a block; null when there is none. */
export const lastTransferEventBefore = async (
  { sql }: Pick<Db, "sql">,
  { project, chainId }: Scope,
  block: bigint,
): Promise<bigint | null> => {
  const [row] = await sql<{ id: bigint }[]>`
    select id from transfer_events
    where project = ${project} and chain_id = ${chainId} and block < ${block}
    order by block desc, id desc limit 1`;
  return row?.id ?? null;
};

/** A record as it is read: numbers as decimal digits, bytes as `0x` and hex digits. */
export type TransferEvent = {
  readonly id: string;
  readonly chainId: string;
  readonly block: string;
  /** Unix seconds. */
  readonly blockTimestamp: string;
  readonly logIndex: number;
  readonly txHash: Hex;
  readonly token: Hex;
  readonly methodName: string;
  readonly amount: string;
  readonly sender: Hex;
  readonly recipient: Hex;
  readonly senderGroup: string | null;
  readonly recipientGroup: string | null;
  readonly scheduleId: string | null;
  readonly commencementTimestamp: string | null;
  readonly releaseCount: string | null;
  readonly delayUntilFirstReleaseInSeconds: string | null;
  readonly initialReleasePortionInBips: string | null;
  readonly periodBetweenReleasesInSeconds: string | null;
};

/** Digits and hex come as text: they are printed, never calculated with. */
const SELECTED = `
  id::text, chain_id::text as "chainId", block::text, block_timestamp::text as "blockTimestamp",
  log_index as "logIndex", '0x' || encode(tx_hash, 'hex') as "txHash",
  '0x' || encode(token, 'hex') as token, method_name as "methodName", amount::text,
  '0x' || encode(sender, 'hex') as sender, '0x' || encode(recipient, 'hex') as recipient,
  sender_group as "senderGroup", recipient_group as "recipientGroup",
  schedule_id as "scheduleId", commencement_timestamp as "commencementTimestamp",
  release_count as "releaseCount",
  delay_until_first_release_in_seconds as "delayUntilFirstReleaseInSeconds",
  initial_release_portion_in_bips as "initialReleasePortionInBips",
  period_between_releases_in_seconds as "periodBetweenReleasesInSeconds"`;

/** A page of a project's records. */
export type TransferEventQuery = {
  readonly project: string;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Id of the last record seen: the page begins beyond it, in the order asked for. */
  readonly afterId?: bigint | undefined;
  readonly txHash?: Hex | undefined;
  readonly recipient?: Hex | undefined;
};

/** Ids are positive, and far from this one. */
const BEYOND_ALL_IDS = 2n ** 63n - 1n;

/**
 * The statements of one order, each by one index whatever Postgres believes of the table. Parameters:
 * project, last id seen, limit, and then what is looked for.
 */
const pages = (beyond: ">" | "<", direction: "asc" | "desc") => {
  // Qualified: "id" and "recipient" alone are texts of the answer, and sort as such.
  const byId = `transfer_events.id ${direction}`;
  const page = (condition: string, order = byId) => `
    select ${SELECTED} from transfer_events
    where project = $1 ${condition}
    order by ${order}
    -- Out of the planner's sight: when it takes a page for everything there is, it gathers and sorts.
    limit (select $3::int8)`;
  const ofTransaction = `and tx_hash = $4 and id ${beyond} $2`;
  return {
    ofAll: page(`and id ${beyond} $2`),
    ofTransaction: page(ofTransaction),
    // A transaction holds few records, a recipient may hold most: "||" keeps its index out of this.
    ofBoth: page(`${ofTransaction} and recipient || '' = $5`),
    // Two bounds instead of an equality: the index of recipients alone gives this order.
    ofRecipient: page(
      `and (recipient, id) ${beyond} ($4, $2) and recipient ${beyond === "<" ? ">=" : "<="} $4`,
      `transfer_events.recipient ${direction}, ${byId}`,
    ),
  };
};

const PAGES = { asc: pages(">", "asc"), desc: pages("<", "desc") };

/**
 * The statement for a page of a project's records, none for an unknown one. It reads one index, whatever
 * is asked and whatever Postgres believes of the table: with a recipient of most records it would rather
 * walk the list and leave rows out, all of them when that wallet receives nothing any more.
 */
export const transferEventPage = ({
  project,
  order,
  limit,
  afterId,
  txHash,
  recipient,
}: TransferEventQuery) => {
  const after = asInt8(afterId ?? (order === "desc" ? BEYOND_ALL_IDS : 0n));
  const texts = PAGES[order];
  const page: Parameter[] = [project, after, limit];
  if (txHash !== undefined) {
    return recipient === undefined
      ? { text: texts.ofTransaction, parameters: [...page, bytesOf(txHash)] }
      : { text: texts.ofBoth, parameters: [...page, bytesOf(txHash), bytesOf(recipient)] };
  }
  return recipient === undefined
    ? { text: texts.ofAll, parameters: page }
    : { text: texts.ofRecipient, parameters: [...page, bytesOf(recipient)] };
};

/** A record as Postgres sends it: each member's text, as bytes. */
export type TransferEventTexts = {
  readonly [Member in keyof TransferEvent]: null extends TransferEvent[Member]
    ? Buffer | null
    : Buffer;
};

/** Reads a page for whoever only prints it: a string for each member would be most of the work. */
export const transferEventTexts = async (
  on: RawReads,
  query: TransferEventQuery,
): Promise<readonly TransferEventTexts[]> => {
  const { text, parameters } = transferEventPage(query);
  return (await on.raw(text, parameters)).map(textsOf);
};

/** Of a column that is never null. */
const NOTHING = Buffer.alloc(0);

/** Columns in the order of `SELECTED`. */
const textsOf = (row: RawRow): TransferEventTexts => ({
  id: row[0] ?? NOTHING,
  chainId: row[1] ?? NOTHING,
  block: row[2] ?? NOTHING,
  blockTimestamp: row[3] ?? NOTHING,
  logIndex: row[4] ?? NOTHING,
  txHash: row[5] ?? NOTHING,
  token: row[6] ?? NOTHING,
  methodName: row[7] ?? NOTHING,
  amount: row[8] ?? NOTHING,
  sender: row[9] ?? NOTHING,
  recipient: row[10] ?? NOTHING,
  senderGroup: row[11] ?? null,
  recipientGroup: row[12] ?? null,
  scheduleId: row[13] ?? null,
  commencementTimestamp: row[14] ?? null,
  releaseCount: row[15] ?? null,
  delayUntilFirstReleaseInSeconds: row[16] ?? null,
  initialReleasePortionInBips: row[17] ?? null,
  periodBetweenReleasesInSeconds: row[18] ?? null,
});

/**
 * Records of whole blocks beyond `afterBlock` up to `toBlock`, in chain order: as many as fit into
 * `limit`, but at least one block with records.
 */
export const transferEventsOfBlocks = async (
  db: Pick<Db, "sql">,
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
  const { sql } = db;
  const within = (last: bigint) => sql`
    project = ${project} and chain_id = ${chainId} and block > ${afterBlock} and block <= ${last}`;
  const [cut] = await sql<{ block: bigint; first: bigint }[]>`
    select block, (select min(block) from transfer_events where ${within(toBlock)}) as first
    from transfer_events where ${within(toBlock)}
    order by block, id offset ${limit} limit 1`;
  // The block in which the limit falls is left for later, unless it is the only one.
  const lastBlock =
    cut === undefined ? toBlock : cut.block > cut.first ? cut.block - 1n : cut.first;
  const events = await sql<TransferEvent[]>`
    select ${sql.unsafe(SELECTED)} from transfer_events where ${within(lastBlock)}
    order by transfer_events.block, transfer_events.id`;
  return { events, lastBlock };
};
