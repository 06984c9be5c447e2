/** A record as it is printed, for the list and as the body of a callback. */
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { parseExactly } from "../../client/exact-json.ts";
import { transferEventSchema } from "../../src/rest/schema.ts";
import { numberOf, printRecord, recordValue } from "../../src/transfers/record-json.ts";
import { AT, type TransferEvent } from "../../src/transfers/records.ts";
import { type PrintedToken, printedOnce, tokenBook } from "../../src/transfers/token-json.ts";
import { evmAsset } from "../evm/asset.ts";
import { addToken, describeToken } from "../evm/logged-token.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const place = { chainId: 43_113, token: `0x${"ac".repeat(20)}` } as const;
const HUGE = `${2n ** 256n - 1n}`;

/** A record by its columns. */
type Texts = Readonly<Record<keyof typeof AT, string | null>>;

const event: Texts = {
  chainId: `${place.chainId}`,
  token: place.token,
  id: "1700000000000001",
  block: "7",
  blockTimestamp: "1700000000",
  logIndex: "0",
  txHash: `0x${"1f".repeat(32)}`,
  methodName: 'odd "name"',
  amount: HUGE,
  sender: `0x${"00".repeat(20)}`,
  recipient: `0x${"2e".repeat(20)}`,
  senderGroup: null,
  recipientGroup: "1",
  scheduleId: null,
  commencementTimestamp: null,
  releaseCount: null,
  delayUntilFirstReleaseInSeconds: null,
  initialReleasePortionInBips: null,
  periodBetweenReleasesInSeconds: null,
};

const vesting = {
  scheduleId: "0",
  commencementTimestamp: "5",
  releaseCount: null,
  delayUntilFirstReleaseInSeconds: HUGE,
  initialReleasePortionInBips: "2500",
  periodBetweenReleasesInSeconds: "1",
};

const asset = evmAsset({
  name: "acme",
  chainId: place.chainId,
  rpc: [],
  groups: { "1": "Reg A" },
  schedules: { "0": "Cliff" },
  address: place.token,
});

/** A book of one token, which has not told its symbol. */
const bookOver = async (database: TestDatabase) => {
  await addToken(database, asset, { name: 'Aktien "Ö" 株', decimals: 18 });
  return tokenBook({ name: "acme", callbackUrl: undefined, tokens: [asset] });
};

const printedToken = async (database: TestDatabase): Promise<PrintedToken> => {
  const book = await bookOver(database);
  await book.load(database.db, [place]);
  const token = book.of(place);
  if (token === null) throw new Error("the token has not described itself");
  return token;
};

/** As Postgres sends it. */
const sent = (texts: Texts): TransferEvent => {
  const row: (Buffer | null)[] = [];
  for (const [column, text] of Object.entries(texts)) {
    const place = Object.entries(AT).find(([name]) => name === column)?.[1];
    if (place !== undefined) row[place] = text === null ? null : Buffer.from(text);
  }
  return row;
};

const list = (events: readonly Texts[], token: PrintedToken): unknown[] => {
  const pieces: Buffer[] = [];
  for (const each of events) printRecord(sent(each), token, pieces.length > 0, pieces);
  return z.array(z.unknown()).parse(parseExactly(`[${Buffer.concat(pieces)}]`));
};

test("the list and callbacks print the same record, with any nulls and sizes", async () => {
  await using database = await freshDatabase();
  const token = await printedToken(database);
  const events: readonly Texts[] = [
    event,
    { ...event, ...vesting },
    { ...event, ...vesting, scheduleId: null },
    { ...event, scheduleId: HUGE },
    { ...event, senderGroup: HUGE, recipientGroup: null },
    { ...event, senderGroup: "999999999999999", recipientGroup: "1000000000000000" },
  ];
  const values = events.map((each) => recordValue(sent(each), token));
  expect(list(events, token)).toEqual(values);
  for (const value of values) transferEventSchema.parse(value);
  expect(values[0]).toMatchObject({
    amount: BigInt(HUGE),
    method_name: 'odd "name"',
    vesting_schedule: null,
    recipient_reg_group: { name: "Reg A", blockchain_id: 1 },
    sender_reg_group: null,
    token: { name: 'Aktien "Ö" 株', symbol: null },
  });
  expect(values[1]).toMatchObject({
    commencement_timestamp: 5,
    schedule_id: 0,
    vesting_schedule: { name: "Cliff", release_count: null },
  });
  expect(values[5]).toMatchObject({
    sender_reg_group: { name: "Group 999999999999999", blockchain_id: 999_999_999_999_999 },
    recipient_reg_group: { name: "Group 1000000000000000" },
  });
});

test("times are calendar times, on any day and in any order", async () => {
  await using database = await freshDatabase();
  const token = await printedToken(database);
  const times = [0, 59, 60, 86_399, 86_400, 951_782_400, 1_700_000_000, 253_402_300_799];
  // Beyond four digits of a year, and back.
  const seconds = [...times, 253_402_300_800, ...times.toReversed(), 1_700_000_000];
  const events = seconds.map((second) => ({ ...event, blockTimestamp: `${second}` }));
  const expected = seconds.map((second) => new Date(second * 1_000).toISOString());
  for (const each of [events, events.map((one) => ({ ...one, ...vesting }))]) {
    const printed = list(each, token);
    expect(printed).toMatchObject(
      expected.map((at) => ({ approved_on_chain_at: at, created_at: at, updated_at: at })),
    );
  }
});

test("a token's later description appears in the list within seconds, and is then read no more", async () => {
  await using database = await freshDatabase();
  const { db } = database;
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const book = await bookOver(database);
    const symbol = () => {
      const token = book.of(place);
      return token === null ? "to be read" : recordValue(sent(event), token);
    };
    expect(symbol()).toBe("to be read");
    await book.load(db, [place]);
    await describeToken(database, asset, { symbol: "ACME" });
    expect(symbol()).toMatchObject({ token: { symbol: null } });
    vi.advanceTimersByTime(5_000);
    expect(symbol()).toBe("to be read");
    await book.load(db, [place]);
    expect(symbol()).toMatchObject({ token: { symbol: "ACME" } });
    vi.advanceTimersByTime(3_600_000);
    expect(symbol()).toMatchObject({ token: { symbol: "ACME" } });
  } finally {
    vi.useRealTimers();
  }
});

test("printed texts of a kind are cached up to a number of bytes, and printed again beyond", () => {
  const print = printedOnce((id: number) => `${id}`.padStart(400_000));
  const [first, second, third] = [print(1), print(2), print(3)];
  expect([print(1), print(2)]).toEqual([first, second]);
  expect(print(1)).toBe(first);
  expect(print(3)).not.toBe(third);
  expect(print(3)).toEqual(third);
});

test("digits print the given number", () => {
  for (const digits of [
    "0",
    "7",
    "1700000000",
    "999999999999999",
    "2716446429837001",
    "9007199254740991",
  ]) {
    expect(numberOf(Buffer.from(digits))).toBe(Number(digits));
  }
});
