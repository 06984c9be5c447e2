/**
 * The hash chains over the log: of all its facts, of those of each coin type, and of times and digests
 * (chain-hash.ts, block-chain.ts). An append writes its links together with its facts; a fact that is
 * changed, deleted or added behind the log's back no longer fits its hash.
 *
 * Here is where they end, and how those that an older version left out are made.
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

/** Something in the log that was not there when its chain was made, or is not there any more. */
export type LogFault = {
  readonly checkpoint: bigint;
  /** For an operator: which rows, and what is wrong with them. */
  readonly what: string;
};

/**
 * The log was changed behind its triggers. Nothing was written. Stop: `holderbook verify --log` says what;
 * restore the database from a backup, or rebuild it from the ledger.
 */
export class LogChangedError extends Error {
  override readonly name = "LogChangedError";
  readonly remedy: Remedy = "stop";

  constructor({ checkpoint, what }: LogFault) {
    super(`the log was changed at checkpoint ${checkpoint}: ${what}`);
  }
}

/** Where the chain ends: its last checkpoint, -1 before the first, and that one's hash. */
export const chainEnd = async (
  sql: Sql,
  upTo?: bigint,
): Promise<{ readonly checkpoint: bigint; readonly hash: Uint8Array }> => {
  const [row] = await sql<{ checkpoint: bigint; hash: Buffer }[]>`
    select checkpoint, hash from log_chain
    where checkpoint <= ${upTo ?? 2n ** 63n - 1n} order by checkpoint desc limit 1`;
  return row ?? { checkpoint: -1n, hash: START };
};

/** Where the chain of a coin type ends: its facts so far, and the last hash. */
export type CoinEnd = { readonly facts: bigint; readonly hash: Uint8Array };

/** Of a coin type without facts. */
export const NO_FACTS: CoinEnd = { facts: 0n, hash: START };

const COIN_ENDS = `
  select given.coin_type as "coinType", last.facts, last.hash
  from unnest($1::text[]) as given (coin_type), lateral (
    select facts, hash from log_coin_chain c
    where c.coin_type = given.coin_type and c.checkpoint <= $2
    order by c.checkpoint desc limit 1
  ) as last`;

/** Where the chains of these coin types end, up to a checkpoint; one without facts is missing. */
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

/** What a chain lacks. */
export type ChainGap = {
  readonly of: "facts" | "coins" | "blocks";
  /** The last checkpoint that the chain has, -1 without any; the log ends before `next`. */
  readonly after: bigint;
  readonly next: bigint;
};

type GapRow = {
  readonly next: bigint;
  readonly chained: bigint;
  readonly marked: bigint;
  readonly uncoined: bigint | null;
};

// One statement: of an append that happens meanwhile it sees everything or nothing.
const GAP = `
  select next_checkpoint as next,
         coalesce((select max(checkpoint) from log_chain), -1) as chained,
         coalesce((select max(checkpoint) from log_checkpoints), -1) as marked,
         (select checkpoint from log_facts
          where checkpoint > coalesce((select max(checkpoint) from log_coin_chain), -1)
            and ${SQL_CHAINED_COIN}
          order by checkpoint limit 1) as uncoined
  from log_high_water`;

/** The first thing that the chains lack; null when they cover the whole log. */
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
 * Adds a stretch of what an older version left out; returns whether there was something to add.
 * @param sql of a transaction
 * @throws LogChangedError (stop) when the log contradicts itself there
 */
export const extendChain = async (sql: Sql): Promise<boolean> => {
  // First, and locked until the end: logs that are exchanged meanwhile wait, see second-log.ts.
  await chainEnd(sql);
  if ((await chainGap(sql)) === null) return false;
  // Appends and others that complete the chains wait. Of the chains, the service may lock none: it may change none.
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

/** A word in between about chains that take long to be completed. */
const TELL_EVERY_MS = 10_000;

/**
 * Completes the chains of an older log, a bounded stretch in each transaction.
 * @param onNotice hears of it when it takes longer
 * @throws LogChangedError (stop) when the log contradicts itself
 */
export const completeChains = async (
  on: Transactor,
  { onNotice, signal }: { onNotice?: (message: string) => void; signal?: AbortSignal } = {},
): Promise<void> => {
  let toldMs = performance.now();
  // Whoever appends from here on writes input versions.
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
