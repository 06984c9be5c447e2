import { bigints, byteas, texts } from "../database/column-arrays.ts";
import type { Sql, Transactor } from "../database/connect.ts";
import { copyInto } from "../database/copy.ts";
import { LOG_CHANNEL } from "./channel.ts";
import { upsertCoins } from "./coins.ts";
import type { AppendBatch, CheckpointMark, CoinDecimals, Fact } from "./fact.ts";
import { factBytes } from "./fact-size.ts";
import { HighWaterMovedError, InvalidBatchError } from "./log-errors.ts";

/** Up to here the mark's statement takes the facts along; beyond, COPY is faster (measured: 30–50). */
const INSERT_UP_TO_FACTS = 32;

/** One append and what the log remembers between appends. */
export type Append = {
  readonly batch: AppendBatch;
  readonly coins: readonly CoinDecimals[];
  /** Packages of the contract: facts of their types make a coin type a security's. */
  readonly packages: readonly string[];
  /** Coin types already recorded as securities by this log; there are few, one per token. */
  readonly knownSecurities: Set<string>;
};

/** See `Log.append`. */
export const appendBatch = async (on: Transactor, append: Append): Promise<void> => {
  const { batch, coins } = append;
  const checkpoints = totalsByCheckpoint(batch);
  const securities = newSecurities(append);
  const isSmall = batch.facts.length <= INSERT_UP_TO_FACTS;
  if (isSmall && securities.size === 0 && coins.length === 0) {
    await on.statement((sql) => moveHighWater(sql, batch, checkpoints, batch.facts));
    return;
  }
  await on.transaction(async ({ sql }) => {
    // Sent together, in this order: the facts go last, because nothing may be sent while they are copied.
    const statements = [
      moveHighWater(sql, batch, checkpoints, []),
      upsertCoins(sql, securities, coins),
      copyFacts(sql, batch.facts),
    ];
    // All of them must have ended before the transaction does, whichever fails first.
    const results = await Promise.allSettled(statements);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  });
  for (const coinType of securities) append.knownSecurities.add(coinType);
};

/**
 * Moves the mark and writes what comes with it, in one statement: at the head of the chain an append is
 * one round trip and one flush to disk. Everything it writes hangs on the mark having moved: a second
 * reader queues on the mark's row, finds that it moved, and has written nothing.
 */
const moveHighWater = async (
  sql: Sql,
  { first, last }: AppendBatch,
  checkpoints: readonly CheckpointRow[],
  facts: readonly Fact[],
): Promise<void> => {
  const whole = checkpoints.at(-1);
  // Sent at once: what only begins to be awaited leaves after statements that are executed.
  const { count } = await sql`
    with moved as (
      update log_high_water
      set next_checkpoint = ${last.sequence + 1n}, last_checkpoint = ${last.sequence},
          last_digest = ${last.digest}, last_timestamp_ms = ${last.timestampMs},
          facts_total = facts_total + ${BigInt(whole?.facts ?? 0)},
          bytes_total = bytes_total + ${BigInt(whole?.bytes ?? 0)},
          committed_at = clock_timestamp()
      where next_checkpoint = ${first}
      returning facts_total, bytes_total
    ),
    checkpoints as (
      insert into log_checkpoints (checkpoint, digest, timestamp_ms, facts_total, bytes_total)
      select batch.checkpoint, batch.digest, batch.timestamp_ms,
             moved.facts_total - batch.facts_after, moved.bytes_total - batch.bytes_after
      from moved, unnest(
        ${bigints(checkpoints.map((row) => row.sequence))}::int8[],
        ${texts(checkpoints.map((row) => row.digest))}::text[],
        ${bigints(checkpoints.map((row) => row.timestampMs))}::int8[],
        ${bigints(checkpoints.map((row) => (whole?.facts ?? 0) - row.facts))}::int8[],
        ${bigints(checkpoints.map((row) => (whole?.bytes ?? 0) - row.bytes))}::int8[]
      ) as batch (checkpoint, digest, timestamp_ms, facts_after, bytes_after)
    ),
    facts as (
      insert into log_facts (checkpoint, transaction, kind, index, timestamp_ms, type, name,
                             coin_type, tx_digest, sender, object_id, version, contents)
      select batch.* from moved, unnest(
        ${bigints(facts.map((fact) => fact.checkpoint))}::int8[],
        ${bigints(facts.map((fact) => fact.transaction))}::int4[],
        ${bigints(facts.map(kindOf))}::int2[],
        ${bigints(facts.map((fact) => fact.index))}::int4[],
        ${bigints(facts.map((fact) => fact.timestampMs))}::int8[],
        ${texts(facts.map((fact) => fact.type))}::text[],
        ${texts(facts.map((fact) => fact.name))}::text[],
        ${texts(facts.map((fact) => fact.coinType))}::text[],
        ${texts(facts.map((fact) => fact.txDigest))}::text[],
        ${texts(facts.map((fact) => fact.sender))}::text[],
        ${texts(facts.map(objectIdOf))}::text[],
        ${bigints(facts.map(versionOf))}::numeric[],
        ${byteas(facts.map(contentsOf))}::bytea[]) as batch
    )
    select pg_notify(${LOG_CHANNEL}, ${(last.sequence + 1n).toString()}) from moved`.execute();
  if (count !== 1) throw new HighWaterMovedError(first);
};

