// @module-tag thorough
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { CheckpointDecodeError } from "../../../src/ledger/decode/cursor.ts";
import { OtherChainError } from "../../../src/ledger/reading/source-trouble.ts";
import { SourceUnavailableError } from "../../../src/ledger/sources/source-errors.ts";
import { readHighWater } from "../../../src/log/high-water.ts";
import { factSource } from "../../../src/log/log.ts";
import { ChainMismatchError } from "../../../src/log/log-errors.ts";
import { until } from "../../lanes/until.ts";
import { contentsOf } from "../../log/contents.ts";
import { decimalsOf } from "../../log/decimals.ts";
import { COIN, mark, PACKAGE } from "../../log/facts.ts";
import { freshDatabase } from "../../postgres.ts";
import { nextOf, reached, start, undisturbed } from "./running.ts";
import { createScriptedLedger } from "./scripted-ledger.ts";

test("reads to the requested last checkpoint, and ends", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 500n });
  const running = start(database, ledger, { last: 300n });
  await running.ended;

  expect(await nextOf(database)).toBe(301n);
  expect(running.seen.latest).toMatchObject({
    state: "done",
    next: 301n,
    read: 301,
    lag: 0n,
    etaSeconds: 0,
    error: null,
  });
  expect(running.seen.latest?.skipped).toBeGreaterThan(150);
  expect(running.seen.latest?.factsPerSecond).toBeGreaterThan(0);

  const again = start(database, ledger, { last: 300n });
  await again.ended;
  expect(again.batches).toEqual([]);
});

test("hands the feed exactly the committed batches: consecutive and within bounds", async () => {
  await using database = await freshDatabase();
  const running = start(database, createScriptedLedger({ newest: 400n }), { last: 400n });
  await running.ended;

  let next = 0n;
  for (const { first, last, facts } of running.batches) {
    expect(first).toBe(next);
    next = last.sequence + 1n;
    // Full at a hundred facts or fifty checkpoints; the last checkpoint is taken whole.
    expect(facts.length).toBeLessThan(100 + 60);
    expect(Number(next - first)).toBeLessThanOrEqual(50);
  }
  expect(next).toBe(401n);
  const committed = await factSource(database).readFacts({
    from: 0n,
    names: ["shared_token::Transfer"],
    maxFacts: 1_000_000,
    maxBytes: 1_000_000_000,
  });
  // Those of the feed have the versions that were taken in besides.
  expect(running.batches.flatMap(({ facts }) => facts)).toMatchObject([
    ...(committed?.facts ?? []),
  ]);
});

test("at the tip each checkpoint is appended on its own, immediately", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 9n });
  const running = start(database, ledger);
  await reached(database, 10n);
  const before = running.batches.length;
  const tookMs: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const startedAt = performance.now();
    const expected = running.batches.length + 1;
    ledger.grow();
    const deadline = startedAt + 30_000;
    while (running.batches.length < expected) {
      if (performance.now() > deadline) throw new Error(`not in the log: ${ledger.newest}`);
      await wait(1);
    }
    tookMs.push(performance.now() - startedAt);
  }
  expect(running.batches.length - before).toBe(20);
  // None waits for a batch's age, which is a second: however busy the machine, one of them shows it.
  expect(Math.min(...tookMs)).toBeLessThan(900);
  await running.stop();
  expect(running.seen.latest).toMatchObject({ state: "done", lag: 0n });
});

test("a checkpoint that stays damaged is named and waited for, after everything before it and without any of it", async () => {
  const [before, whole] = [await undisturbed(76n), await undisturbed(200n)];
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 200n });
  ledger.damaged.set(77n, Number.POSITIVE_INFINITY);
  const running = start(database, ledger);
  const tried = () => ledger.openedAt.filter((first) => first === 77n).length;
  // Each round reads it twice: four rounds at the least.
  await until(
    "several readings",
    async () => tried(),
    (count) => count >= 8,
  );
  const { error, next } = running.seen.latest ?? {};
  expect(error).toBeInstanceOf(CheckpointDecodeError);
  expect(error).toMatchObject({ sequence: 77n, remedy: "retry" });
  expect(next).toBe(77n);
  expect(await contentsOf(database)).toBe(before);

  ledger.damaged.clear();
  await reached(database, 201n);
  expect(running.seen.latest).toMatchObject({ error: null });
  expect(await contentsOf(database)).toBe(whole);
  await running.stop();
});

