/** Checks the log against its hash chains. Reads only. */
import type { Sql } from "../database/connect.ts";
import { archivedBefore, archivedFault } from "./archived.ts";
import { type CoinEnd, chainEnd, chainGap, coinEnds, type LogFault, NO_FACTS } from "./chain.ts";
import { linkOf } from "./chain-hash.ts";
import {
  brokenIn,
  hashOf,
  markOfRow,
  nextOf,
  type Row,
  readStretch,
  type Totals,
  totalsAfter,
  totalsBefore,
  totalsFault,
} from "./chain-stretch.ts";
import { inputFaults } from "./input-chain.ts";

export type Checked = {
  /** Checked up to here; the next check starts here. */
  readonly through: bigint;
  /** Checkpoints with facts, and facts, that were hashed. */
  readonly checkpoints: number;
  readonly facts: number;
  /** The first difference; null when none. */
  readonly fault: LogFault | null;
  /** Whether the log's end was reached. */
  readonly ended: boolean;
};

/**
 * Checks the next stretch after a checkpoint; of archived facts, what is said of them.
 * @param sql of one snapshot, where logs may be exchanged meanwhile (second-log.ts)
 */
export const checkStretch = async (sql: Sql, from: bigint): Promise<Checked> => {
  const border = await archivedBefore(sql);
  const after = border !== null && border - 1n > from ? border - 1n : from;
  if (after > from) {
    const archived = await archivedFault(sql);
    if (archived !== null) {
      return { through: after, checkpoints: 0, facts: 0, fault: archived, ended: false };
    }
  }
  const checked = await checkFacts(sql, after);
  const [fault] = await inputFaults(sql, after, checked.through);
  // A fault of facts explains one of their inputs.
  if (fault === undefined || fault.checkpoint === checked.fault?.checkpoint) return checked;
  return { ...checked, through: fault.checkpoint, fault, ended: false };
};

const checkFacts = async (sql: Sql, after: bigint): Promise<Checked> => {
  const before = await chainEnd(sql, after);
  // Before the rows are read, so that later appends are left to the next check.
  const end = await chainEnd(sql);
  const coinsEnd = await coinChainsEnd(sql);
  const next = await nextOf(sql);
  const previous = await totalsBefore(sql, after);
  const { rows, last } = await readStretch(sql, after, next);
  const coins = await coinEnds(sql, coinsIn(rows), after);
  let { hash } = before;
  let totals = previous;
  let facts = 0;
  for (const row of rows) {
    const { checkpoint } = row;
    // Rows not chained yet must only be complete.
    const what =
      (checkpoint > end.checkpoint ? brokenIn(row) : faultOf(row, hash, totals)) ??
      (checkpoint > coinsEnd ? null : coinFault(row, coins));
    if (what !== null) {
      const fault = { checkpoint, what };
      return { through: checkpoint, checkpoints: rows.length, facts, fault, ended: false };
    }
    hash = row.chainedHash ?? hash;
    totals = { facts: row.factsTotal ?? totals.facts, bytes: row.bytesTotal ?? totals.bytes };
    facts += row.facts ?? 0;
  }
  const ended = last >= next - 1n;
  return { through: last, checkpoints: rows.length, facts, fault: null, ended };
};

type End = {
  readonly next: bigint;
  readonly total: bigint;
  readonly bytes: bigint;
  readonly countedBytes: bigint | null;
  readonly counted: bigint | null;
  readonly last: bigint;
  readonly blocks: bigint | null;
};

/** One snapshot. Filled-in blocks do not reach the log's end. */
const END = `
  select next_checkpoint as next, facts_total as total, bytes_total as bytes,
         (select bytes_total from log_checkpoints order by checkpoint desc limit 1) as "countedBytes",
         (select facts_total from log_checkpoints order by checkpoint desc limit 1) as counted,
         greatest((select max(checkpoint) from log_checkpoints), (select max(checkpoint) from log_chain),
                  (select max(checkpoint) from log_facts), (select max(checkpoint) from log_coin_chain),
                  last_checkpoint, -1) as last,
         (select first_checkpoint + count from log_blocks where not filled
          order by first_checkpoint desc limit 1) as blocks
  from log_high_water`;

