/** Enqueues one callback per final record, in chain order for each token. */
import { createHash } from "node:crypto";
import { type Callback, enqueueCallbacks } from "../callbacks/enqueue.ts";
import type { Db, Tx } from "../database/connect.ts";
import { recordValue, tokenKey } from "./record-json.ts";
import {
  AT,
  type TransferEvent,
  textAt,
  transferEventsOfBlocks,
  transferEventsOfIds,
} from "./records.ts";
import type { TransferScope } from "./scopes.ts";

export const callbackEndpoint = (project: string): string => `project:${project}`;

/** Callbacks of one step; the last block is completed beyond it. */
const STEP_CALLBACKS = 2_000;

/** Bounded per step. Without an address the blocks count as notified and nothing is sent. */
export const enqueueFinal = async (
  tx: Tx,
  scope: TransferScope,
  notified: bigint,
  finalBlock: bigint,
): Promise<{ readonly notifiedBlock: bigint; readonly callbacks: number }> => {
  if (finalBlock <= notified) return { notifiedBlock: notified, callbacks: 0 };
  if (!scope.hasCallbacks) return { notifiedBlock: finalBlock, callbacks: 0 };
  const { events, lastBlock } = await transferEventsOfBlocks(tx, scope, {
    afterBlock: notified,
    toBlock: finalBlock,
    limit: STEP_CALLBACKS,
  });
  await enqueueEvents(tx, scope, events);
  return { notifiedBlock: lastBlock, callbacks: events.length };
};

/** Callbacks of final records that were made after those of their block were enqueued. */
export const enqueueLate = async (
  tx: Tx,
  scope: TransferScope,
  ids: readonly bigint[],
): Promise<number> => {
  if (!scope.hasCallbacks) return 0;
  for (let at = 0; at < ids.length; at += STEP_CALLBACKS) {
    const some = ids.slice(at, at + STEP_CALLBACKS);
    await enqueueEvents(tx, scope, await transferEventsOfIds(tx, scope, some));
  }
  return ids.length;
};

const enqueueEvents = async (
  tx: Tx,
  scope: TransferScope,
  events: readonly TransferEvent[],
): Promise<void> => {
  await scope.book.load(tx, events.map(tokenKey));
  await enqueueCallbacks(
    tx,
    events.map((event) => callbackOf(scope, event)),
  );
};

/** Ids of the callbacks of a record; one for each project that has a record of this id. */
export const callbackIdsOfRecord = async (
  db: Pick<Db, "sql">,
  id: bigint,
): Promise<readonly string[]> => {
  const projects = await db.sql<{ project: string }[]>`
    select distinct project from transfer_event_progress`;
  const found = await Promise.all(
    projects.map(async ({ project }) =>
      (await transferEventsOfIds(db, { project }, [id])).map((event) => messageId(project, event)),
    ),
  );
  return found.flat();
};

/**
 * From the position on the chain: a record moved by a reorganisation is another message; one derived
 * again with other settings is not, whatever its id.
 */
const messageId = (project: string, event: TransferEvent): string => {
  const text = (column: number) => textAt(event, column).toString();
  const { chainId } = tokenKey(event);
  const cause = `${project} ${chainId} ${text(AT.block)} ${text(AT.txHash)} ${text(AT.logIndex)}`;
  return `te_${createHash("sha256").update(cause).digest("hex").slice(0, 40)}`;
};

/** The same id whenever it is made. */
const callbackOf = ({ project, book }: TransferScope, event: TransferEvent): Callback => {
  const id = textAt(event, AT.id).toString();
  const key = tokenKey(event);
  const token = book.of(key);
  if (token === null) throw new Error(`record ${id} of ${key.token} has no token`);
  return {
    endpoint: callbackEndpoint(project),
    lane: `${key.chainId}:${key.token}`,
    id: messageId(project, event),
    type: "transfer_event",
    reference: id,
    body: recordValue(event, token),
  };
};
