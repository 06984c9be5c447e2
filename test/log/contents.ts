/** What is in the log, to compare one reading with another. */

import type { Database } from "../../src/database/connect.ts";

/** The whole log, as text: what two readings must agree on to the byte. */
export const contentsOf = async ({ sql }: Database): Promise<string> => {
  const facts = await sql`select * from log_facts order by checkpoint, transaction, kind, index`;
  const checkpoints = await sql`select * from log_checkpoints order by checkpoint`;
  const inputs = await sql`select * from log_inputs order by checkpoint, transaction, index`;
  const inputChain = await sql`select * from log_input_chain order by checkpoint`;
  const coins = await sql`select * from log_coins order by coin_type`;
  const mark = await sql`
    select next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms from log_high_water`;
  return JSON.stringify([facts, checkpoints, inputs, inputChain, coins, mark], (_, value) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
};

/** Facts of a log of one checkpoint, by transaction; those of kind 0 are events. */
export const factsIn = async ({ sql }: Database) => [
  ...(await sql<{ kind: number; type: string; index: number; contents: Buffer | null }[]>`
    select kind, type, index, contents from log_facts order by transaction, kind, index`),
];

const WHOLE = [
  ["log_facts", "checkpoint, transaction, kind, index"],
  ["log_checkpoints", "checkpoint"],
  ["log_blocks", "first_checkpoint"],
  ["log_packages", "address"],
  ["log_inputs", "checkpoint, transaction, index"],
  ["log_chain", "checkpoint"],
  ["log_coin_chain", "coin_type, checkpoint"],
  ["log_block_chain", "first_checkpoint"],
  ["log_input_chain", "checkpoint"],
] as const;

/** Every append-only row of the log, as text by table. */
export const rowsOfLog = async ({
  sql,
}: Pick<Database, "sql">): Promise<Readonly<Record<string, string>>> => {
  const rows: Record<string, string> = {};
  for (const [table, order] of WHOLE) {
    const [row] = await sql.unsafe<{ text: string | null }[]>(
      `select string_agg(t::text, e'\\n' order by ${order}) as text from ${table} t`,
    );
    rows[table] = row?.text ?? "";
  }
  return rows;
};

/** How many checkpoints have facts. */
export const checkpointsWithFacts = async ({ sql }: Database): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(distinct checkpoint)::int4 as count from log_facts`;
  return row?.count ?? 0;
};

/** Coin types of the security tokens. */
export const securityTokens = async ({ sql }: Database): Promise<readonly string[]> => {
  const rows = await sql<{ coinType: string }[]>`
    select coin_type as "coinType" from log_coins where is_security order by coin_type`;
  return rows.map(({ coinType }) => coinType);
};