/** Checks that the log ends at its high-water mark; null when it does. */
export const endFault = async (sql: Sql): Promise<LogFault | null> => {
  const [end] = await sql.unsafe<End[]>(END, [], { prepare: true });
  if (end === undefined) return null;
  const { next, total, counted, bytes, countedBytes, last, blocks } = end;
  const fault = (what: string) => ({ checkpoint: next - 1n, what });
  if (last >= next) {
    return fault(
      `log_high_water was moved back: the log continues to ${last}, unless rows were added after its end`,
    );
  }
  if (blocks !== null && blocks !== next) {
    return fault(
      `log_high_water was moved, or the end of log_blocks was deleted: it ends with ${blocks - 1n}`,
    );
  }
  if (total !== (counted ?? 0n)) {
    return fault(
      `log_high_water counts ${total} facts, but log_checkpoints ${counted ?? 0n}: the end of the log was deleted, or a total altered`,
    );
  }
  if (bytes !== (countedBytes ?? 0n)) {
    return fault(
      `log_high_water counts ${bytes} bytes of facts, but log_checkpoints ${countedBytes ?? 0n}: one of the two was altered`,
    );
  }
  return null;
};

const faultOf = (row: Row, before: Uint8Array, totals: Totals): string | null => {
  const { facts, chainedFacts, chainedHash } = row;
  const hash = hashOf(row, before);
  if (hash === null) return brokenIn(row);
  if (chainedHash === null) {
    return `log_facts has ${facts} facts that log_chain does not know: they were added, or its row was deleted`;
  }
  if (facts !== chainedFacts) {
    const verb = (facts ?? 0) < (chainedFacts ?? 0) ? "deleted" : "added";
    return `log_facts has ${facts} facts instead of ${chainedFacts}: some were ${verb}`;
  }
  if (!hash.equals(chainedHash)) {
    return `the hash of its ${facts} facts is not the one in log_chain: bytes of a fact, of its row in log_checkpoints or of the chain were altered`;
  }
  return totalsFault(row, totalsAfter(totals, row));
};

const coinsIn = (rows: readonly Row[]): ReadonlySet<string> =>
  new Set(rows.flatMap(({ coins, chainedCoins }) => [...coins.keys(), ...chainedCoins.keys()]));

/** Last checkpoint of any coin type's chain. */
const coinChainsEnd = async (sql: Sql): Promise<bigint> => {
  const [row] = await sql<{ last: bigint | null }[]>`
    select max(checkpoint) as last from log_coin_chain`;
  return row?.last ?? -1n;
};

/** Advances `ends`. The first coin type whose facts do not match its chain; null when none. */
const coinFault = (row: Row, ends: Map<string, CoinEnd>): string | null => {
  const mark = markOfRow(row);
  if (mark === null) return brokenIn(row);
  for (const coinType of coinsIn([row])) {
    const stored = row.coins.get(coinType);
    const chained = row.chainedCoins.get(coinType);
    if (stored === undefined) {
      return `log_coin_chain has a row of ${coinType}, but log_facts no fact of it: all were deleted`;
    }
    if (chained === undefined) {
      return `log_facts has ${stored.facts} facts of ${coinType} that log_coin_chain does not know: they were added, or its row was deleted`;
    }
    const end = ends.get(coinType) ?? NO_FACTS;
    const total = end.facts + BigInt(stored.facts);
    if (chained.facts !== total) {
      return `log_coin_chain counts ${chained.facts} facts of ${coinType} up to here instead of ${total}`;
    }
    if (!linkOf(end.hash, mark, stored.factsHash).equals(chained.hash)) {
      return `the hash of its ${stored.facts} facts of ${coinType} is not the one in log_coin_chain: bytes of a fact or of the chain were altered`;
    }
    ends.set(coinType, chained);
  }
  return null;
};

/** Checks that the chains cover the log; null when they do. */
export const gapFault = async (sql: Sql): Promise<LogFault | null> => {
  const gap = await chainGap(sql);
  if (gap === null) return null;
  const table = { facts: "log_chain", coins: "log_coin_chain", blocks: "log_block_chain" }[gap.of];
  const has = gap.after < 0n ? "is empty" : `ends at checkpoint ${gap.after}`;
  return {
    checkpoint: gap.next - 1n,
    what: `${table} ${has}, before the log does: its end was deleted, or an older version wrote it (start and index complete it)`,
  };
};