test("without progress for the whole retry time, it ends with the last error", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 60n });
  ledger.damaged.set(40n, Number.POSITIVE_INFINITY);
  const running = start(database, ledger, { last: 60n, retryForMs: 200 });
  await expect(running.ended).rejects.toThrow(CheckpointDecodeError);
  expect(running.seen.latest).toMatchObject({ state: "stopped", next: 40n });
  expect(running.notices.length).toBeGreaterThan(0);
});

test("a checkpoint damaged in transit is fetched again", async () => {
  const expected = await undisturbed(100n);
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 100n });
  ledger.damaged.set(40n, 1);
  await start(database, ledger, { last: 100n }).ended;
  expect(await contentsOf(database)).toBe(expected);
  expect(ledger.openedAt).toEqual([0n, 40n]);
});

test("a source that fails for a while, or ends early, is reopened at the log's end", async () => {
  const expected = await undisturbed(100n);
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 100n });
  let failures = 3;
  ledger.before = async (sequence) => {
    if (sequence === 50n && failures-- > 0) {
      throw new SourceUnavailableError("scripted", "checkpoint 50", 3, new Error("down"));
    }
  };
  let ends = 1;
  ledger.deliveredAs = (sequence) => (sequence === 70n && ends-- > 0 ? "end" : sequence);
  const running = start(database, ledger, { last: 100n });
  await running.ended;
  expect(await contentsOf(database)).toBe(expected);
  expect(ledger.openedAt).toEqual([0n, 50n, 50n, 50n, 70n]);
  expect(running.notices).toHaveLength(4);
});

test("a skipped or repeated checkpoint is not used, and requested again", async () => {
  const expected = await undisturbed(100n);
  for (const wrong of [31n, 29n]) {
    await using database = await freshDatabase();
    const ledger = createScriptedLedger({ newest: 100n });
    let times = 3;
    ledger.deliveredAs = (sequence) => (sequence === 30n && times-- > 0 ? wrong : sequence);
    const running = start(database, ledger, { last: 100n });
    await running.ended;
    expect(running.notices.join()).toMatch(/CheckpointOutOfOrderError/);
    expect(await contentsOf(database)).toBe(expected);
  }
});

test("a checkpoint that does not follow the previous one stops the reader once confirmed, with nothing of it in the log", async () => {
  const ledger = createScriptedLedger({ newest: 200n });
  const faithful = ledger.follows;
  // One without facts and one with some; the log's own last one comes from an earlier reading.
  for (const [wrong, readBefore] of [
    [76n, undefined],
    [78n, undefined],
    [79n, 78n],
  ] as const) {
    const before = await undisturbed(wrong - 1n);
    await using database = await freshDatabase();
    ledger.follows = faithful;
    if (readBefore !== undefined) await start(database, ledger, { last: readBefore }).ended;
    ledger.follows = (sequence) => (sequence === wrong ? "digest-of-another" : faithful(sequence));
    const running = start(database, ledger);
    const error = await running.ended.catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(OtherChainError);
    expect(error).toMatchObject({ sequence: wrong, remedy: "stop" });
    expect(String(error)).toMatch(
      `digest-of-another, but checkpoint ${wrong - 1n} has ${mark(wrong - 1n).digest}`,
    );
    // What a person has to do.
    expect(String(error)).toMatch(/compare the digests .*LEDGER_SOURCE.*DATABASE_URL/);
    expect(running.seen.latest).toMatchObject({ state: "stopped", next: wrong, error });
    expect(running.notices.length).toBeGreaterThan(0);
    expect(await contentsOf(database)).toBe(before);
  }
});

test("a link broken briefly, or differently each time, does not stop it", async () => {
  const expected = await undisturbed(100n);
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 100n });
  const faithful = ledger.follows;
  let readings = 0;
  ledger.follows = (sequence) => {
    if (sequence !== 50n || readings >= 12) return faithful(sequence);
    readings += 1;
    return `digest-of-another-${Math.floor(readings / 2)}`;
  };
  const running = start(database, ledger, { last: 100n });
  await running.ended;
  expect(readings).toBe(12);
  expect(await contentsOf(database)).toBe(expected);
});

