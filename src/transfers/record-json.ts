/**
 * A transfer event as JSON, the same in lists and callbacks (specification, interface A,
 * "TransferEvent"). Copies the database's digits, so that no number is rounded.
 */
import type { JsonValue } from "../../client/canonical-json.ts";
import { parseExactly } from "../../client/exact-json.ts";
import { AT, type TransferEvent, textAt } from "./records.ts";
import { type PrintedToken, printedOnce, type TokenKey } from "./token-json.ts";

/**
 * Appends the record's JSON in few pieces, members in the order of the specification. A page
 * concatenates them once: joining per record took as long as reading.
 * @param isNext whether another record precedes it
 */
export const printRecord = (
  event: TransferEvent,
  token: PrintedToken,
  isNext: boolean,
  into: Buffer[],
): void => {
  into.push(isNext ? NEXT_ID : ID, textAt(event, AT.id), BLOCK, textAt(event, AT.block));
  into.push(TX_HASH, textAt(event, AT.txHash));
  into.push(methodAndAmount(textAt(event, AT.methodName).toString()), textAt(event, AT.amount));
  const times = timesOf(numberOf(textAt(event, AT.blockTimestamp)));
  if (event[AT.scheduleId] == null && event[AT.commencementTimestamp] == null) {
    into.push(times.withoutVesting);
  } else {
    printVesting(event, times.at, token, into);
  }
  into.push(textAt(event, AT.recipient), SENDER, textAt(event, AT.sender));
  into.push(token.recipientGroup(keyOf(event[AT.recipientGroup])));
  into.push(token.senderGroupAndToken(keyOf(event[AT.senderGroup])));
};

/** The record as a value, for callbacks; integers beyond 2^53 are bigints. */
export const recordValue = (event: TransferEvent, token: PrintedToken): JsonValue => {
  const pieces: Buffer[] = [];
  printRecord(event, token, false, pieces);
  // The printed text is JSON.
  return parseExactly(Buffer.concat(pieces).toString()) as JsonValue;
};

export const tokenKey = (event: TransferEvent): TokenKey => ({
  chainId: numberOf(textAt(event, AT.chainId)),
  token: textAt(event, AT.token).toString(),
});

/** Digits of a non-negative number up to 2^53. */
export const numberOf = (digits: Buffer): number => {
  // Ten times as fast as via a string.
  let number = 0;
  for (let i = 0; i < digits.length; i += 1) number = number * 10 + ((digits[i] ?? ZERO) - ZERO);
  return number;
};

const ZERO = 48;

/** This many digits are always exact as a number. */
const EXACT_DIGITS = 15;

/** Cache key of a number of any length. */
const keyOf = (digits: Buffer | null | undefined): number | string | null => {
  if (digits == null) return null;
  return digits.length <= EXACT_DIGITS ? numberOf(digits) : digits.toString();
};

/** From `approved_on_chain_at` to the recipient. */
const printVesting = (event: TransferEvent, at: Buffer, token: PrintedToken, into: Buffer[]) => {
  const scheduleId = event[AT.scheduleId];
  into.push(APPROVED, at, COMMENCEMENT, event[AT.commencementTimestamp] ?? NULL);
  into.push(SCHEDULE_ID, scheduleId ?? NULL, CREATED, at, UPDATED, at);
  if (scheduleId == null) {
    into.push(NO_SCHEDULE);
    return;
  }
  into.push(SCHEDULE, token.scheduleName(scheduleId.toString()));
  into.push(RELEASES, event[AT.releaseCount] ?? NULL);
  into.push(DELAY, event[AT.delayUntilFirstReleaseInSeconds] ?? NULL);
  into.push(PORTION, event[AT.initialReleasePortionInBips] ?? NULL);
  into.push(PERIOD, event[AT.periodBetweenReleasesInSeconds] ?? NULL, END_OF_SCHEDULE);
};

const ID = Buffer.from('{"id":');
const NEXT_ID = Buffer.from(',{"id":');
const BLOCK = Buffer.from(',"block":');
const TX_HASH = Buffer.from(',"tx_hash":"');
const APPROVED = Buffer.from(',"approved_on_chain_at":');
const COMMENCEMENT = Buffer.from(',"commencement_timestamp":');
const SCHEDULE_ID = Buffer.from(',"schedule_id":');
const CREATED = Buffer.from(',"created_at":');
const UPDATED = Buffer.from(',"updated_at":');
const SCHEDULE = Buffer.from(',"vesting_schedule":{"name":');
const RELEASES = Buffer.from(',"release_count":');
const DELAY = Buffer.from(',"delay_until_first_release_in_seconds":');
const PORTION = Buffer.from(',"initial_release_portion_in_bips":');
const PERIOD = Buffer.from(',"period_between_releases_in_seconds":');
const RECIPIENT = ',"recipient_wallet":{"address":"';
const NO_SCHEDULE = Buffer.from(`,"vesting_schedule":null${RECIPIENT}`);
const END_OF_SCHEDULE = Buffer.from(`}${RECIPIENT}`);
const SENDER = Buffer.from('"},"sender_wallet":{"address":"');
const NULL = Buffer.from("null");

/** From the end of the hash to the amount. */
const methodAndAmount = printedOnce(
  (name: string) => `","method_name":${JSON.stringify(name)},"amount":`,
);

type Times = {
  /** Block time, not our clock: a replay yields the same record. */
  readonly seconds: number;
  readonly at: Buffer;
  /** From `approved_on_chain_at` to the recipient, without vesting. */
  readonly withoutVesting: Buffer;
};

const printTimes = (seconds: number): Times => {
  const at = timeJson(seconds);
  const vesting = `,"commencement_timestamp":null,"schedule_id":null,"created_at":${at}`;
  const all = `,"approved_on_chain_at":${at}${vesting},"updated_at":${at},"vesting_schedule":null${RECIPIENT}`;
  return { seconds, at: Buffer.from(at), withoutVesting: Buffer.from(all) };
};

/** Cached: records of one block follow each other. */
let lastTimes: Times | undefined;

const timesOf = (seconds: number): Times => {
  if (lastTimes?.seconds !== seconds) lastTimes = printTimes(seconds);
  return lastTimes;
};

const DAY_SECONDS = 86_400;

/** The last printed day, as its date with the "T". */
let lastDay = { number: 0, date: "1970-01-01T" };

/** Two digits for numbers below sixty. */
const DIGITS = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"));

/** ISO 8601 in UTC as a JSON string; a `Date` per record took longer than the rest of it. */
const timeJson = (seconds: number): string => {
  const number = Math.floor(seconds / DAY_SECONDS);
  if (number !== lastDay.number) {
    const midnight = new Date(number * DAY_SECONDS * 1_000).toISOString();
    lastDay = { number, date: midnight.slice(0, midnight.indexOf("T") + 1) };
  }
  const ofDay = seconds - number * DAY_SECONDS;
  const [hour, minute] = [Math.floor(ofDay / 3_600), Math.floor(ofDay / 60) % 60];
  return `"${lastDay.date}${DIGITS[hour]}:${DIGITS[minute]}:${DIGITS[ofDay % 60]}.000Z"`;
};
