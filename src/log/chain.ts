/**
 * Hash chains over the log: all facts, facts per coin type, times and digests (chain-hash.ts,
 * block-chain.ts). Appends write links with their facts; a fact changed, deleted or added later no
 * longer matches.
 *
 * Here: ends of chains, and completing those of older versions.
 */
import { texts } from "../database/column-arrays.ts";
import type { Sql, Transactor } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { blockChainGap, extendBlockChain } from "./block-chain.ts";
import { linkOf, SQL_CHAINED_COIN, START } from "./chain-hash.ts";
import {
  brokenIn,
  hashOf,
  markOfRow,
  type Row,
  readStretch,
  totalsAfter,
  totalsBefore,
  totalsFault,
} from "./chain-stretch.ts";
import { logChain, logCoinChain } from "./tables.ts";

/** A difference between the log and its chains. */
export type LogFault = {
  readonly checkpoint: bigint;
  /** Rows and what is wrong, for an operator. */
  readonly what: string;
};

/**
 * The log was changed despite its triggers; nothing was written. Stop; run `holderbook verify
 * --log`, then mend it with `--mend`, restore a backup, or index the ledger into an empty database.
 */
export class LogChangedError extends Error {
  override readonly name = "LogChangedError";
  readonly remedy: Remedy = "stop";

  constructor({ checkpoint, what }: LogFault) {
    super(`the log was changed at checkpoint ${checkpoint}: ${what}`);
  }
}

/** Last checkpoint of the chain (-1 when empty) and its hash. */
export const chainEnd = async (
  sql: Sql,
  upTo?: bigint,
): Promise<{ readonly checkpoint: bigint; readonly hash: Uint8Array }> => {
  const [row] = await sql<{ checkpoint: bigint; hash: Buffer }[]>`
    select checkpoint, hash from log_chain
    where checkpoint <= ${upTo ?? 2n ** 63n - 1n} order by checkpoint desc limit 1`;
  return row ?? { checkpoint: -1n, hash: START };
};

/** End of a coin type's chain: facts so far, and the last hash. */
export type CoinEnd = { readonly facts: bigint; readonly hash: Uint8Array };

export const NO_FACTS: CoinEnd = { facts: 0n, hash: START };

const COIN_ENDS = `
  select given.coin_type as "coinType", last.facts, last.hash
  from unnest($1::text[]) as given (coin_type), lateral (
    select facts, hash from log_coin_chain c
    where c.coin_type = given.coin_type and c.checkpoint <= $2
    order by c.checkpoint desc limit 1
  ) as last`;

/** Ends of these coin types' chains up to a checkpoint; types without facts are missing. */
export const coinEnds = async (
  sql: Sql,
  coinTypes: Iterable<string>,
  upTo = 2n ** 63n - 1n,
): Promise<Map<string, CoinEnd>> => {
  const parameters = [texts([...coinTypes]), `${upTo}`];
  const rows = await sql.unsafe<(CoinEnd & { readonly coinType: string })[]>(
    COIN_ENDS,
    parameters,
    { prepare: true },
  );
  return new Map(rows.map(({ coinType, facts, hash }) => [coinType, { facts, hash }]));
};

type ChainGap = {
  readonly of: "facts" | "coins" | "blocks";
  /** Last checkpoint of the chain (-1 when empty); the log ends before `next`. */
  readonly after: bigint;
  readonly next: bigint;
};

type GapRow = {
  readonly next: bigint;
  readonly chained: bigint;
  readonly marked: bigint;
  readonly uncoined: bigint | null;
};

// One statement: it sees a concurrent append completely or not at all.
const GAP = `
  select next_checkpoint as next,
         coalesce((select max(checkpoint) from log_chain), -1) as chained,
         coalesce((select max(checkpoint) from log_checkpoints), -1) as marked,
         (select checkpoint from log_facts
          where checkpoint > coalesce((select max(checkpoint) from log_coin_chain), -1)
            and ${SQL_CHAINED_COIN}
          order by checkpoint limit 1) as uncoined
  from log_high_water`;

