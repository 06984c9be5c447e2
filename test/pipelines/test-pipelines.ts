/** Small pipelines with tables of their own: the runner's tests are about the runner. */
import { setTimeout as delay } from "node:timers/promises";
import { NOTHING } from "../../src/database/writing.ts";
import { createLogger } from "../../src/logging/logger.ts";
import type { Pipeline } from "../../src/pipelines/pipeline.ts";
import { progressTables } from "../../src/projections/progress-tables.ts";
import { remedyOf } from "../../src/waiting/remedy.ts";
import type { TestDatabase } from "../postgres.ts";

export const silent = createLogger({ level: "silent", remedyOf });

type Row = { readonly checkpoint: bigint; readonly txDigest: string };

/** What a test can make a pipeline do. */
export type Behaviour = {
  /** Names it wants; transfers unless given. */
  readonly facts?: readonly string[];
  /** Called inside the transaction, before and after the rows are written. */
  readonly beforeWrite?: (rows: readonly Row[]) => Promise<void> | void;
  readonly afterWrite?: (rows: readonly Row[]) => Promise<void> | void;
  /** Called while rows are made. */
  readonly onRows?: () => void;
};

/** A pipeline that copies the positions of its facts into `<name>_rows`. */
export const testPipeline = (
  name: string,
  behaviour: Behaviour = {},
): Pipeline<readonly Row[], undefined> => ({
  ...progressTables(name),
  queries: [],
  facts: behaviour.facts ?? ["shared_token::Transfer"],
  tables: [],
  rows: (facts) => {
    behaviour.onRows?.();
    return facts.map(({ checkpoint, txDigest }) => ({ checkpoint, txDigest }));
  },
  lines: () => [],
  write: (rows) => [
    {
      // So many that they are always written in a transaction.
      rows: rows.length * 1_000,
      parts: () => NOTHING,
      copy: async (tx) => {
        await behaviour.beforeWrite?.(rows);
        await tx.sql`
          insert into ${tx.sql(`${name}_rows`)} ${tx.sql(
            rows.map((row) => ({ checkpoint: row.checkpoint.toString(), tx_digest: row.txDigest })),
          )}`;
        await behaviour.afterWrite?.(rows);
      },
    },
  ],
  reset: async (tx) => {
    await tx.sql`truncate ${tx.sql(`${name}_rows`)}`;
  },
});

/** Makes the tables of test pipelines. */
export const createTables = async (database: TestDatabase, ...names: readonly string[]) => {
  for (const name of names) {
    await database.sql`
      create table ${database.sql(`${name}_rows`)} (
        checkpoint int8, tx_digest text, primary key (checkpoint, tx_digest))`;
    await database.sql`
      create table ${database.sql(`${name}_digests`)} (checkpoint int8 primary key, digest bytea)`;
    await database.sql`
      create table ${database.sql(`${name}_watermark`)} (
        pipeline text primary key, chain_id text, next_checkpoint int8 not null,
        last_checkpoint int8, last_digest text, last_timestamp_ms int8, layout int not null default 1,
        rebuilding_to int8, rebuilds int not null default 0, filled_checkpoint int8, digest bytea,
        held jsonb, undigested_from int8,
        committed_at timestamptz not null default now())`;
  }
};

/** Where a test pipeline stands: its watermark's next checkpoint, and how many rows it has. */
export const standing = async (database: TestDatabase, name: string) => {
  const [row] = await database.sql<{ next: bigint | null; rows: bigint }[]>`
    select (select next_checkpoint from ${database.sql(`${name}_watermark`)}) as next,
           (select count(*) from ${database.sql(`${name}_rows`)}) as rows`;
  return { next: row?.next ?? null, rows: Number(row?.rows ?? 0n) };
};

/** Waits as long as `open` says no: a pipeline that is slow, or stuck. */
export const whileClosed = async (open: () => boolean): Promise<void> => {
  while (!open()) await delay(5);
};
