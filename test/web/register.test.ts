/** What the page works out by itself, held against the service's own rules where it has them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { claimableAt as claimableOnServer } from "../../src/projections/unlocking.ts";
import { partColumns } from "../../web/src/blocks/column.ts";
import { csvOf, tableCsv } from "../../web/src/blocks/csv.ts";
import { type Health, withNewer } from "../../web/src/data/health.ts";
import { rateOver, secondsLeft } from "../../web/src/pages/status/rates.ts";
import { partsOf, sumUp } from "../../web/src/pages/today/since.ts";
import { activityOf } from "../../web/src/register/activity.ts";
import { compareRegisters } from "../../web/src/register/compare.ts";
import { curve, largest } from "../../web/src/register/concentration.ts";
import {
  claimableAt,
  type Grant,
  nextRelease,
  reachable,
  releaseTimes,
  unlockedAt,
  unlockedBetween,
} from "../../web/src/register/grants.ts";
import { momentsBetween, sharesOf } from "../../web/src/register/past-registers.ts";
import { matches, type Row } from "../../web/src/register/register.ts";
import { tilesOf } from "../../web/src/register/tiles.ts";
import {
  amountIn,
  amountText,
  changeText,
  isRounded,
  lastStep,
  shareChangeText,
  shareText,
} from "../../web/src/shown/amount.ts";
import { PRESETS, ticksBetween, typedSeconds, typedText } from "../../web/src/shown/calendar.ts";
import {
  fieldSeconds,
  fieldText,
  momentText,
  yesterdaysClose,
} from "../../web/src/shown/moment.ts";

const units = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

const grants = fc.record({
  objectId: fc.constant("0x1"),
  owner: fc.constant("0x2"),
  funder: fc.constant("0x3"),
  totalAmount: units,
  leftBalance: units,
  tokensTransferred: units,
  commencementMs: fc.bigInt({ min: 0n, max: 10_000n }),
  delayMs: fc.bigInt({ min: 0n, max: 1_000n }),
  periodMs: fc.bigInt({ min: 0n, max: 500n }),
  releaseCount: fc.bigInt({ min: 0n, max: 60n }),
  initialBps: fc.bigInt({ min: 0n, max: 10_000n }),
});

const onServer = (grant: Grant, timeMs: bigint): bigint =>
  claimableOnServer(
    {
      owner: grant.owner,
      funder: grant.funder,
      totalAmount: grant.totalAmount,
      leftBalance: grant.leftBalance,
      tokensTransferred: grant.tokensTransferred,
      commencementTimestampMs: grant.commencementMs,
      delayUntilFirstReleaseMs: grant.delayMs,
      periodBetweenReleasesMs: grant.periodMs,
      releaseCount: grant.releaseCount,
      initialReleasePortionBps: grant.initialBps,
      releaseScheduleId: 0n,
    },
    timeMs,
  );

test("the page and the service agree on the claimable part of any grant at any time", () => {
  fc.assert(
    fc.property(grants, fc.bigInt({ min: 0n, max: 60_000n }), (grant, timeMs) => {
      expect(claimableAt(grant, timeMs)).toBe(onServer(grant, timeMs));
    }),
  );
});

test("the next release is the first moment at which more can be claimed, and none is skipped", () => {
  fc.assert(
    fc.property(grants, fc.bigInt({ min: 0n, max: 60_000n }), (grant, timeMs) => {
      const next = nextRelease(grant, timeMs);
      const now = claimableAt(grant, timeMs);
      if (next === null) {
        expect(claimableAt(grant, 10n ** 12n)).toBe(now);
        return;
      }
      expect(next.atMs).toBeGreaterThan(timeMs);
      expect(claimableAt(grant, next.atMs - 1n)).toBe(now);
      expect(claimableAt(grant, next.atMs)).toBe(now + next.amount);
      expect(next.amount).toBeGreaterThan(0n);
    }),
  );
});

test("what becomes claimable over a time adds up over its parts, and is never less than nothing", () => {
  const time = fc.bigInt({ min: 0n, max: 60_000n });
  fc.assert(
    fc.property(fc.array(grants, { maxLength: 4 }), time, time, time, (all, a, b, c) => {
      const [from = 0n, between = 0n, to = 0n] = [a, b, c].toSorted((x, y) => (x < y ? -1 : 1));
      const whole = unlockedBetween(all, from, to);
      expect(whole).toBeGreaterThanOrEqual(0n);
      expect(unlockedBetween(all, from, between) + unlockedBetween(all, between, to)).toBe(whole);
    }),
  );
});

test("a cancelled grant announces nothing, and a schedule of 2^63 releases is computed at once", () => {
  const grant: Grant = {
    objectId: "0x1",
    owner: "0x2",
    funder: "0x3",
    totalAmount: 1_000n,
    leftBalance: 0n,
    tokensTransferred: 250n,
    commencementMs: 0n,
    delayMs: 10n,
    periodMs: 10n,
    releaseCount: 4n,
    initialBps: 2_500n,
  };
  expect(nextRelease(grant, 15n)).toBeNull();
  expect(reachable(grant)).toBe(250n);
  const endless = { ...grant, leftBalance: 750n, releaseCount: 2n ** 63n, initialBps: 0n };
  expect(nextRelease({ ...endless, tokensTransferred: 0n }, 15n)?.amount).toBe(1n);
  expect(releaseTimes(endless).length).toBeLessThanOrEqual(122);
});

test("a grant's drawn releases begin with its first and end where all is unlocked", () => {
  fc.assert(
    fc.property(grants, (grant) => {
      const times = releaseTimes(grant, 10);
      expect(times.length).toBeLessThanOrEqual(11);
      expect(times[0]).toBe(grant.commencementMs + grant.delayMs);
      expect(unlockedAt(grant, times.at(-1) ?? 0n)).toBe(unlockedAt(grant, 10n ** 12n));
    }),
  );
});

const row = (id: string, balance: bigint): Row => ({
  holderId: id.startsWith("0x") ? null : id,
  wallets: [
    { address: id.startsWith("0x") ? id : `0xaa${id}`, balance, groupId: null, isFrozen: false },
  ],
  balance,
  tokens: balance,
  unlocked: 0n,
  locked: 0n,
});

const registers = fc
  .dictionary(fc.stringMatching(/^[1-9]\d?$/), fc.bigInt({ min: 1n, max: 1000n }))
  .map((held) => ({ rows: Object.entries(held).map(([id, balance]) => row(id, balance)) }));

test("the differences of two registers add up to what was issued between them", () => {
  fc.assert(
    fc.property(registers, registers, (earlier, later) => {
      const { differences, sums, unchanged } = compareRegisters(earlier, later);
      const total = ({ rows }: { rows: readonly Row[] }) =>
        rows.reduce((sum, { balance }) => sum + balance, 0n);
      const changes = Object.values(sums).reduce((sum, { change }) => sum + change, 0n);
      expect(changes).toBe(total(later) - total(earlier));
      expect(differences.reduce((sum, { change }) => sum + change, 0n)).toBe(changes);
      const ids = new Set([...earlier.rows, ...later.rows].map(({ holderId }) => holderId));
      expect(differences.length + unchanged).toBe(ids.size);
    }),
  );
});

test("new, exited, increased and decreased holders are distinguished", () => {
  const { differences } = compareRegisters(
    { rows: [row("1", 5n), row("2", 5n), row("3", 5n), row("0xbb", 7n)] },
    { rows: [row("1", 9n), row("2", 1n), row("4", 2n), row("0xbb", 7n)] },
  );
  expect(differences.map(({ id, kind, change }) => [id, kind, change])).toEqual([
    ["3", "exited", -5n],
    ["1", "increased", 4n],
    ["2", "decreased", -4n],
    ["4", "new", 2n],
  ]);
});

test("the largest holders' sums end with the total, and their curve at the top", () => {
  const rows = [50n, 30n, 20n].map((balance, index) => row(String(index), balance));
  expect(largest({ rows })).toEqual([
    { count: 1, held: 50n },
    { count: 3, held: 100n },
  ]);
  expect(curve({ rows }).map(({ count, held }) => [count, held])).toEqual([
    [0, 0n],
    [1, 50n],
    [2, 80n],
    [3, 100n],
  ]);
});

test("movements are counted into bars of whole days, and a part that was not read to its beginning is left out", () => {
  const day = (number: number) => 1_767_225_600 + number * 86_400;
  const moved = (activityType: string, at: number) => ({
    activityType,
    amount: "9007199254740993",
    checkpointTimestamp: `${at}`,
  });
  const movements = [
    moved("burn", day(9) + 5),
    moved("mint", day(9)),
    moved("mint", day(0) + 7_200),
    moved("transfer", day(0) + 3_600),
  ];
  const now = (day(9) + 60) * 1_000;
  const all = activityOf(movements, true, now);
  expect(all.times.map((ms) => ms / 1_000)).toEqual(Array.from({ length: 10 }, (_, n) => day(n)));
  expect(all.counts.mint).toEqual([1n, ...Array.from({ length: 8 }, () => 0n), 1n]);
  expect(all.amounts.burn.at(-1)).toBe(9_007_199_254_740_993n);
  expect(all.all).toBe(4);

  const some = activityOf(movements, false, now);
  expect(some.times[0]).toBe(day(1) * 1_000);
  expect(some.all).toBe(2);
  expect(some.counts.transfer.every((count) => count === 0n)).toBe(true);
});

test("activity of any length has at most some sixty bars, and each movement is in one of them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 400_000_000 }), { minLength: 1 }),
      fc.integer({ min: 400_000_000, max: 400_000_060 }),
      (agos, now) => {
        const movements = agos
          .toSorted((a, b) => b - a)
          .map((at) => ({ activityType: "mint", amount: "1", checkpointTimestamp: `${at}` }));
        const { times, counts, all } = activityOf(movements, true, now * 1_000);
        expect(times.length).toBeLessThanOrEqual(62);
        expect(all).toBe(agos.length);
        expect(counts.mint.reduce((sum, count) => sum + count, 0n)).toBe(BigInt(agos.length));
      },
    ),
  );
});

test("moments over a time begin and end with it, and shares of the largest are rounded down", () => {
  expect(momentsBetween(100, 220)).toEqual(Array.from({ length: 13 }, (_, n) => 100 + n * 10));
  expect(momentsBetween(100, 100)).toEqual([100, 100]);
  expect(momentsBetween(100, 102)).toEqual([100, 101, 102]);
  expect(sharesOf(3n, [2n, 1n])).toEqual([6_666n, 10_000n, 10_000n]);
  expect(sharesOf(0n, [])).toEqual([0n, 0n, 0n]);
});

test("areas of a map add up to the register, and each has the state of its row", () => {
  const rows = Array.from({ length: 70 }, (_, index) =>
    row(`${index + 1}`, 1_000n - BigInt(index)),
  );
  const tiles = tilesOf([
    {
      ...row("900", 2_000n),
      wallets: [{ address: "0x1", balance: 2_000n, groupId: null, isFrozen: true }],
    },
    row("0xbb", 1_500n),
    ...rows,
  ]);
  expect(tiles.slice(0, 3).map(({ state }) => state)).toEqual(["frozen", "loose", "holder"]);
  expect(tiles.at(-1)).toMatchObject({ id: "", name: "12 others", state: "others" });
  const sum = (of: readonly { readonly balance: bigint }[]) =>
    of.reduce((all, { balance }) => all + balance, 0n);
  expect(sum(tiles)).toBe(3_500n + sum(rows));
});

test("amounts are exact beyond the range of a number, with their decimals", () => {
  expect(amountText(18_446_744_073_709_551_615n, 9)).toBe("18,446,744,073.709551615");
  expect(amountText(1_234_500n, 4)).toBe("123.45");
  expect(amountText(1_234_500n, 4, true)).toBe("123.4500");
  expect(amountText(5n, 6)).toBe("0.000005");
  expect(amountText(-1_000n, 0)).toBe("\u22121,000");
  expect(amountText(1_000n, null)).toBe("1,000");
  expect(changeText(10n, 1)).toBe("+1");
  expect(changeText(0n, 1)).toBe("0");
});

const SHOWN_WITH = { decimals: 6, signed: true, fixed: true };

test("an amount with less room is cut, never rounded up, and marked", () => {
  const steps = (units: bigint, form = SHOWN_WITH) =>
    Array.from({ length: lastStep(form.decimals) + 1 }, (_, step) => amountIn(units, form, step));
  expect(steps(861_064_773_308n)).toEqual([
    "+861,064.773308",
    "\u2248 +861,064.77330",
    "\u2248 +861,064.7733",
    "\u2248 +861,064.773",
    "\u2248 +861,064.77",
    "\u2248 +861,064.7",
    "\u2248 +861,064",
    "\u2248 +861 K",
    "\u2248 +861 K",
    "\u2248 +861 K",
    "\u2248 +861 K",
  ]);
  expect(amountIn(-999_999_999_999n, SHOWN_WITH, 5)).toBe("\u2248 \u2212999,999.9");
  expect(amountIn(100_000_000n, SHOWN_WITH, 4)).toBe("+100.00");
  expect(amountIn(250_000_000_000n, SHOWN_WITH, 7)).toBe("+250 K");
  // Little is not nothing.
  expect(amountIn(9_999n, SHOWN_WITH, 4)).toBe("< +0.01");
  expect(amountIn(-9_999n, SHOWN_WITH, 4)).toBe("> \u22120.01");
  expect(amountIn(0n, SHOWN_WITH, 4)).toBe("0.00");
});

test("a shortened amount shows only its own first digits, and no exact amount is marked as approximate", () => {
  const forms = fc.record({
    decimals: fc.constantFrom(null, 0, 6, 9, 18),
    signed: fc.boolean(),
    fixed: fc.boolean(),
  });
  const amounts = fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n });
  fc.assert(
    fc.property(amounts, forms, fc.nat({ max: 22 }), (amount, form, step) => {
      const whole = amountIn(amount, form, 0);
      const shown = amountIn(amount, form, step);
      expect(whole).toBe(
        (form.signed ? changeText : amountText)(amount, form.decimals, form.fixed),
      );
      const digits = (text: string) => text.replace(/[^\d]/g, "");
      if (/^[<>]/.test(shown)) expect(digits(whole)).toMatch(/^0+[1-9]/);
      else expect(`${digits(whole)}000000`.startsWith(digits(shown))).toBe(true);
      const isExact = !isRounded(shown);
      const asUnits = (text: string) => digits(text).replace(/^0+|0+$/g, "");
      if (isExact) expect(asUnits(shown)).toBe(asUnits(whole));
    }),
  );
});

test("shares are rounded down and the smallest is not shown as zero", () => {
  expect(shareText(1n, 3n)).toBe("33.33 %");
  expect(shareText(1n, 1_000_000n)).toBe("< 0.01 %");
  expect(shareText(0n, 3n)).toBe("0.00 %");
  expect(shareText(1n, 0n)).toBe("\u2013");
});

test("a share's change is in points, towards zero, also where nothing was issued before", () => {
  const [third, half] = [
    { part: 1n, whole: 3n },
    { part: 1n, whole: 2n },
  ];
  expect(shareChangeText(third, half)).toBe("+16.66");
  expect(shareChangeText(half, third)).toBe("\u221216.66");
  expect(shareChangeText({ part: 0n, whole: 0n }, half)).toBe("+50.00");
  expect(shareChangeText(half, half)).toBe("0.00");
});

test("exported rows keep commas, quotes and lines, and no text of theirs becomes a formula", () => {
  expect(
    csvOf(
      ["a", "b"],
      [
        ["1,5", 'say "hi"'],
        ["=1+1", "-12.5"],
        [null, "x\ny"],
      ],
    ),
  ).toBe('a,b\r\n"1,5","say ""hi"""\r\n\'=1+1,-12.5\r\n,"x\ny"\r\n');
  const columns = [
    { header: "Name", cell: () => null, plain: ({ name }: { name: string }) => name },
    { header: "Picture", cell: () => null },
    { header: "Held", unit: "ACME", cell: () => null, plain: () => "1.5" },
  ];
  expect(tableCsv(columns, [{ name: "@x" }])).toBe("Name,Held (ACME)\r\n'@x,1.5\r\n");
});

test("columns without room are left out until they are chosen, and the first one always stays", () => {
  const column = (header: string, wideOnly?: boolean | "very" | "slightly") => ({
    header,
    cell: () => null,
    ...(wideOnly !== undefined && { wideOnly }),
  });
  const columns = [column("Holder"), column("Wallets", true), column("Tokens", "very")];
  const shown = (
    ...[chosen, width]: [readonly string[] | null, Parameters<typeof partColumns>[2]]
  ) => partColumns(columns, chosen, width).shown.map(({ header }) => header);
  expect(shown(null, "phone")).toEqual(["Holder"]);
  expect(shown(null, "desk")).toEqual(["Holder", "Wallets"]);
  expect(shown(null, "wide")).toEqual(["Holder", "Wallets", "Tokens"]);
  expect(shown(["tokens"], "phone")).toEqual(["Holder", "Tokens"]);
  // Of another table.
  expect(shown(["cause"], "desk")).toEqual(["Holder", "Wallets"]);
  expect(partColumns(columns, ["tokens"], "desk").hidden.map(({ header }) => header)).toEqual([
    "Wallets",
  ]);
});

test("moments are shown in UTC, to the second, even out of range", () => {
  expect(momentText(Date.UTC(2026, 4, 4, 13, 2, 11))).toBe("2026-05-04 13:02:11 UTC");
  expect(momentText(1e300)).toBe("out of range");
  expect(fieldSeconds(fieldText(1_777_777_777))).toBe(1_777_777_777);
  expect(fieldSeconds("2026-05-04T13:02")).toBe(Date.UTC(2026, 4, 4, 13, 2) / 1_000);
  expect(fieldSeconds("soon")).toBeNull();
  expect(yesterdaysClose(Date.UTC(2026, 4, 4, 13))).toBe(Date.UTC(2026, 4, 4) / 1_000 - 1);
});

test("a typed time is ISO 8601 in UTC, a day alone its last second, and anything else none", () => {
  const at = (...parts: [number, number, number, number, number, number]) =>
    Date.UTC(...parts) / 1_000;
  expect(typedSeconds("2026-05-04T13:02:11Z")).toBe(at(2026, 4, 4, 13, 2, 11));
  expect(typedSeconds(" 2026-05-04 13:02:11 UTC ")).toBe(at(2026, 4, 4, 13, 2, 11));
  expect(typedSeconds("2026-05-04 13:02")).toBe(at(2026, 4, 4, 13, 2, 0));
  expect(typedSeconds("2026-05-04")).toBe(at(2026, 4, 4, 23, 59, 59));
  for (const text of [
    "",
    "2026-02-30",
    "2026-05-04 25:00",
    "04.05.2026",
    "2026-05-04T13:02:11+02:00",
  ]) {
    expect(typedSeconds(text), text).toBeNull();
  }
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
      expect(typedSeconds(typedText(seconds))).toBe(seconds);
    }),
  );
});

test("usual moments are ends of days, months, quarters and years that are over", () => {
  const of = (ms: number) =>
    Object.fromEntries(PRESETS.map(({ name, at }) => [name, typedText(at(ms))]));
  expect(of(Date.UTC(2026, 4, 4, 13))).toEqual({
    hour: "2026-05-04 12:00:00",
    yesterday: "2026-05-03 23:59:59",
    month: "2026-04-30 23:59:59",
    quarter: "2026-03-31 23:59:59",
    year: "2025-12-31 23:59:59",
  });
  expect(of(Date.UTC(2026, 0, 1))).toMatchObject({
    month: "2025-12-31 23:59:59",
    quarter: "2025-12-31 23:59:59",
    year: "2025-12-31 23:59:59",
  });
});

test("a time line of any length has few marks, in order, at beginnings of the calendar", () => {
  const labels = (from: string, to: string) =>
    ticksBetween(Date.parse(from) / 1_000, Date.parse(to) / 1_000, 5).map(({ label }) => label);
  expect(labels("2026-05-04T13:02Z", "2026-05-04T17:00Z")).toEqual([
    "14:00",
    "15:00",
    "16:00",
    "17:00",
  ]);
  expect(labels("2026-05-04T13:02Z", "2026-05-08T00:00Z")).toEqual([
    "05-05",
    "05-06",
    "05-07",
    "05-08",
  ]);
  expect(labels("2026-01-15T00:00Z", "2026-05-08T00:00Z")).toEqual([
    "2026-02",
    "2026-03",
    "2026-04",
    "2026-05",
  ]);
  expect(labels("2024-12-15T00:00Z", "2027-05-08T00:00Z")).toEqual(["2025", "2026", "2027"]);
  fc.assert(
    fc.property(
      fc.nat(2_000_000_000),
      fc.integer({ min: 1, max: 1_000_000_000 }),
      (from, length) => {
        const ticks = ticksBetween(from, from + length, 5);
        expect(ticks.length).toBeLessThanOrEqual(5);
        for (const [index, { at }] of ticks.entries()) {
          expect(at).toBeGreaterThanOrEqual(from);
          expect(at).toBeLessThanOrEqual(from + length);
          if (index > 0) expect(at).toBeGreaterThan(ticks[index - 1]?.at ?? 0);
        }
      },
    ),
  );
});

test("a search finds a holder by its whole number and a wallet by a part of its address", () => {
  expect(matches(row("12", 1n), "12")).toBe(true);
  expect(matches(row("12", 1n), "1")).toBe(false);
  expect(matches(row("0xabcdef", 1n), "BCD")).toBe(true);
  expect(matches(row("12", 1n), " ")).toBe(true);
});

test("movements since a moment are those later than that second, exactly", () => {
  const moved = (activityType: string, amount: string, checkpointTimestamp: string) => ({
    activityType,
    amount,
    checkpointTimestamp,
  });
  const sums = sumUp(
    [
      moved("mint", "9007199254740993", "101"),
      moved("mint", "1", "100"),
      moved("burn", "5", "102"),
    ],
    100,
  );
  expect(sums.minted).toEqual({ count: 1, amount: 9_007_199_254_740_993n });
  expect(sums.burned).toEqual({ count: 1, amount: 5n });
  expect(sums.transferred).toEqual({ count: 0, amount: 0n });
});

test("what moved over a time is split into equal parts, none counted twice and none before it", () => {
  const moved = (amount: string, checkpointTimestamp: string) => ({ amount, checkpointTimestamp });
  const parts = partsOf(
    [
      moved("1", "101"),
      moved("2", "150"),
      moved("4", "151"),
      moved("8", "200"),
      moved("16", "100"),
    ],
    100,
    200,
    2,
  );
  expect(parts).toEqual([3n, 12n]);
  expect(partsOf([], 100, 100, 2)).toEqual([0n, 0n]);
});

test("a rate covers the requested time, and a backfill without progress has no end", () => {
  const samples = [0, 10_000, 20_000].map((atMs) => ({ atMs, checkpoint: atMs / 100 }));
  expect(rateOver(samples, 30_000)).toBe(10);
  expect(rateOver(samples.slice(0, 1), 30_000)).toBeNull();
  expect(secondsLeft("600", 10, 4)).toBe(100);
  expect(secondsLeft("600", 4, 4)).toBeNull();
  expect(secondsLeft(null, 4, null)).toBeNull();
});

test("the status shows no pipeline beyond the log, and no log beyond the chain's end", () => {
  const part = {
    checkpointTimestamp: null,
    ageSeconds: null,
    lagCheckpoints: null,
    state: "ok",
  } as const;
  const health: Health = {
    version: "1",
    status: "ok",
    pipelines: [
      { ...part, pipeline: "first", checkpoint: "7" },
      { ...part, pipeline: "second", checkpoint: null },
    ],
    reader: { ...part, checkpoint: "8", tip: "9" },
  };
  expect(withNewer(health, null)).toEqual(health);
  const { pipelines, reader } = withNewer(health, [{ pipeline: "first", checkpoint: "12" }]);
  expect(pipelines.map(({ checkpoint }) => checkpoint)).toEqual(["12", null]);
  expect(reader).toMatchObject({ checkpoint: "12", tip: "12" });
  const unknown = { ...health, pipelines: [], reader: { ...health.reader, checkpoint: null } };
  expect(withNewer(unknown, null).reader).toMatchObject({ checkpoint: null, tip: "9" });
});
