/** Removes old rows that no check, proof or repetition needs, a bounded statement at a time. */

import type { SlowCheck } from "../audit/watch/watch.ts";
import { pruneCallbacks } from "../callbacks/pruning.ts";
import type { Sql } from "../database/connect.ts";
import type { TimedCursor } from "../database/iso-time.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { pruneRequests } from "../ta/requests/pruning.ts";
import type { Figures } from "../telemetry/figures.ts";

const DAY_MS = 86_400_000;

/** A tenth of a core. */
export const RESTS = 9;

type Pace = {
  /** Rows that one statement looks at. */
  readonly rows: number;
  /** Between the beginnings of two rounds: rows that stay are looked at in each. */
  readonly roundEveryMs: number;
};

const PACE: Pace = { rows: 500, roundEveryMs: 3_600_000 };

/** In this order: a request stays as long as its callback. */
const KINDS = [
  {
    days: "retainCallbacksDays",
    prune: pruneCallbacks,
    tables: ["callback_messages", "callback_attempts"],
  },
  {
    days: "retainRequestsDays",
    prune: pruneRequests,
    tables: ["ta_requests", "ta_request_history", "ta_transactions"],
  },
] as const;

const REMOVED = "holderbook_retention_removed_rows_total";

type Removed = Readonly<Record<string, number>>;

/** Work of the watch, which one process of a deployment has at a time. Undefined when all is kept. */
export const retention = (
  settings: {
    readonly config: Pick<Config, "retainCallbacksDays" | "retainRequestsDays">;
    readonly logger: Pick<Logger, "info">;
    readonly figures: Pick<Figures, "begin" | "count">;
  },
  pace: Partial<Pace> = {},
): SlowCheck | undefined => {
  const { config, logger, figures } = settings;
  const { rows, roundEveryMs } = { ...PACE, ...pace };
  const kinds = KINDS.filter(({ days }) => config[days] > 0);
  if (kinds.length === 0) return undefined;
  for (const table of kinds.flatMap(({ tables }) => tables)) figures.begin(REMOVED, { table });
  let round: Round | undefined;
  let nextMs = Number.NEGATIVE_INFINITY;
  return {
    rests: RESTS,
    next: async ({ sql }) => {
      if (round === undefined) {
        if (performance.now() < nextMs) return { ended: true };
        nextMs = performance.now() + roundEveryMs;
        round = newRound(kinds.map(({ days, prune }) => ({ days: config[days], prune })));
      }
      const removed = await step(sql, round, rows);
      for (const [table, count] of Object.entries(removed)) {
        figures.count(REMOVED, { table }, count);
      }
      if (round.left.length > 0) return { ended: false };
      const some = Object.entries(round.removed).filter(([, count]) => count > 0);
      if (some.length > 0) logger.info(Object.fromEntries(some), "retention removed old rows");
      round = undefined;
      return { ended: true };
    },
  };
};

type Prune = (typeof KINDS)[number]["prune"];

type Round = {
  /** What is left to prune; the first is under way. */
  readonly left: { readonly before: Date; readonly prune: Prune }[];
  after: TimedCursor | null;
  removed: Removed;
};

const newRound = (kinds: readonly { readonly days: number; readonly prune: Prune }[]): Round => ({
  left: kinds.map(({ days, prune }) => ({ before: new Date(Date.now() - days * DAY_MS), prune })),
  after: null,
  removed: {},
});

const step = async (sql: Sql, round: Round, limit: number): Promise<Removed> => {
  const [first] = round.left;
  if (first === undefined) return {};
  const { before, prune } = first;
  const { removed, next } = await prune({ sql }, { before, after: round.after, limit });
  const sums: Record<string, number> = { ...round.removed };
  for (const [table, count] of Object.entries(removed)) sums[table] = (sums[table] ?? 0) + count;
  round.removed = sums;
  round.after = next;
  if (next === null) round.left.shift();
  return removed;
};
