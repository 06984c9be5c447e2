/**
 * Rows committed through the log and the five pipelines, beside a plain COPY of the same rows.
 * Measures decoded batches in memory to committed rows, as the service does it (durable log
 * appends, pipelines fed from memory in parallel). The baseline copies the final tables in
 * Postgres's binary format from memory into tables with the same keys and indexes.
 */
import { once } from "node:events";
import { getTableName } from "drizzle-orm";
import pino from "pino";
import { createDemoLedger } from "../demo/demo-ledger.ts";
import type { Database } from "../src/database/connect.ts";
import { createCheckpointReader } from "../src/ledger/reading/read.ts";
import { createBlockBuilder } from "../src/log/block.ts";
import type { AppendBatch, CheckpointMark, CoinDecimals, ReadFact } from "../src/log/fact.ts";
import { createFeed } from "../src/log/feed.ts";
import { openLog } from "../src/log/log.ts";
import { ledgerPipelines } from "../src/pipelines/ledger-pipelines.ts";
import { type Pipeline, tablesOf } from "../src/pipelines/pipeline.ts";
import { runPipelines } from "../src/pipelines/runner.ts";
import { type Figure, ratioOf } from "./figure.ts";
import { scratchPostgres } from "./start.ts";

const FACTS = 300_000;
const BATCH_FACTS = 10_000;
const MIB = 1024 * 1024;

const TABLES = [
  "log_facts",
  "log_checkpoints",
  "log_blocks",
  "balances",
  ...ledgerPipelines.flatMap(tablesOf).map(getTableName),
];

type Prepared = { readonly batch: AppendBatch; readonly coins: readonly CoinDecimals[] };

export const bench = async (): Promise<Figure> => {
  const { ledger, batches, facts } = prepare();
  await using scratch = await scratchPostgres();
  const { database } = scratch;
  const last = batches.at(-1)?.batch.last.sequence ?? 0n;

  const log = await openLog(database, {
    chainId: ledger.chainId,
    packages: ledger.packages,
    firstCheckpoint: 0n,
  });
  const feed = createFeed({ maxFacts: 4 * BATCH_FACTS, maxBytes: 32 * MIB });
  let rows = 0;
  const counted = ledgerPipelines.map((pipeline) => counting(pipeline, (made) => (rows += made)));

  const started = performance.now();
  const running = runPipelines({
    database,
    log,
    feed,
    pipelines: counted,
    bounds: { maxFacts: BATCH_FACTS, maxBytes: 8 * MIB },
    last,
    signal: new AbortController().signal,
    logger: pino({ level: "silent" }),
  });
  await using writer = await database.session();
  for (const { batch, coins } of batches) {
    await log.append(batch, coins, writer);
    feed.push(batch);
  }
  const statuses = await running;
  const failed = statuses.find(({ error }) => error !== null);
  if (failed?.error) throw failed.error;
  const throughMs = performance.now() - started;
  const committed = facts + rows;

  const plain = await copyAgain(database);
  const throughRate = committed / (throughMs / 1000);
  const plainRate = plain.rows / (plain.ms / 1000);
  return {
    name: "commit",
    what: "Commit: rows a second through the log and the five pipelines / COPY of the same rows",
    ...ratioOf("/s", [throughRate], [plainRate]),
    ...{ better: "more", aim: 0.6 },
    detail:
      `${committed.toLocaleString("en")} rows (${facts.toLocaleString("en")} facts) in ${(throughMs / 1000).toFixed(1)} s; ` +
      `COPY of the ${plain.rows.toLocaleString("en")} rows left in the tables in ${(plain.ms / 1000).toFixed(1)} s`,
  };
};

const prepare = () => {
  const ledger = createDemoLedger({
    seed: "bench",
    investors: 2_000,
    noise: 0,
    actionsPerCheckpoint: 60,
    keepEvents: false,
  });
  const read = createCheckpointReader(ledger.packages);
  const batches: Prepared[] = [];
  let total = 0;
  while (total < FACTS) {
    const first = ledger.nextSequence;
    const facts: ReadFact[] = [];
    const coins: CoinDecimals[] = [];
    const marks: CheckpointMark[] = [];
    const block = createBlockBuilder();
    while (facts.length < BATCH_FACTS) {
      const { sequence, raw } = ledger.next();
      const seen = read({ sequence, encoding: "bcs", bytes: raw("bcs") });
      facts.push(...seen.facts);
      coins.push(...seen.coins);
      marks.push(seen.mark);
      block.add(seen.mark);
    }
    const last = marks.at(-1);
    if (last === undefined) break;
    batches.push({
      batch: { first, last, marks, blocks: [{ first, ...block.packed() }], facts },
      coins,
    });
    total += facts.length;
  }
  return { ledger, batches, facts: total };
};

const counting = (pipeline: Pipeline, made: (rows: number) => void): Pipeline => ({
  ...pipeline,
  write: (rows) => {
    const writes = pipeline.write(rows);
    for (const write of writes) made(write.rows);
    return writes;
  },
});

/** Copies every table into an empty twin: same columns, keys and indexes. */
const copyAgain = async (database: Database) => {
  await using session = await database.session();
  const { sql } = session;
  const contents = new Map<string, { readonly names: string; readonly bytes: Buffer }>();
  let rows = 0;
  for (const table of TABLES) {
    const [{ count } = { count: 0n }] = await sql<{ count: bigint }[]>`
      select count(*) as count from ${sql(table)}`;
    rows += Number(count);
    // COPY rejects generated columns.
    const columns = await sql<{ name: string }[]>`
      select attname as name from pg_attribute
      where attrelid = ${table}::regclass and attnum > 0 and attgenerated = '' order by attnum`;
    const names = columns.map(({ name }) => `"${name}"`).join(", ");
    const chunks: Buffer[] = [];
    const out = await sql
      .unsafe(`copy (select ${names} from ${table}) to stdout (format binary)`)
      .readable();
    for await (const chunk of out) chunks.push(chunk);
    contents.set(table, { names, bytes: Buffer.concat(chunks) });
    await sql.unsafe(`create table twin_${table} (like ${table} including all)`);
  }
  const started = performance.now();
  for (const [table, { names, bytes }] of contents) {
    const into = await sql
      .unsafe(`copy twin_${table} (${names}) from stdin (format binary)`)
      .writable();
    into.end(bytes);
    await once(into, "finish");
  }
  return { rows, ms: performance.now() - started };
};
