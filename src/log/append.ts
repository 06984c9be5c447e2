import { getTableColumns } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql, Transactor } from "../database/connect.ts";
import { appendRows, copyRows, type Row } from "../database/table-rows.ts";
import {
  appendingPart,
  NOTHING,
  type Numbered,
  together,
  type Writing,
  writeAfter,
  writeNow,
} from "../database/writing.ts";
import { blockRows, countOf, markIn, nextAfter } from "./block.ts";
import type { ChainEnds, Links } from "./chain-ends.ts";
import { upsertCoins } from "./coins.ts";
import {
  type AppendBatch,
  type CheckpointMark,
  type CoinDecimals,
  type Fact,
  factBytes,
  type LogCommittee,
  type ReadFact,
  type StretchProof,
} from "./fact.ts";
import { HighWaterMovedError, InvalidBatchError } from "./log-errors.ts";
import { appendPackages } from "./packages.ts";
import type { PartitionsAhead } from "./partitions.ts";
import {
  logBlockChain,
  logBlocks,
  logChain,
  logCheckpoints,
  logCoinChain,
  logCommittees,
  logFacts,
  logGuided,
  logInputChain,
  logInputs,
  logProofs,
} from "./tables.ts";

/** Every append notifies it, to wake pipelines elsewhere; payload: the log's next checkpoint. */
export const LOG_CHANNEL = "holderbook_log";

/**
 * Up to this many facts travel in the mark's statement; beyond, COPY is faster (measured: 30–50).
 */
const INSERT_UP_TO_FACTS = 32;

/** An append, with what the log remembers between appends. */
type Append = {
  readonly batch: AppendBatch;
  readonly coins: readonly CoinDecimals[];
  /** All of the contract: a fact of their types makes its coin type a security. */
  readonly packages: Set<string>;
  readonly knownSecurities: Set<string>;
  readonly ends: ChainEnds;
  readonly partitions: PartitionsAhead;
};

/** See `Log.append`. */
export const appendBatch = async (on: Transactor, append: Append): Promise<void> => {
  const { batch, packages } = append;
  for (const { address } of batch.joined ?? []) packages.add(address);
  const made: Made = {
    checkpoints: totalsByCheckpoint(batch),
    // Without times reached before, which the statement knows.
    blocks: blockRows(batch.blocks, { reachedMs: 0n, filled: false }),
  };
  try {
    await appendOnce(on, append, made);
  } catch (error) {
    append.ends.forget();
    append.partitions.forget();
    const isExpected =
      error instanceof HighWaterMovedError && (await on.statement((sql) => expects(sql, batch)));
    if (!isExpected) throw error;
    // The log expects the batch, but on another chain: logs were exchanged meanwhile.
    await appendOnce(on, append, made);
  }
};

type Made = {
  readonly checkpoints: readonly CheckpointRow[];
  readonly blocks: readonly (typeof logBlocks.$inferSelect)[];
};

const appendOnce = async (on: Transactor, append: Append, made: Made): Promise<void> => {
  const { batch, coins, ends } = append;
  const { facts, joined = [] } = batch;
  const linking = await ends.linkingOf(on, { facts, ...made });
  const target = await append.partitions.reach(on, batch.first, batch.last.sequence);
  const hashing = linking.hash();
  const securities = newSecurities(append);
  const isSmall = facts.length <= INSERT_UP_TO_FACTS;
  if (isSmall && securities.size + coins.length + joined.length === 0) {
    const links = lastOf(hashing);
    await on.statement((sql) => moveHighWater(sql, batch, made, linking.before, facts, links));
    ends.keep(links);
  } else {
    let links: Links | undefined;
    // Hashes while Postgres processes the rows copied so far.
    const rows = rowsOf(hashing, (all) => {
      links = all;
    });
    await on.transaction(async ({ sql }) => {
      // Sent together; COPY last, as nothing may be sent during it.
      const statements = [
        moveHighWater(sql, batch, made, linking.before),
        upsertCoins(sql, securities, coins),
        appendPackages(sql, joined),
        ...(facts.length === 0 ? [] : [copyRows(sql, target, logFacts, rows)]),
      ];
      // All must have ended before the transaction does.
      const results = await Promise.allSettled(statements);
      for (const result of results) if (result.status === "rejected") throw result.reason;
      links ??= lastOf(hashing);
      await appendRows(sql, logInputs, links.inputs);
      await writeNow(sql, linkParts(links, 1));
    });
    if (links !== undefined) ends.keep(links);
  }
  for (const coinType of securities) append.knownSecurities.add(coinType);
};

