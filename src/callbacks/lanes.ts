import type { Sql, Tx } from "../database/connect.ts";
import { type Fragment, type LaneClaim, LaneLostError, lanesIn } from "../lanes/lanes.ts";
import { isPaused } from "../pauses/pauses.ts";

/** Lanes with pending messages; those of withdrawn endpoints have no row. */
export const deliveryLanes = lanesIn({
  table: "callback_lanes",
  key: ["endpoint", "lane"],
  arrivals: "callback_arrivals",
  channel: "holderbook_callbacks",
  queue: "callbacks",
  whenEmpty: "remove",
});

/** Leaves the lane of a paused receiver until it is resumed. */
export const leavePaused = (sql: Sql, claim: LaneClaim): Promise<void> =>
  deliveryLanes.leavePaused(sql, claim, isPaused(sql, "receiver", sql`callback_lanes.endpoint`));

/** Sends again what waited for a receiver; in the transaction that resumes it. */
export const wakeReceiver = ({ sql }: Pick<Tx, "sql">, key: string): Promise<void> =>
  deliveryLanes.wakeResting(sql, sql`endpoint = ${key}`);

/** The first pending messages of a lane, and their endpoint. */
export type LaneView = {
  /** To leave the lane as empty with. */
  readonly arrivals: bigint;
  readonly endpoint: string;
  readonly url: string;
  readonly disabled: boolean;
  /** Nothing is sent or given up for now. */
  readonly withdrawn: boolean;
  /** By an operator; the same. */
  readonly paused: boolean;
  /** No attempt has succeeded for a while. */
  readonly failing: boolean;
  readonly messages: readonly PendingMessage[];
  /** Whether `messages` are all that was pending. */
  readonly complete: boolean;
};

export type PendingMessage = {
  readonly id: string;
  readonly body: string;
  /** Attempts made in all. */
  readonly attempts: number;
  /** Attempts of the current schedule. */
  readonly scheduled: number;
};

/** Per read. */
const BATCH_MESSAGES = 32;

/** Bodies per read; at least one message is read. */
const BATCH_BYTES = 512 * 1024;

/** An endpoint counts as failing this long after a failure without a success. */
const FAILING_AFTER_MS = 30_000;

/** One statement; undefined when the lane cannot be claimed. */
export const claimAndRead = async (
  sql: Sql,
  id: bigint,
  leaseMs: number,
): Promise<{ readonly claim: LaneClaim; readonly view: LaneView } | undefined> => {
  const rows = await readUnder(sql, deliveryLanes.claiming(sql, id, leaseMs));
  const [first] = rows;
  return first && { claim: { id, token: first.token, leaseMs }, view: viewOf(first, rows) };
};

/** @throws LaneLostError */
export const readLane = async (sql: Sql, claim: LaneClaim): Promise<LaneView> => {
  const rows = await readUnder(sql, deliveryLanes.held(sql, claim));
  const [first] = rows;
  if (first === undefined) throw new LaneLostError(claim.id);
  return viewOf(first, rows);
};

/** One row per message; one row without a message when nothing is pending. */
type ViewRow = Omit<LaneView, "messages" | "complete"> & {
  readonly token: string;
  readonly found: number | null;
} & { readonly [Member in keyof PendingMessage]: PendingMessage[Member] | null };

const readUnder = (sql: Sql, claimed: Fragment): Promise<readonly ViewRow[]> => sql<ViewRow[]>`
  with claimed as (${claimed})
  -- "arrivals" of the snapshot: the row just updated may count an arrival that it does not show.
  select claimed.token, l.arrivals, l.endpoint, e.url, e.disabled_at is not null as disabled,
         e.withdrawn_at is not null as withdrawn,
         ${isPaused(sql, "receiver", sql`e.key`)} as paused,
         e.failing_since < now() - ${FAILING_AFTER_MS} * interval '1 ms' is true as failing,
         m.id, m.body, m.attempts, m.scheduled, m.found
  from claimed
  join callback_lanes l on l.id = claimed.id
  join callback_endpoints e on e.key = l.endpoint
  left join lateral (
    select id, body, attempts, scheduled, sequence, (count(*) over ())::int4 as found,
           sum(octet_length(body)) over (order by sequence) as bytes
    from (
      select id, body, attempts, scheduled, sequence from callback_messages
      where endpoint = l.endpoint and lane = l.lane and status = 'pending'
      order by sequence limit ${BATCH_MESSAGES}
    ) as next
  ) m on m.bytes <= ${BATCH_BYTES} or m.bytes = octet_length(m.body)
  order by m.sequence`;

const viewOf = (first: ViewRow, rows: readonly ViewRow[]): LaneView => {
  const messages = rows.flatMap(({ id, body, attempts, scheduled }) =>
    id === null || body === null || attempts === null || scheduled === null
      ? []
      : [{ id, body, attempts, scheduled }],
  );
  const { arrivals, endpoint, url, disabled, withdrawn, paused, failing } = first;
  const found = first.found ?? 0;
  const complete = found === messages.length && found < BATCH_MESSAGES;
  return { arrivals, endpoint, url, disabled, withdrawn, paused, failing, messages, complete };
};