test("a digest damaged in transit is fetched again", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 60n });
  const faithful = ledger.follows;
  let damaged = 1;
  ledger.follows = (sequence) => (sequence === 40n && damaged-- > 0 ? null : faithful(sequence));
  await start(database, ledger, { last: 60n }).ended;
  expect(await nextOf(database)).toBe(61n);
  expect(ledger.openedAt).toEqual([0n, 40n]);
});

test("a log that begins in the middle accepts its first checkpoint whatever preceded it", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 60n });
  const faithful = ledger.follows;
  ledger.follows = (sequence) => (sequence === 30n ? "digest-of-another" : faithful(sequence));
  await start(database, ledger, { firstCheckpoint: 30n, last: 60n }).ended;
  expect(await nextOf(database)).toBe(61n);
});

test("a source of another chain is refused before any write, also by a standby", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 20n });
  const running = start(database, ledger);
  await reached(database, 21n);
  const foreign = createScriptedLedger({ newest: 50n, chainId: "chain-b" });
  await expect(start(database, foreign).ended).rejects.toThrow(ChainMismatchError);
  await running.stop();
  await expect(start(database, foreign).ended).rejects.toThrow(/chain-a.*chain-b/);
  expect(await nextOf(database)).toBe(21n);
});

test("decimals come from metadata on the ledger, the newest winning", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 80n });
  ledger.coins.set(10n, [{ coinType: COIN, decimals: 6 }]);
  ledger.coins.set(55n, [{ coinType: COIN, decimals: 8 }]);
  ledger.coins.set(70n, [{ coinType: `${PACKAGE}::other::OTHER`, decimals: 2 }]);
  await start(database, ledger, { last: 80n }).ended;
  expect(
    Object.fromEntries(await decimalsOf(database, [COIN, `${PACKAGE}::other::OTHER`])),
  ).toEqual({
    [COIN]: 8,
    [`${PACKAGE}::other::OTHER`]: 2,
  });
});

test("decimals older than the log are requested from the network until it knows them; reading does not wait", async () => {
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 80n });
  let asked = 0;
  const source = {
    ...ledger.source,
    coinDecimals: async () => {
      asked += 1;
      if (asked === 1) throw new Error("not now");
      if (asked === 2) return null;
      if (asked === 3) return 300;
      return 9;
    },
  };
  const running = start(database, ledger, { source });
  await reached(database, 81n);
  const deadline = performance.now() + 30_000;
  for (;;) {
    const known = (await decimalsOf(database, [COIN])).get(COIN);
    if (known !== undefined) {
      expect(known).toBe(9);
      break;
    }
    if (performance.now() > deadline) throw new Error(`asked ${asked} times, still unknown`);
    await wait(5);
  }
  await running.stop();
  expect(asked).toBe(4);
  expect(running.notices.join("\n")).toMatch(/not now[\s\S]*cannot have 300 decimals/);
});

test("without a first checkpoint a log begins where its package was published, if known", async () => {
  const asked: string[] = [];
  const ledger = createScriptedLedger({ newest: 30n });
  const read = async (published: bigint | null) => {
    const database = await freshDatabase();
    const source = {
      ...ledger.source,
      publishedAt: async (address: string) => {
        asked.push(address);
        return published;
      },
    };
    const settings = { source, firstCheckpoint: undefined };
    await start(database, ledger, { ...settings, last: 20n }).ended;
    await start(database, ledger, { ...settings, last: 30n }).ended;
    const mark = await readHighWater(database.sql);
    await database.close();
    return mark;
  };
  expect(await read(12n)).toMatchObject({ firstCheckpoint: 12n, nextCheckpoint: 31n });
  expect(await read(null)).toMatchObject({ firstCheckpoint: 0n, nextCheckpoint: 31n });
  // A log that has begun keeps its beginning, and no node is asked for it.
  expect(asked).toEqual([PACKAGE, PACKAGE]);
});