/** The first gap in the chains; null when complete. */
export const chainGap = async (sql: Sql): Promise<ChainGap | null> => {
  const [row] = await sql.unsafe<GapRow[]>(GAP, [], { prepare: true });
  if (row === undefined) return null;
  const { next, chained, marked, uncoined } = row;
  if (chained < marked) return { of: "facts", after: chained, next };
  if (uncoined !== null) return { of: "coins", after: uncoined - 1n, next };
  const blocks = await blockChainGap(sql);
  return blocks === null ? null : { of: "blocks", after: blocks, next };
};

/**
 * Completes one stretch; returns whether any was missing.
 * @param sql of a transaction
 * @throws LogChangedError (stop) when the log is inconsistent there
 */
export const extendChain = async (sql: Sql): Promise<boolean> => {
  // Locks the chain first: an exchange of logs waits, see second-log.ts.
  await chainEnd(sql);
  if ((await chainGap(sql)) === null) return false;
  // Excludes appends and other completions. The service may not lock the chains, as it may not
  // change them.
  await sql`lock table log_high_water in share row exclusive mode`;
  const gap = await chainGap(sql);
  if (gap === null) return false;
  if (gap.of === "blocks") return extendBlockChain(sql);
  const { rows } = await readStretch(sql, gap.after, gap.next);
  if (gap.of === "facts") await chainFacts(sql, rows, gap.after);
  else await chainCoins(sql, rows, gap.after);
  return rows.length > 0;
};

const chainFacts = async (sql: Sql, rows: readonly Row[], after: bigint): Promise<void> => {
  let { hash } = await chainEnd(sql, after);
  let totals = await totalsBefore(sql, after);
  const links = rows.map((row) => {
    const { checkpoint, facts } = row;
    const linked = hashOf(row, hash);
    totals = totalsAfter(totals, row);
    const what = linked === null ? brokenIn(row) : totalsFault(row, totals);
    if (linked === null || what !== null) {
      throw new LogChangedError({ checkpoint, what: what ?? "" });
    }
    hash = linked;
    return { checkpoint, facts: facts ?? 0, hash: linked };
  });
  await appendRows(sql, logChain, links);
};

const chainCoins = async (sql: Sql, rows: readonly Row[], after: bigint): Promise<void> => {
  const ends = await coinEnds(sql, new Set(rows.flatMap(({ coins }) => [...coins.keys()])), after);
  const links = rows.flatMap((row) => {
    const mark = markOfRow(row);
    if (mark === null) {
      throw new LogChangedError({ checkpoint: row.checkpoint, what: brokenIn(row) ?? "" });
    }
    return [...row.coins].map(([coinType, { facts, factsHash }]) => {
      const end = ends.get(coinType) ?? NO_FACTS;
      const next = {
        facts: end.facts + BigInt(facts),
        hash: linkOf(end.hash, mark, factsHash),
      };
      ends.set(coinType, next);
      return { coinType, checkpoint: row.checkpoint, ...next };
    });
  });
  await appendRows(sql, logCoinChain, links);
};

const TELL_EVERY_MS = 10_000;

/**
 * Completes the chains of an older log, one bounded stretch per transaction.
 * @param onNotice progress messages
 * @throws LogChangedError (stop) when the log is inconsistent
 */
export const completeChains = async (
  on: Transactor,
  { onNotice, signal }: { onNotice?: (message: string) => void; signal?: AbortSignal } = {},
): Promise<void> => {
  let toldMs = performance.now();
  // From here on appends write input versions.
  await on.statement(
    (sql) => sql`update log_high_water set inputs_from = next_checkpoint where inputs_from is null`,
  );
  while (!signal?.aborted && (await on.transaction(({ sql }) => extendChain(sql)))) {
    if (performance.now() - toldMs < TELL_EVERY_MS) continue;
    toldMs = performance.now();
    const gap = await on.statement(chainGap);
    if (gap === null) continue;
    onNotice?.(
      `completing the log's hash chain of ${gap.of}: checkpoint ${gap.after} of ${gap.next - 1n}`,
    );
  }
};
