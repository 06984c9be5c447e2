/** What the soaks of both kinds of ledger hold the transfer agent's requests to. */
import { expect } from "vitest";
import { until } from "../../lanes/until.ts";
import type { TestDatabase } from "../../postgres.ts";

const DRAIN_MS = 300_000;

export type EndedRequest = {
  readonly id: string;
  readonly lane: string;
  readonly kind: string;
  readonly wallet: string;
  readonly txId: string | null;
};

/** How many requests there are that are not ended, and how many of these were taken up. */
export const openRequests = async ({ sql }: Pick<TestDatabase, "sql">) => {
  const [row] = await sql<{ open: number; taken: number }[]>`
    select count(*)::int4 as open, count(*) filter (where status = 'PENDING')::int4 as taken
    from ta_requests where status in ('QUEUED', 'PENDING')`;
  return row ?? { open: 0, taken: 0 };
};

/**
 * Waits until no request is open. Each must have succeeded and ended once, none begun before the one
 * before it in its lane had ended, and nothing may be held for them any more.
 * @returns them, in the order they were accepted
 */
export const allEndedOnce = async (
  database: Pick<TestDatabase, "sql">,
  accepted: number,
): Promise<readonly EndedRequest[]> => {
  const { sql } = database;
  await until(
    "no open request",
    () => openRequests(database),
    ({ open }) => open === 0,
    DRAIN_MS,
  );
  const requests = await sql<(EndedRequest & { status: string })[]>`
    select id, lane_id::text as lane, kind, wallet, tx_id as "txId", status
    from ta_requests order by sequence`;
  expect(requests).toHaveLength(accepted);
  expect(requests.filter(({ status }) => status !== "SUCCESS")).toEqual([]);
  const endings = await sql`
    select 1 from ta_request_history where status in ('SUCCESS', 'FAILED')`;
  expect(endings).toHaveLength(accepted);
  const early = await sql`
    select 1 from (
      select h.at, lag(f.at) over (partition by r.lane_id order by r.sequence) as before
      from ta_requests r
      join ta_request_history h on h.request_id = r.id and h.message = 'taken up'
      join ta_request_history f on f.request_id = r.id and f.status = 'SUCCESS'
    ) as begun where at < before`;
  expect(early).toHaveLength(0);
  expect(await sql`select 1 from ta_reservations`).toHaveLength(0);
  expect(await sql`select 1 from ta_wallet_claims`).toHaveLength(0);
  return requests;
};
