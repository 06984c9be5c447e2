/**
 * A transfer event as JSON, the same in the list and in callbacks (specification, interface A,
 * "TransferEvent"). Numbers come out of the database as digits and go out as the same digits, so that
 * none is rounded on the way.
 */
import type { JsonValue } from "../../client/canonical-json.ts";
import { parseExactly } from "../../client/exact-json.ts";
import { printedOnce } from "./printed-once.ts";
import { AT, type TransferEvent, textAt } from "./records.ts";
import type { PrintedToken, TokenKey } from "./token-json.ts";

/**
 * Adds the record's JSON to what was printed before, in pieces; members in the order of the
 * specification's table. Pieces are put together once, with the whole page: adding them up record by
 * record took as long as reading them. Few, because what each takes is counted by the thousand.
 * @param isNext whether another record stands before it
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

/** The same record as a value, for the body of a callback: integers beyond 2^53 are bigints. */
export const recordValue = (event: TransferEvent, token: PrintedToken): JsonValue => {
  const pieces: Buffer[] = [];
  printRecord(event, token, false, pieces);
  // What was printed is JSON, and nothing else comes out of parsing it.
  return parseExactly(Buffer.concat(pieces).toString()) as JsonValue;
};

/** Which token the record is about. */
export const tokenKey = (event: TransferEvent): TokenKey => ({
  chainId: numberOf(textAt(event, AT.chainId)),
  token: textAt(event, AT.token).toString(),
});

/** Digits of a number that is exact as one, up to 2^53; no record has a negative one. */
export const numberOf = (digits: Buffer): number => {
  // By way of a string it would take ten times as long.
  let number = 0;
  for (let i = 0; i < digits.length; i += 1) number = number * 10 + ((digits[i] ?? ZERO) - ZERO);
  return number;
};

const ZERO = 48;

/** So many digits are always exact as a number. */
const EXACT_DIGITS = 15;

/** What a number of any length is kept by. */
const keyOf = (digits: Buffer | null | undefined): number | string | null => {
  if (digits == null) return null;
  return digits.length <= EXACT_DIGITS ? numberOf(digits) : digits.toString();
};

/** All from `approved_on_chain_at` to the recipient. */
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

/** What a record has of its time. */
type Times = {
  /** Of the block and not of our clock: a replay makes the same record. */
  readonly seconds: number;
  readonly at: Buffer;
  /** All from `approved_on_chain_at` to the recipient where no vesting applies. */
  readonly withoutVesting: Buffer;
};

const printTimes = (seconds: number): Times => {
  const at = timeJson(seconds);
  const vesting = `,"commencement_timestamp":null,"schedule_id":null,"created_at":${at}`;
  const all = `,"approved_on_chain_at":${at}${vesting},"updated_at":${at},"vesting_schedule":null${RECIPIENT}`;
  return { seconds, at: Buffer.from(at), withoutVesting: Buffer.from(all) };
};

/** Of the record that was printed last: those of one block follow each other. */
let lastTimes: Times | undefined;

const timesOf = (seconds: number): Times => {
  if (lastTimes?.seconds !== seconds) lastTimes = printTimes(seconds);
  return lastTimes;
};

const DAY_SECONDS = 86_400;

/** The day of the time that was printed last, and its date with the "T" behind it. */
let lastDay = { number: 0, date: "1970-01-01T" };

/** Numbers below sixty in two digits. */
const DIGITS = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"));

/** ISO 8601 in UTC as a JSON string; taking a date apart each time took longer than all else of a record. */
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
