/**
 * Continuous cheap reconciliation: watermarks against the log; each token's treasury supply against
 * its holdings; and, page by page, balances against their objects. Each step reads one snapshot, so
 * concurrent writes raise no false alarm.
 *
 * A round reads every balance twice and every live object once, and holds at most a page.
 */

import type { Database, Db, Sql } from "../../database/connect.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { readMeta } from "../../projections/meta.ts";
import { LAYOUT_WITH_PAST } from "../../projections/progress-tables.ts";
import { catalogFaults } from "../reconcile/catalog-check.ts";
import { addFound, createFindings, type Findings, keepFindings } from "../reconcile/findings.ts";
import { PARTS, reconcileBalances, tokenTypes } from "../reconcile/sums.ts";
import { reconcileWatermark } from "../reconcile/watermarks.ts";
import type { SlowCheck } from "./watch.ts";

/** Owners per page. */
const OWNERS = 2_000;

/** A step of a round; returns its follow-up steps, which run before the rest. */
type Step = (tx: Db, found: Findings) => Promise<readonly Step[]>;

type Round = {
  readonly checkpoint: bigint;
  readonly found: Findings;
  /** Findings in the table when the round began; kept until it ends. */
  readonly before: readonly string[];
  steps: readonly Step[];
};

/** Watches the register's sums. */
export const sumsCheck = (): SlowCheck => {
  let round: Round | null = null;
  return {
    next: async (on) => {
      round ??= await beginRound(on);
      // Nothing is indexed yet.
      if (round === null) return { ended: true };
      const { checkpoint, found, before } = round;
      const [step, ...rest] = round.steps;
      const known = found.lines.length;
      const steps = step === undefined ? [] : await inSnapshot(on, (tx) => step(tx, found));
      round.steps = [...steps, ...rest];
      const ended = round.steps.length === 0;
      if (ended) {
        await keepFindings(on.sql, "continuous", checkpoint, found.lines);
        round = null;
      } else if (found.lines.length > known) {
        const lines = [...new Set([...found.lines, ...before])];
        await keepFindings(on.sql, "continuous", checkpoint, lines);
      }
      return { ended };
    },
  };
};

const inSnapshot = <T>(on: Database, work: (tx: Db) => Promise<T>): Promise<T> =>
  on.transaction(async (tx) => {
    await beginSnapshot(tx);
    return await work(tx);
  });

const beginRound = async (on: Database): Promise<Round | null> => {
  const { last } = await readMeta(on.db);
  if (last === null) return null;
  const [row] = await on.sql<{ findings: readonly string[] }[]>`
    select findings from reconciliations where kind = 'continuous'`;
  return {
    checkpoint: last.sequence,
    found: createFindings(),
    before: row?.findings ?? [],
    steps: [watermarks],
  };
};

const watermarks: Step = async (tx, found) => {
  for (const what of await catalogFaults(tx.sql)) found.add(what);
  for (const pipeline of ledgerPipelines) await reconcileWatermark(tx, pipeline, found);
  const coins = await tokenTypes(tx.sql);
  return coins.flatMap((coinType) => [supplyOf(coinType), balancesOf(coinType, "")]);
};

/**
 * Owners' holdings of a token at the last checkpoint that both balance pipelines have committed, and do not hold it
 * from: current ones minus the later movements of the one ahead.
 */
const SUPPLY = `
  with behind as (
    select least(t.next_checkpoint, g.next_checkpoint,
                 (t.held -> $1::text ->> 'from')::int8, (g.held -> $1::text ->> 'from')::int8) as next
    from shared_token_objects_watermark t, timelock_objects_watermark g
    where least(t.layout, g.layout) >= ${LAYOUT_WITH_PAST}
  ), first as (
    select * from token_supplies where coin_type = $1 order by checkpoint limit 1
  ), sums as (
  select (select supply from token_supplies s where s.coin_type = $1 and s.checkpoint < next
          order by s.checkpoint desc limit 1) as supply,
         (select coalesce(sum(total), 0) from balances where coin_type = $1)
         - (select coalesce(sum(change), 0) from token_changes
            where coin_type = $1 and position >= next * 1000000000)
         - (select coalesce(sum(change), 0) from grant_changes
            where coin_type = $1 and position >= next * 1000000000) as held,
         -- What was held before the log began is in no movement.
         first.supply
         = (select coalesce(sum(change), 0) from token_changes
            where coin_type = $1 and position < (first.checkpoint + 1) * 1000000000)
         + (select coalesce(sum(change), 0) from grant_changes
            where coin_type = $1 and position < (first.checkpoint + 1) * 1000000000) as from_the_start
  from behind, first where next > first.checkpoint
  )
  select format('token_supplies, %s: the treasury''s supply is %s, but balances hold %s',
                $1::text, supply, held) as what
  from sums where from_the_start and supply <> held`;

const supplyOf =
  (coinType: string): Step =>
  async ({ sql }, found) => {
    await addFound(sql, found, SUPPLY, [coinType]);
    return [];
  };

/** Last owner of a page; null: the page reaches the end. */
const pageEnd = async (sql: Sql, coinType: string, after: string): Promise<string | null> => {
  const [row] = await sql<{ owner: string }[]>`
    select owner from balances where coin_type = ${coinType} and owner > ${after}
    order by owner offset ${OWNERS - 1} limit 1`;
  return row?.owner ?? null;
};

const balancesOf =
  (coinType: string, after: string): Step =>
  async ({ sql }, found) => {
    const upTo = await pageEnd(sql, coinType, after);
    for (const part of PARTS) {
      await reconcileBalances(sql, coinType, part, { withPast: false, after, upTo }, found);
    }
    return upTo === null ? [] : [balancesOf(coinType, upTo)];
  };
