/** The lanes of the callbacks: messages of one lane of an endpoint are delivered one after the other. */
import type { Sql } from "../database/connect.ts";
import { type Fragment, type LaneClaim, LaneLostError, lanesIn } from "../lanes/lanes.ts";

/**
 * Lanes that may have messages to send; one without any, or of a withdrawn endpoint, has no row. A
 * transaction that writes messages announces their lanes.
 */
export const deliveryLanes = lanesIn({
  table: "callback_lanes",
  key: ["endpoint", "lane"],
  arrivals: "callback_arrivals",
  channel: "holderbook_callbacks",
  queue: "callbacks",
  whenEmpty: "remove",
});

/** The first pending messages of a lane, and where they go. */
export type LaneView = {
  /** To leave the lane as empty with. */
  readonly arrivals: bigint;
  readonly endpoint: string;
  readonly url: string;
  readonly disabled: boolean;
  /** Nothing is sent to the endpoint for now, and nothing is given up. */
  readonly withdrawn: boolean;
  /** Nothing has succeeded at the endpoint for a while. */
  readonly failing: boolean;
  readonly messages: readonly PendingMessage[];
  /** Whether `messages` are all that was pending. */
  readonly complete: boolean;
};

/** A message in its turn. */
export type PendingMessage = {
  readonly id: string;
  readonly body: string;
  /** Attempts made, over all and of the current schedule. */
  readonly attempts: number;
  readonly scheduled: number;
};

/** Messages read at once; the first of them is enough, the others save reading again. */
const BATCH_MESSAGES = 32;

/** Bytes of bodies read at once; one message may always be read. */
const BATCH_BYTES = 512 * 1024;

/** An endpoint at which nothing has succeeded for this long, after a failure, counts as failing. */
const FAILING_AFTER_MS = 30_000;

/** Claims a lane and reads what is next, in one statement; undefined when the lane is not to be had. */
export const claimAndRead = async (
  sql: Sql,
  id: bigint,
  leaseMs: number,
): Promise<{ readonly claim: LaneClaim; readonly view: LaneView } | undefined> => {
  const rows = await readUnder(sql, deliveryLanes.claiming(sql, id, leaseMs));
  const [first] = rows;
  return first && { claim: { id, token: first.token, leaseMs }, view: viewOf(first, rows) };
};

/** Reads what is next in a lane. @throws LaneLostError */
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
  -- "arrivals" comes from the snapshot that reads the messages, never from the row just updated,
  -- which may already count an arrival that the snapshot does not show.
  select claimed.token, l.arrivals, l.endpoint, e.url, e.disabled_at is not null as disabled,
         e.withdrawn_at is not null as withdrawn,
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
  const { arrivals, endpoint, url, disabled, withdrawn, failing } = first;
  const found = first.found ?? 0;
  const complete = found === messages.length && found < BATCH_MESSAGES;
  return { arrivals, endpoint, url, disabled, withdrawn, failing, messages, complete };
};
