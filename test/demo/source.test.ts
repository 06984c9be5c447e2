// @module-tag thorough
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMPANY_SPAN_MS } from "../../demo/company/two-years.ts";
import { RejectedTransactionError } from "../../demo/issuer/submissions.ts";
import { JournalDamagedError, OtherDemoLedgerError } from "../../demo/journal.ts";
import { type DemoSource, type DemoSourceOptions, demoSource } from "../../demo/source.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "demo-source-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const newDataDir = () => mkdtemp(join(folder, "data-"));

const open = (dataDir: string, more: Partial<DemoSourceOptions> = {}): DemoSource =>
  demoSource({
    ...{ dataDir, seed: "live", story: "chance", checkpointsPerSecond: 100, history: 80 },
    ...more,
  });

/** Checkpoints `first` to `last` as text, with a deadline. */
const read = async (
  source: DemoSource,
  first: bigint,
  last: bigint,
): Promise<readonly string[]> => {
  const all: string[] = [];
  const signal = AbortSignal.timeout(20_000);
  for await (const raw of source.checkpoints({ first, last }, signal)) {
    all.push(`${raw.sequence} ${Buffer.from(raw.bytes).toString("base64")}`);
  }
  if (all.length !== Number(last - first) + 1) {
    throw new Error(`deadline: saw ${all.length} checkpoints from ${first}, wanted up to ${last}`);
  }
  return all;
};

test("history is available immediately, and new checkpoints on schedule", async () => {
  const source = open(await newDataDir());
  const opened = Date.now();
  expect(await source.latest(AbortSignal.timeout(1_000))).toBeGreaterThanOrEqual(79n);
  expect(source.timeOf(79n)).toBeLessThanOrEqual(opened);
  expect(source.timeOf(150n) - source.timeOf(149n)).toBe(10n);

  const late: number[] = [];
  const deadline = AbortSignal.timeout(20_000);
  for await (const { sequence } of source.checkpoints({ first: 0n }, deadline)) {
    const behind = Date.now() - Number(source.timeOf(sequence));
    expect(behind).toBeGreaterThanOrEqual(0);
    // Catching up comes first; from the moment it has, lateness counts.
    if (late.length > 0 || behind < 20) late.push(behind);
    if (late.length === 60) break;
  }
  expect(late.length, "checkpoints after catching up, within 20 s").toBe(60);
  // In milliseconds; a loaded machine wakes late.
  expect(late.sort((a, b) => a - b)[30]).toBeLessThan(2_000);
  await source.close();
});

test("a restart continues the ledger, and every old checkpoint keeps its bytes", async () => {
  const dataDir = await newDataDir();
  const first = open(dataDir);
  const before = await read(first, 0n, 110n);
  await first.close();

  const second = open(dataDir);
  expect(await read(second, 0n, 110n)).toEqual(before);
  // From the middle, too: the reader of a database that is ahead starts there.
  expect(await read(second, 100n, 110n)).toEqual(before.slice(100));
  const after = await read(second, 111n, 130n);
  await second.close();

  const third = open(dataDir, { checkpointsPerSecond: 50 });
  expect(await read(third, 0n, 130n)).toEqual([...before, ...after]);
  await third.close();
});

test("a crashed ledger keeps the checkpoints that it served", async () => {
  const dataDir = await newDataDir();
  const crashed = open(dataDir);
  const before = await read(crashed, 0n, 140n);
  // Not closed: nothing was written at the end.
  const next = open(dataDir);
  expect(await read(next, 0n, 140n)).toEqual(before);
  await next.close();
  await crashed.close();
});

test("a restart continues from a saved state", async () => {
  const dataDir = await newDataDir();
  const source = open(dataDir, { history: 1_100, checkpointsPerSecond: 1_000 });
  const before = await read(source, 0n, 1_050n);
  await source.close();
  const states = await readdir(join(dataDir, "demo-ledger-states"));
  expect(states.sort()).toEqual(["1000.state", "1051.state"]);

  const restarted = open(dataDir, { history: 1_100, checkpointsPerSecond: 1_000 });
  expect(await read(restarted, 1_040n, 1_050n)).toEqual(before.slice(1_040));
  // States are a convenience: without a readable one the seed gives the same.
  for (const name of states) await writeFile(join(dataDir, "demo-ledger-states", name), "junk");
  expect(await read(restarted, 1_040n, 1_050n)).toEqual(before.slice(1_040));
  await restarted.close();
});

test("a company's ledger continues from its saved state with the same bytes, and is not taken for one of chance", async () => {
  const dataDir = await newDataDir();
  const company = { story: undefined, history: 60, checkpointsPerSecond: 1_000 } as const;
  const source = open(dataDir, company);
  expect(source.coinTypes.map(({ symbol }) => symbol)).toEqual(["ACME", "ACMEP", "ACMEO"]);
  const span = source.timeOf(60n) - source.timeOf(0n);
  expect(span).toBe(COMPANY_SPAN_MS);
  const before = await read(source, 0n, 70n);
  await source.close();
  const [saved] = await readdir(join(dataDir, "demo-ledger-states"));
  expect(saved).toBe("71.state");

  const restarted = open(dataDir, company);
  const after = await read(restarted, 71n, 80n);
  await restarted.close();
  await rm(join(dataDir, "demo-ledger-states"), { recursive: true });
  const anew = open(dataDir, { ...company, story: "company" });
  expect(await read(anew, 0n, 80n)).toEqual([...before, ...after]);
  await anew.close();
  expect(() => open(dataDir, { history: 60 })).toThrow(OtherDemoLedgerError);
  expect(() => open(dataDir, { history: 60 })).toThrow(/and the story company/);
});