type CheckpointRow = CheckpointMark & {
  /** Facts of the batch up to this checkpoint, its own included, and their bytes. */
  readonly facts: number;
  readonly bytes: number;
};

/**
 * One row per checkpoint that holds facts, ascending.
 * @throws InvalidBatchError when the batch contradicts itself
 */
const totalsByCheckpoint = ({ first, last, marks, facts }: AppendBatch): CheckpointRow[] => {
  const invalid = (what: string) => new InvalidBatchError(first, last.sequence, what);
  if (first > last.sequence) throw invalid("it ends before it begins");
  const rows: CheckpointRow[] = [];
  let at = 0;
  let bytes = 0;
  let reached = first - 1n;
  for (const mark of marks) {
    const { sequence } = mark;
    if (sequence <= reached) throw invalid(`the mark of ${sequence} is out of order`);
    reached = sequence;
    const before = at;
    for (let fact = facts[at]; fact?.checkpoint === sequence; fact = facts[at]) {
      bytes += factBytes(fact);
      at += 1;
    }
    if (at > before) rows.push({ ...mark, facts: at, bytes });
  }
  const stray = facts[at];
  if (stray !== undefined)
    throw invalid(`a fact of ${stray.checkpoint} is out of order or unmarked`);
  if (reached > last.sequence) throw invalid(`the mark of ${reached} is outside`);
  return rows;
};

/** Coin types of contract facts that this log has not recorded yet. */
const newSecurities = ({ batch, packages, knownSecurities }: Append): Set<string> => {
  const found = new Set<string>();
  const prefixes = packages.map((address) => `${address}::`);
  for (const { coinType, type } of batch.facts) {
    if (coinType === null || knownSecurities.has(coinType) || found.has(coinType)) continue;
    // `u64` or `vector<u8>` can be a parameter, too; a coin is a type that some module defines.
    if (!/^0x[0-9a-f]+::/.test(coinType)) continue;
    // Metadata objects name a coin type too, but belong to the framework.
    if (prefixes.some((prefix) => type.startsWith(prefix))) found.add(coinType);
  }
  return found;
};

const copyFacts = async (sql: Sql, facts: readonly Fact[]) => {
  if (facts.length === 0) return;
  await copyInto(sql, "log_facts", COLUMNS, facts, (fact, row) => {
    row.bigint(fact.checkpoint);
    row.integer(fact.transaction);
    row.smallint(kindOf(fact));
    row.integer(fact.index);
    row.bigint(fact.timestampMs);
    row.text(fact.type);
    row.text(fact.name);
    row.text(fact.coinType);
    row.text(fact.txDigest);
    row.text(fact.sender);
    row.text(objectIdOf(fact));
    row.numeric(versionOf(fact));
    row.bytea(contentsOf(fact));
  });
};

const COLUMNS = [
  "checkpoint",
  "transaction",
  "kind",
  "index",
  "timestamp_ms",
  "type",
  "name",
  "coin_type",
  "tx_digest",
  "sender",
  "object_id",
  "version",
  "contents",
];

const kindOf = (fact: Fact) => (fact.kind === "event" ? 0 : 1);
const objectIdOf = (fact: Fact) => (fact.kind === "event" ? null : fact.objectId);
const versionOf = (fact: Fact) => (fact.kind === "event" ? null : fact.version);
const contentsOf = (fact: Fact) => (fact.kind === "removal" ? null : fact.contents);
