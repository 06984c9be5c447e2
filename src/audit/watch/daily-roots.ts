/**
 * Daily roots: after each UTC day, publishes the root of every token that changed, and the end of
 * its chain, as sequence entries. So there is a root to compare with that was not made up later.
 *
 * Only the last day counts: a log that catches up on years publishes none for those. A token whose
 * table contradicts something is skipped, reported, and retried after the next day; so is a held one, without a report.
 */
import type { Database, Sql } from "../../database/connect.ts";
import { askFor } from "../../log/between.ts";
import { checkpointBefore, checkpointMark } from "../../log/blocks.ts";
import { LogChangedError } from "../../log/chain.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import { QuarantinedError } from "../../projections/held-coins.ts";
import { readMeta } from "../../projections/meta.ts";
import { NotYetIndexedError } from "../../projections/past.ts";
import { token } from "../../projections/tokens.ts";
import { publishCoinEnd } from "../sequence/coin-entries.ts";
import type { DeploymentKey } from "../sequence/deployment-key.ts";
import { RootConflictError } from "../sequence/published-roots.ts";
import { publishRoots, SupplyMismatchError, tableRoots } from "../sequence/table-roots.ts";
import type { SlowCheck } from "./watch.ts";

const DAY_SECONDS = 24n * 60n * 60n;

/** The last full UTC day (ISO 8601), and the first second after it. */
const dayBefore = (nowMs: number): { readonly day: string; readonly end: bigint } => {
  const end = (BigInt(nowMs) / 1_000n / DAY_SECONDS) * DAY_SECONDS;
  return { day: new Date(Number(end - 1n) * 1_000).toISOString().slice(0, 10), end };
};

type DailyRoots = {
  readonly key: DeploymentKey;
  /** Called when a token's root was not signed. */
  readonly onFault: (coinType: string, error: Error) => void;
  /** Milliseconds since the Unix epoch. */
  readonly now?: () => number;
};

/** Publishes the last day's next token; the round ends when none is left. */
export const dailyRoots = ({ key, onFault, now = Date.now }: DailyRoots): SlowCheck => ({
  next: async (database) => {
    const { day, end } = dayBefore(now());
    const closed = await closeOf(database, day, end);
    if (closed === null) return { ended: true };
    const coin = await nextCoin(database.sql, day, closed.mark.sequence);
    if (coin === null) {
      await endRound(database.sql, day, closed.mark.sequence);
      return { ended: true };
    }
    try {
      await publishOf(database, key, closed, coin);
      await keep(database.sql, coin.coinType, day, closed.mark.sequence);
    } catch (error) {
      if (error instanceof NotYetIndexedError) return { ended: true };
      if (error instanceof QuarantinedError) {
        // Not a fault: health reports the hold, and the first close after the release has a root again.
        await keep(database.sql, coin.coinType, day, null);
        return { ended: false };
      }
      if (!isContradiction(error)) throw error;
      await keep(database.sql, coin.coinType, day, null, error.message);
      onFault(coin.coinType, error);
    }
    return { ended: false };
  },
});

/** Faults of one token, which do not block the others. */
const isContradiction = (error: unknown): error is Error =>
  error instanceof SupplyMismatchError ||
  error instanceof RootConflictError ||
  error instanceof LogChangedError;

type Closed = { readonly chainId: string; readonly mark: CheckpointMark };

/** Last checkpoint of a day; null if unknown, not committed by all pipelines, or done. */
const closeOf = async ({ db, sql }: Database, day: string, end: bigint): Promise<Closed | null> => {
  const [done] = await sql<{ day: string }[]>`
    select day::text as day from daily_round where day >= ${day}::date`;
  if (done !== undefined) return null;
  // A log with a known fault is not signed.
  const [changed] = await sql`select fault from log_check where fault is not null`;
  if (changed !== undefined) return null;
  const found = await checkpointBefore(db, end - 1n);
  // The next round looks again.
  if (found.kind === "between") await askFor(sql, { kind: "second", unixSeconds: end - 1n });
  if (found.kind !== "found") return null;
  const { checkpoint } = found;
  const { last, chainId, historyCheckpoint } = await readMeta(db);
  if (chainId === null || last === null || last.sequence < checkpoint) return null;
  if (historyCheckpoint === null || historyCheckpoint > checkpoint) return null;
  const mark = await checkpointMark(db, checkpoint);
  return mark && { chainId, mark };
};

type Coin = { readonly coinType: string; readonly decimals: number | null };

/** A token with facts since its last daily root, not yet processed for this day; null if none. */
const nextCoin = async (sql: Sql, day: string, close: bigint): Promise<Coin | null> => {
  const [coin] = await sql<Coin[]>`
    select c.coin_type as "coinType", c.decimals
    from log_coins c left join daily_roots d using (coin_type)
    where c.is_security and (d.day is null or d.day < ${day}::date)
      and exists (
        select from log_coin_chain l
        where l.coin_type = c.coin_type and l.checkpoint <= ${close}
          and l.checkpoint > coalesce(d.checkpoint, -1))
    order by c.coin_type limit 1`;
  return coin ?? null;
};

const publishOf = async (
  database: Database,
  key: DeploymentKey,
  { chainId, mark }: Closed,
  { coinType, decimals }: Coin,
): Promise<void> => {
  const { sequence: checkpoint } = mark;
  const seen = await token(database.db, { coinType, at: checkpoint });
  const table = { coinType, decimals, mark, totalSupply: seen?.totalSupply ?? null };
  const roots = seen === null ? null : await tableRoots(database, chainId, table);
  await database.transaction(async ({ sql }) => {
    // First: no root is published for changed facts.
    await publishCoinEnd(sql, key, { chainId, coinType, checkpoint });
    if (roots !== null) await publishRoots(sql, key, roots);
  });
};

/** Records a token's close, or why there is none. */
const keep = async (
  sql: Sql,
  coinType: string,
  day: string,
  checkpoint: bigint | null,
  fault: string | null = null,
): Promise<void> => {
  await sql`
    insert into daily_roots as known (coin_type, day, checkpoint, fault)
    values (${coinType}, ${day}::date, ${checkpoint}, ${fault})
    on conflict (coin_type) do update
    set day = excluded.day, checkpoint = coalesce(excluded.checkpoint, known.checkpoint),
        fault = excluded.fault`;
};

const endRound = async (sql: Sql, day: string, checkpoint: bigint): Promise<void> => {
  await sql`
    insert into daily_round (day, checkpoint) values (${day}::date, ${checkpoint})
    on conflict (id) do update
    set day = excluded.day, checkpoint = excluded.checkpoint, ended_at = now()`;
};