test("a submitted transaction lands in one of the next checkpoints, also after a restart", async () => {
  const dataDir = await newDataDir();
  const source = open(dataDir);
  const [coin] = source.coinTypes;
  if (coin === undefined) throw new Error("a coin type is expected");
  const { coinType } = coin;
  const { registrar } = source.staff(coinType);
  const wallet = `0x${"ab".repeat(32)}`;
  await read(source, 0n, 79n);
  const receipts = Promise.all([
    source.submit({
      sender: registrar,
      calls: [
        { function: "addHolderAddress", args: { coinType, holderId: 500n, wallet } },
        { function: "setAddressGroup", args: { coinType, wallet, groupId: 3n } },
      ],
    }),
    source.submit({
      sender: registrar,
      calls: [{ function: "setAddressGroup", args: { coinType, wallet, groupId: 3n } }],
    }),
    expect(source.submit({ sender: wallet, calls: [] })).rejects.toThrow(RejectedTransactionError),
  ]);
  const last = ((await source.latest(AbortSignal.timeout(1_000))) ?? 0n) + 10n;
  const before = await read(source, 80n, last);
  const [done, refused] = await receipts;
  expect(done.error).toBeNull();
  expect(refused.error).toMatch(/group_holder_config::set_address_group aborted with 4/);

  const raw = before.find((one) => one.startsWith(`${done.checkpoint} `))?.split(" ")[1] ?? "";
  const bytes = Buffer.from(raw, "base64");
  const decoded = decodeCheckpoint({ sequence: done.checkpoint, encoding: "protobuf", bytes });
  const transaction = decoded.transactions[done.transactionIndex];
  expect(transaction?.digest).toBe(done.digest);
  expect(transaction?.sender).toBe(registrar);
  expect(transaction?.events.map(({ type }) => type.split("::")[2]?.split("<")[0])).toEqual([
    "HolderAddressAdded",
    "HolderAdded",
    "AddressJoinedGroup",
  ]);
  await source.close();

  const again = open(dataDir);
  expect(await read(again, 80n, last)).toEqual(before);
  await again.close();
});

test("reading ends without an error on abort or close", async () => {
  const source = open(await newDataDir(), { checkpointsPerSecond: 1 });
  const stop = new AbortController();
  const seen: bigint[] = [];
  const reading = (async () => {
    for await (const { sequence } of source.checkpoints({ first: 0n }, stop.signal)) {
      seen.push(sequence);
    }
  })();
  await read(source, 70n, 79n);
  stop.abort();
  await reading;
  const waiting = (async () => {
    const never = new AbortController().signal;
    for await (const { sequence } of source.checkpoints({ first: 79n }, never)) seen.push(sequence);
  })();
  await source.close();
  await waiting;
  expect(seen).toContain(0n);
  await source.close();
});

test("another seed in the same folder is refused, and so is a damaged journal", async () => {
  const dataDir = await newDataDir();
  const source = open(dataDir);
  const decimals = await source.coinDecimals?.(
    source.coinTypes[2]?.coinType ?? "",
    AbortSignal.timeout(1_000),
  );
  expect(decimals).toBe(0);
  await source.close();
  expect(() => open(dataDir, { seed: "other" })).toThrow(OtherDemoLedgerError);
  const path = join(dataDir, "demo-ledger.json");
  const text = await readFile(path, "utf8");
  await writeFile(path, text.slice(0, 80));
  expect(() => open(dataDir)).toThrow(JournalDamagedError);
});

test("a submission cut off by a crash is dropped, and later ones are kept", async () => {
  const dataDir = await newDataDir();
  const submitTo = async (source: DemoSource) => {
    const [coin] = source.coinTypes;
    const { registrar } = source.staff(coin?.coinType ?? "");
    const receipt = source.submit({ sender: registrar, calls: [] });
    await read(source, 80n, ((await source.latest(AbortSignal.timeout(1_000))) ?? 0n) + 10n);
    const { checkpoint } = await receipt;
    await source.close();
    return checkpoint;
  };
  const first = await submitTo(open(dataDir));
  const path = join(dataDir, "demo-ledger-submissions.jsonl");
  const line = await readFile(path, "utf8");
  await appendFile(path, line.slice(0, 20));
  const second = await submitTo(open(dataDir));

  const third = open(dataDir);
  const raws = await read(third, first, second);
  await third.close();
  const kept = (await readFile(path, "utf8")).split("\n");
  expect(kept.map((each) => each.match(/"bigint":"(\d+)"/)?.[1])).toEqual([
    String(first),
    String(second),
    undefined,
  ]);
  expect(raws).toHaveLength(Number(second - first) + 1);
});

test("checkpoints read one by one, forwards, backwards and at once, have the bytes of a whole read", async () => {
  const dataDir = await newDataDir();
  const whole = open(dataDir);
  const all = await read(whole, 0n, 79n);
  await whole.close();
  const source = open(dataDir);
  for (const at of [3n, 4n, 9n, 40n, 40n, 12n, 13n, 79n, 0n]) {
    expect(await read(source, at, at)).toEqual([all[Number(at)]]);
  }
  const several = [30n, 31n, 33n, 5n, 60n, 61n];
  expect(await Promise.all(several.map((at) => read(source, at, at)))).toEqual(
    several.map((at) => [all[Number(at)]]),
  );
  // A reader that leaves early, as one that wants the first of a range.
  for await (const raw of source.checkpoints(
    { first: 20n, last: 60n },
    AbortSignal.timeout(20_000),
  )) {
    expect(raw.sequence).toBe(20n);
    break;
  }
  expect(await read(source, 21n, 22n)).toEqual(all.slice(21, 23));
  await source.close();
});