const expects = async (sql: Sql, { first }: AppendBatch): Promise<boolean> => {
  const rows = await sql`select from log_high_water where next_checkpoint = ${first}`;
  return rows.length > 0;
};

/**
 * Moves the mark and writes the rest in one statement: one round trip and one flush. A second
 * reader waits for the mark's row, finds it moved, and has written nothing.
 */
const moveHighWater = async (
  sql: Sql,
  { first, last, guided = false, proofs = [], committees = [] }: AppendBatch,
  { checkpoints, blocks }: Made,
  before: Uint8Array,
  facts: readonly Fact[] = [],
  links?: Links,
): Promise<void> => {
  const { facts: count = 0, bytes = 0 } = checkpoints.at(-1) ?? {};
  const { sequence, digest, timestampMs } = last;
  const reachedMs = blocks.at(-1)?.reachedMs ?? timestampMs;
  const totals = [`${count}`, `${bytes}`];
  const behind = Buffer.from(before).toString("hex");
  const given = [first, sequence + 1n, sequence, digest, timestampMs, ...totals, reachedMs, behind];
  // Facts of the batch after this checkpoint, subtracted from the mark's new totals.
  const marks = checkpoints.map((row) => ({
    checkpoint: row.sequence,
    digest: row.digest,
    timestampMs: row.timestampMs,
    factsTotal: count - row.facts,
    bytesTotal: bytes - row.bytes,
  }));
  const all: Numbered[] = [
    parts(logCheckpoints, marks, {
      facts_total: "mark.facts_total - given.facts_total",
      bytes_total: "mark.bytes_total - given.bytes_total",
    }),
    parts(logBlocks, blocks, { reached_ms: `greatest(given.reached_ms, ${REACHED_BEFORE})` }),
    parts(logGuided, guided ? [{ firstCheckpoint: first, lastCheckpoint: sequence }] : []),
    parts(logFacts, facts.map(rowOf)),
    parts(logInputs, links?.inputs ?? []),
    (next) => (links === undefined ? NOTHING : linkParts(links, next)),
    (next) => provenPart(proofs, committees, next),
  ];
  const writing = together(all)(given.length + 1);
  // Sent immediately, before statements that are only awaited later.
  const moved = await writeAfter(
    sql,
    { mark: MOVE, given },
    { ...writing, check: `pg_notify('${LOG_CHANNEL}', mark.next_checkpoint::text)` },
  );
  if (!moved) throw new HighWaterMovedError(first);
};

/** Parts that append rows, however many. */
const parts =
  (table: PgTable, rows: readonly Row[], instead?: Readonly<Record<string, string>>): Numbered =>
  (first) => {
    if (rows.length === 0) return NOTHING;
    const { part, parameters } = appendingPart(table, rows, first, instead);
    return { parts: [part], parameters };
  };

const linkParts = ({ chain, coins, blocks, inputChain }: Links, first: number): Writing =>
  together([
    parts(logChain, chain),
    parts(logCoinChain, coins),
    parts(logBlockChain, blocks),
    parts(logInputChain, inputChain),
  ])(first);

/** Rows of facts while they are hashed; their links go to `done`. */
function* rowsOf(
  hashing: Generator<readonly ReadFact[], Links>,
  done: (links: Links) => void,
): Generator<typeof logFacts.$inferSelect> {
  for (;;) {
    const step = hashing.next();
    if (step.done) return done(step.value);
    for (const fact of step.value) yield rowOf(fact);
  }
}

const lastOf = (hashing: Generator<readonly ReadFact[], Links>): Links => {
  for (;;) {
    const step = hashing.next();
    if (step.done) return step.value;
  }
};

