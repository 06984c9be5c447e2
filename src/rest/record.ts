/**
 * A transfer event as JSON, the same in the list and in callbacks (specification, interface A,
 * "TransferEvent"). Written as text: numbers come out of the database as digits and go out as the same
 * digits, so that none is rounded on the way.
 */
import type { JsonValue } from "../client/canonical-json.mjs";
import { parseExactly } from "../client/exact-json.mjs";
import type { TransferEvent } from "../projections/transfer-events.ts";
import type { PrintedToken } from "./projects.ts";

/** The record's JSON, members in the order of the specification's table. */
export const recordJson = (event: TransferEvent, token: PrintedToken): string => {
  const at = timeJson(event.blockTimestamp);
  return (
    `{"id":${event.id},"block":${event.block},"tx_hash":"${event.txHash}"` +
    `,"method_name":${JSON.stringify(event.methodName)},"amount":${event.amount}` +
    `,"approved_on_chain_at":${at}` +
    `,"commencement_timestamp":${event.commencementTimestamp},"schedule_id":${event.scheduleId}` +
    // Of the block, not of our clock: a replay makes the same record.
    `,"created_at":${at},"updated_at":${at}` +
    `,"vesting_schedule":${event.scheduleId === null ? "null" : scheduleJson(event, event.scheduleId, token)}` +
    `,"recipient_wallet":{"address":"${event.recipient}"}` +
    `,"sender_wallet":{"address":"${event.sender}"}` +
    `,"recipient_reg_group":${event.recipientGroup === null ? "null" : token.group(event.recipientGroup)}` +
    `,"sender_reg_group":${event.senderGroup === null ? "null" : token.group(event.senderGroup)}` +
    `,"token":${token.json}}`
  );
};

/** The last time that was printed: records of one block follow each other. */
let printed = { seconds: 0, json: '"1970-01-01T00:00:00.000Z"' };

const timeJson = (seconds: number): string => {
  if (printed.seconds !== seconds) {
    printed = { seconds, json: `"${new Date(seconds * 1_000).toISOString()}"` };
  }
  return printed.json;
};

const scheduleJson = (event: TransferEvent, scheduleId: string, token: PrintedToken): string =>
  `{"name":${token.scheduleName(scheduleId)},"release_count":${event.releaseCount}` +
  `,"delay_until_first_release_in_seconds":${event.delayUntilFirstReleaseInSeconds}` +
  `,"initial_release_portion_in_bips":${event.initialReleasePortionInBips}` +
  `,"period_between_releases_in_seconds":${event.periodBetweenReleasesInSeconds}}`;

/** The same record as a value, for the body of a callback: integers beyond 2^53 are bigints. */
export const recordValue = (event: TransferEvent, token: PrintedToken): JsonValue =>
  // What `recordJson` wrote is JSON, and nothing else comes out of parsing it.
  parseExactly(recordJson(event, token)) as JsonValue;
