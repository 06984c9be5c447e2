/**
 * One turn of work on one lane: its pending messages, one after the other, each only after the one
 * before it is delivered or given up.
 *
 * Safe to run twice and to be killed anywhere: the lane is claimed first, and what is not recorded is
 * done again, under the same `webhook-id`.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../database/connect.ts";
import { type Attempt, deliver, delivered, unwanted } from "./deliver.ts";
import type { endpointSlots } from "./endpoint-slots.ts";
import {
  claimLane,
  type LaneClaim,
  type LaneView,
  leaveEmpty,
  leaveUntil,
  type PendingMessage,
  readLane,
} from "./lanes.ts";
import type { Outbound } from "./outbound.ts";
import { type GivenUpHook, recordDelivered, recordFailed, recordGivenUp } from "./record.ts";
import { attemptsOf, retryDelayMs } from "./retry-schedule.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** What a worker works with. */
export type LaneWork = {
  readonly database: Pick<Database, "sql" | "transaction">;
  readonly outbound: Outbound;
  readonly signingKeys: SigningKeys;
  readonly slots: ReturnType<typeof endpointSlots>;
  /** Delays between attempts, in seconds. */
  readonly retrySeconds: readonly number[];
  readonly onGivenUp: GivenUpHook | undefined;
  /** How long a lane stays claimed without a sign of life; longer than one attempt may take. */
  readonly leaseMs: number;
  /** After this a lane with more to send lets others have a turn. */
  readonly turnMs: number;
  /** How long a request under way may go on when the worker is told to stop. */
  readonly graceMs: number;
  /** When our own side fails (the database, the hook), a lane is left alone this long. */
  readonly troubleMs: number;
};

/** When a lane is left: who is told to look at it again at once. */
export type LaneLeft = "idle" | "waiting" | "more" | "not ours";

/**
 * Works on a lane until it is empty, its first message has to wait, its turn is over, or `stop` aborts.
 * @throws what went wrong on our side, after leaving the lane for later
 */
export const workLane = async (
  work: LaneWork,
  id: bigint,
  stop: AbortSignal,
): Promise<LaneLeft> => {
  const claimedAt = performance.now();
  const claimed = await claimLane(work.database.sql, id, work.leaseMs);
  if (claimed === undefined) return "not ours";
  const { claim, view } = claimed;
  const slot = work.slots.take(view.endpoint, view.failing);
  if ("waitMs" in slot) {
    await leaveUntil(work.database.sql, claim, slot.waitMs);
    return "waiting";
  }
  try {
    return await turn(work, claim, { view, readAt: claimedAt }, stop);
  } catch (error) {
    // The first error says more than one of leaving; a lane not left is free when its lease ends.
    await leaveUntil(work.database.sql, claim, work.troubleMs).catch(() => undefined);
    throw error;
  } finally {
    slot.release();
  }
};

/** What was read, and when by `performance.now()`: the lease began then. */
type Reading = { readonly view: LaneView; readonly readAt: number };

const turn = async (
  work: LaneWork,
  claim: LaneClaim,
  first: Reading,
  stop: AbortSignal,
): Promise<LaneLeft> => {
  const { sql } = work.database;
  const turnEnds = performance.now() + work.turnMs;
  let { view, readAt } = first;
  for (;;) {
    const sent = view.withdrawn ? "all" : await sendBatch(work, claim, { view, readAt }, stop);
    if (sent === "waiting" || sent === "not ours") return sent;
    // What a withdrawn endpoint has waiting arrives anew when it is named again.
    const done = sent === "all" && (view.complete || view.withdrawn);
    if (done && (await leaveEmpty(sql, claim, view.arrivals))) return "idle";
    if (stop.aborted || performance.now() > turnEnds) {
      await leaveUntil(sql, claim, 0);
      return "more";
    }
    readAt = performance.now();
    const next = await readLane(sql, claim, work.leaseMs);
    if (next === undefined) return "not ours";
    view = next;
  }
};

/** How a batch ended: every message is done, or the lane is to be read again, or left. */
type Sent = "all" | "some" | "waiting" | "not ours";

/** Sends what was read, until a message has to wait. */
const sendBatch = async (
  work: LaneWork,
  claim: LaneClaim,
  { view, readAt }: Reading,
  stop: AbortSignal,
): Promise<Sent> => {
  const { database, retrySeconds, onGivenUp } = work;
  if (view.disabled) {
    const given = await recordGivenUp(
      database,
      claim,
      view.messages,
      "endpoint_disabled",
      onGivenUp,
    );
    return given ? "all" : "not ours";
  }
  for (const message of view.messages) {
    // Half of the lease must be left for an attempt, else another worker could claim meanwhile.
    if (stop.aborted || performance.now() - readAt > work.leaseMs / 2) return "some";
    if (message.scheduled >= attemptsOf(retrySeconds)) {
      const given = await recordGivenUp(
        database,
        claim,
        [message],
        "attempts_exhausted",
        onGivenUp,
      );
      if (!given) return "not ours";
      continue;
    }
    const attempt = await attemptUnless(work, view, message, stop);
    // Told to stop: nothing is known about this request, so it is made again later.
    if (attempt === undefined) return "some";
    if (delivered(attempt)) {
      if (!(await recordDelivered(database.sql, claim, message, attempt))) return "not ours";
      continue;
    }
    const wait = retryDelayMs(retrySeconds, message.scheduled + 1, attempt.retryAfterMs);
    const delayMs = unwanted(attempt) ? 0 : (wait ?? 0);
    const recorded = await recordFailed(database.sql, claim, message, attempt, delayMs);
    if (!recorded) return "not ours";
    // Without a delay it is to be given up, which the next reading does.
    return delayMs > 0 ? "waiting" : "some";
  }
  return "all";
};

/** Makes the attempt; undefined when `stop` aborted and the grace was not enough. */
const attemptUnless = async (
  work: LaneWork,
  { url }: LaneView,
  { id, body }: PendingMessage,
  stop: AbortSignal,
): Promise<Attempt | undefined> => {
  const finished = new AbortController();
  const halt = new AbortController();
  const stopped = () => {
    delay(work.graceMs, undefined, { signal: finished.signal, ref: false }).then(
      () => halt.abort(),
      () => undefined,
    );
  };
  stop.addEventListener("abort", stopped, { once: true });
  try {
    return await deliver(work, { id, body, url }, halt.signal);
  } catch (error) {
    if (halt.signal.aborted) return undefined;
    throw error;
  } finally {
    finished.abort();
    stop.removeEventListener("abort", stopped);
  }
};