/** Proofs of the batch; none where signatures are not verified. */
const provenPart = (
  proofs: readonly StretchProof[],
  committees: readonly LogCommittee[],
  first: number,
): Writing => {
  if (proofs.length === 0) return NOTHING;
  const stretches = appendingPart(logProofs, proofs, first);
  // At the chain's tip a stretch grows: its new signature replaces the last one.
  const { firstCheckpoint: _, ...proven } = getTableColumns(logProofs);
  const names = Object.values(proven).map(({ name }) => name);
  const grown = `${stretches.part.slice(0, -1)}
    on conflict (first_checkpoint) do update
    set (${names.join(", ")}) = row(${names.map((name) => `excluded.${name}`).join(", ")}))`;
  if (committees.length === 0) return { ...stretches, parts: [grown] };
  const named = appendingPart(logCommittees, committees, first + stretches.parameters.length);
  return {
    parts: [grown, named.part],
    parameters: [...stretches.parameters, ...named.parameters],
  };
};

/** Last hash of the chain of facts. */
const CHAIN_END = `
  coalesce((select hash from log_chain order by checkpoint desc limit 1), decode(repeat('00', 32), 'hex'))`;

const MOVE = `
  update log_high_water
  set next_checkpoint = $2, last_checkpoint = $3, last_digest = $4, last_timestamp_ms = $5,
      facts_total = facts_total + $6, bytes_total = bytes_total + $7,
      reached_ms = greatest(reached_ms, last_timestamp_ms, $8),
      committed_at = clock_timestamp()
  where next_checkpoint = $1 and ${CHAIN_END} = decode($9, 'hex')
  returning next_checkpoint, facts_total, bytes_total`;

/** Its value before the statement; in a log older than this column, the last checkpoint's time. */
const REACHED_BEFORE = "(select greatest(reached_ms, last_timestamp_ms) from log_high_water)";

/** Coin types of contract facts that the log has not recorded. */
const newSecurities = ({ batch, packages, knownSecurities }: Append): Set<string> => {
  const found = new Set<string>();
  const prefixes = [...packages].map((address) => `${address}::`);
  for (const { coinType, type } of batch.facts) {
    if (coinType === null || knownSecurities.has(coinType) || found.has(coinType)) continue;
    // A parameter can be `u64` or `vector<u8>`; a coin is a type that a module defines.
    if (!/^0x[0-9a-f]+::/.test(coinType)) continue;
    // Metadata objects name a coin type but belong to the framework.
    if (prefixes.some((prefix) => type.startsWith(prefix))) found.add(coinType);
  }
  return found;
};

export const rowOf = (fact: Fact): typeof logFacts.$inferSelect => ({
  checkpoint: fact.checkpoint,
  transaction: fact.transaction,
  kind: fact.kind === "event" ? 0 : 1,
  index: fact.index,
  timestampMs: fact.timestampMs,
  type: fact.type,
  name: fact.name,
  coinType: fact.coinType,
  txDigest: fact.txDigest,
  sender: fact.sender,
  objectId: fact.kind === "event" ? null : fact.objectId,
  version: fact.kind === "event" ? null : fact.version,
  contents: fact.kind === "removal" ? null : fact.contents,
});

type CheckpointRow = CheckpointMark & {
  /** Facts of the batch up to and including this checkpoint, and their bytes. */
  readonly facts: number;
  readonly bytes: number;
};

/**
 * One row per checkpoint with facts, ascending.
 * @throws InvalidBatchError when the batch is inconsistent
 */
const totalsByCheckpoint = (batch: AppendBatch): CheckpointRow[] => {
  const { first, last, marks, blocks, facts } = batch;
  const invalid = (what: string) => new InvalidBatchError(first, last.sequence, what);
  if (first > last.sequence) throw invalid("it ends before it begins");
  if (!areOfBatch(batch)) throw invalid("its blocks are not of its checkpoints");
  const rows: CheckpointRow[] = [];
  let at = 0;
  let bytes = 0;
  let reached = first - 1n;
  for (const mark of marks) {
    const { sequence } = mark;
    if (sequence <= reached) throw invalid(`the mark of ${sequence} is out of order`);
    if (batch.guided && markIn(blocks, sequence) === null) {
      throw invalid(`its blocks lack checkpoint ${sequence}, which is marked`);
    }
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

/** Whether pieces ascend from the first checkpoint to the last, with gaps only if guided. */
const areOfBatch = ({ first, last, blocks, guided = false }: AppendBatch): boolean => {
  let next = first;
  for (const piece of blocks) {
    if (!countOf(piece) || piece.first < next || (piece.first > next && !guided)) return false;
    next = nextAfter(piece);
  }
  return blocks.length > 0 && next === last.sequence + 1n;
};
