/** Warns when something takes longer than it should. */
import type { Database } from "../../database/connect.ts";
import type { Logger } from "../../logging/logger.ts";
import type { OpenRequest } from "./open-request.ts";

/** A transaction that is not executed after this is spoken of, and again each time as long. */
const OVERDUE_MINUTES = 10;

/** One that is executed and that the register does not show: longer than a chain takes to be final. */
const NOT_SHOWN_MINUTES = 45;

/** A register not found behind for this long counts as behind anew: waiting requests look more often. */
const FORGOTTEN_MS = 60_000;

type Late = Pick<OpenRequest, "id" | "asset" | "txId">;

/** Warns of a transaction that is not executed, when it is time to; once among all processes. */
export const warnWhenOverdue = async (
  database: Pick<Database, "sql">,
  logger: Pick<Logger, "warn">,
  { id, asset, txId }: Late,
): Promise<void> => {
  const minutes = await overdueMinutes(database, id, OVERDUE_MINUTES);
  if (minutes === undefined) return;
  logger.warn(
    { requestId: id, asset, txId, minutes },
    `transfer agent: the transaction of request ${id} was signed ${minutes} minutes ago and is not ` +
      "executed; the same bytes are submitted again and again. On an EVM chain its fee may have become " +
      'too low: see "A transaction that is not executed" in docs/explanation/transfer-agent-processing.md',
  );
};

/** Warns of an executed transaction that the register does not show; else the same. */
export const warnWhenNotShown = async (
  database: Pick<Database, "sql">,
  logger: Pick<Logger, "warn">,
  { id, asset, txId }: Late,
): Promise<void> => {
  const minutes = await overdueMinutes(database, id, NOT_SHOWN_MINUTES);
  if (minutes === undefined) return;
  logger.warn(
    { requestId: id, asset, txId, minutes },
    `transfer agent: the transaction of request ${id} was signed ${minutes} minutes ago and is executed, ` +
      "but the register does not show it yet, or not in a final block; the request waits for that. Look " +
      "at the indexing: holderbook status, GET /health",
  );
};

/** How old a request's transaction is, when that is to be said now; undefined when it is not. */
const overdueMinutes = async (
  { sql }: Pick<Database, "sql">,
  requestId: string,
  every: number,
): Promise<number | undefined> => {
  const [row] = await sql<{ minutes: number }[]>`
    update ta_transactions set reminded_at = now()
    where request_id = ${requestId}
      and coalesce(reminded_at, created_at) < now() - ${every} * interval '1 minute'
    returning floor(extract(epoch from now() - created_at) / 60)::int4 as minutes`;
  return row?.minutes;
};

/** What is known in this process of the registers that requests wait for. */
export type RegistersBehind = {
  /** A request has found its register up to date (null), or behind `place`: of that the log hears when it lasts. */
  looked(request: Pick<OpenRequest, "id" | "asset">, place: bigint | null): void;
};

/**
 * Begins to watch; `overdueMs`: how long a register may stay behind before it is spoken of. `now`:
 * milliseconds that only rise.
 */
export const registersBehind = (settings: {
  readonly logger: Pick<Logger, "warn">;
  readonly overdueMs: number;
  readonly now?: () => number;
}): RegistersBehind => {
  const { logger, overdueMs, now: clock = () => performance.now() } = settings;
  /**
   * For each asset whose register is behind: since when, when it was last found behind, and when the last
   * warning was.
   */
  const behind = new Map<string, { readonly since: number; found: number; said: number }>();
  return {
    looked: ({ id, asset }, place) => {
      if (place === null) {
        behind.delete(asset);
        return;
      }
      const now = clock();
      const before = behind.get(asset);
      const goesOn = before !== undefined && now - before.found <= FORGOTTEN_MS;
      const late = goesOn ? before : { since: now, found: now, said: now };
      late.found = now;
      behind.set(asset, late);
      if (now - late.said < overdueMs) return;
      late.said = now;
      const minutes = Math.floor((now - late.since) / 60_000);
      logger.warn(
        { asset, requestId: id, place, minutes },
        `transfer agent: for ${minutes} minutes the register of ${asset} has not come to where the ledger's ` +
          "node is; its requests wait until it does. Look at the indexing: holderbook status, GET /health",
      );
    },
  };
};
