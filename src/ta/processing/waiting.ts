/**
 * Waiting inside a worker, and warnings about long waits. Most conditions hold after a moment, so
 * polling on the spot is fastest. It occupies a worker, so only some of them may wait, and only for
 * a short time; then the lane is released and looked at later.
 */
import type { Database } from "../../database/connect.ts";
import type { Logger } from "../../logging/logger.ts";
import { pause } from "../../waiting/backoff.ts";

export type Polling = {
  /** Polls until it holds; false when `over` aborts, the time is up, or too many poll already. */
  until(holds: () => Promise<boolean>, over: AbortSignal): Promise<boolean>;
};

/** Checks once: for conditions that were waited for before. */
export const CHECK_ONCE: Polling = { until: (holds) => holds() };

/** Bounded polling, shared by a process. */
export const boundedPolling = (settings: {
  /** Most concurrent polls. */
  readonly most: number;
  readonly holdMs: number;
  readonly lookMs: number;
}): Polling => {
  const { most, holdMs, lookMs } = settings;
  let waiting = 0;
  return {
    until: async (holds, over) => {
      if (await holds()) return true;
      if (waiting >= most) return false;
      waiting += 1;
      try {
        const signal = AbortSignal.any([over, AbortSignal.timeout(holdMs)]);
        for (;;) {
          await pause(lookMs, signal);
          if (signal.aborted) return false;
          if (await holds()) return true;
        }
      } finally {
        waiting -= 1;
      }
    },
  };
};

/** False when the polling or the turn ends first. */
export const waitFor = (
  { polling, turnOver }: { readonly polling: Polling; readonly turnOver: AbortSignal },
  holds: () => Promise<boolean>,
): Promise<boolean> => polling.until(holds, turnOver);

/** A transaction that is not executed is reported after this, and again after each such time. */
const OVERDUE_MINUTES = 10;

/** The same for one that is executed but not in the register: longer than chains take to finalise. */
const NOT_SHOWN_MINUTES = 45;

type OverdueContext = {
  readonly database: Pick<Database, "sql">;
  readonly logger: Pick<Logger, "warn">;
};

type SubmittedRequest = { readonly id: string; readonly asset: string; readonly txId: string };

/** Warns of a transaction that is not executed, when a warning is due; once among all processes. */
export const warnWhenOverdue = (work: OverdueContext, request: SubmittedRequest): Promise<void> =>
  warnEvery(work, request, OVERDUE_MINUTES, [
    "is not executed",
    'the same bytes are submitted again and again. On an EVM chain its fee may have become too low: see "A ' +
      'transaction that is not executed" in docs/explanation/transfer-agent-processing.md',
  ]);

/** Warns of an executed transaction that the register does not show, in the same way. */
export const warnWhenNotShown = (work: OverdueContext, request: SubmittedRequest): Promise<void> =>
  warnEvery(work, request, NOT_SHOWN_MINUTES, [
    "is executed, but the register does not show it yet, or not in a final block",
    "the request waits for that. Check the indexing: holderbook status, GET /health",
  ]);

const warnEvery = async (
  { database: { sql }, logger }: OverdueContext,
  { id, asset, txId }: SubmittedRequest,
  everyMinutes: number,
  [state, advice]: readonly [string, string],
): Promise<void> => {
  const [row] = await sql<{ minutes: number }[]>`
    update ta_transactions set reminded_at = now()
    where request_id = ${id}
      and coalesce(reminded_at, created_at) < now() - ${everyMinutes} * interval '1 minute'
    returning floor(extract(epoch from now() - created_at) / 60)::int4 as minutes`;
  if (row === undefined) return;
  const { minutes } = row;
  logger.warn(
    { requestId: id, asset, txId, minutes },
    `transfer agent: the transaction of request ${id} was signed ${minutes} minutes ago and ${state}; ${advice}`,
  );
};

/** A register not found lagging for this long starts a new lag: waiting requests look more often. */
const FORGOTTEN_MS = 60_000;

export type RegisterLag = ReturnType<typeof registerLag>;

/** @param settings `overdueMs`: lag before it is logged; `now`: monotonic milliseconds */
export const registerLag = (settings: {
  readonly logger: Pick<Logger, "warn">;
  readonly overdueMs: number;
  readonly now?: () => number;
}) => {
  const { logger, overdueMs, now: clock = () => performance.now() } = settings;
  /** By asset: since when it lags, when that was last seen, and when it was last logged. */
  const lagging = new Map<string, { readonly since: number; seen: number; logged: number }>();
  return {
    /** A request found the register up to date (null) or behind `place`; logs a lag that lasts. */
    note: ({ id, asset }: Pick<SubmittedRequest, "id" | "asset">, place: bigint | null): void => {
      if (place === null) {
        lagging.delete(asset);
        return;
      }
      const now = clock();
      const known = lagging.get(asset);
      const lag =
        known !== undefined && now - known.seen <= FORGOTTEN_MS
          ? known
          : { since: now, seen: now, logged: now };
      lag.seen = now;
      lagging.set(asset, lag);
      if (now - lag.logged < overdueMs) return;
      lag.logged = now;
      const minutes = Math.floor((now - lag.since) / 60_000);
      logger.warn(
        { asset, requestId: id, place, minutes },
        `transfer agent: the register of ${asset} has lagged behind the ledger's node for ${minutes} ` +
          "minutes; its requests wait. Check the indexing: holderbook status, GET /health",
      );
    },
  };
};
