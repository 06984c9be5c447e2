/** What was signed about links of the log's chains: a mended link must not contradict it. */
import { bigints } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";
import { lowest } from "../../values/bigints.ts";
import { entriesAt, logSince } from "../sequence/sequence.ts";
import { entryFaults } from "../verify/entry-check.ts";

/** Checkpoints whose links were replaced, by what the entries about them are called. */
export type Relinked = {
  readonly facts: readonly bigint[];
  readonly coins: readonly bigint[];
  readonly inputs: readonly bigint[];
  readonly blocks: readonly bigint[];
};

/** First signed head, or entry of the sequence, that the replaced links contradict; null if none. */
export const signedFault = async (
  sql: Sql,
  { facts, coins, inputs, blocks }: Relinked,
  signal: AbortSignal,
): Promise<LogFault | null> => {
  const [head] = await sql<{ checkpoint: bigint }[]>`
    select h.checkpoint from log_heads h left join log_chain c using (checkpoint)
    where h.checkpoint = any(${bigints(facts)}::int8[]) and c.hash is distinct from h.hash
    order by 1 limit 1`;
  if (head !== undefined) return { ...head, what: "log_heads has another hash, which was signed" };
  const since = await logSince(sql);
  for (const [kind, at] of Object.entries({ head: facts, coin: coins, inputs, blocks })) {
    const [first, ...others] = at;
    if (first === undefined) continue;
    // An entry about a later checkpoint may rest on the last link before it.
    const rows = await sql<{ number: bigint }[]>`
      select number from log_sequence
      where kind = ${kind} and number > ${since}
        and coalesce(body::jsonb ->> 'checkpoint', body::jsonb ->> 'through')::int8 >= ${lowest(first, ...others)}`;
    const entries = await entriesAt(
      { sql },
      rows.map(({ number }) => number),
    );
    const [fault] = await entryFaults(sql, [...entries.values()], signal);
    if (fault !== undefined) return fault;
  }
  return null;
};
