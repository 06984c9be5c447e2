/** Results that are not what an honest worker of the same ledger stores. */
import { expect, test } from "vitest";
import { packRange, unpackRange } from "../../src/backfill/range-content.ts";
import type { RangeReader } from "../../src/backfill/work-ranges.ts";
import { readerAt } from "../../src/ledger/reading/read.ts";
import { readHighWater } from "../../src/log/high-water.ts";
import { failRange, keepRange, planRanges, rangeAt } from "../../src/log/ranges.ts";
import { contentsOf } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { divideLedger } from "./divided-ledger.ts";

/** No upgrade before it has it read again. */
const DUE = 0n;

const UNTRUE: Readonly<Record<string, (read: RangeReader) => RangeReader>> = {
  "whose bytes were altered": (read) => async (range, packages, signal) => {
    const { content, rawBytes } = await read(range, packages, signal);
    return { content: content.toReversed(), rawBytes };
  },
  "whose facts are in another order": (read) => async (range, packages, signal) => {
    const { content, rawBytes } = await read(range, packages, signal);
    const { batch, ...whole } = await unpackRange(content, rawBytes);
    const facts = batch.facts.toReversed();
    expect(facts[0]?.checkpoint).not.toBe(batch.facts[0]?.checkpoint);
    return { content: await packRange({ ...whole, batch: { ...batch, facts } }), rawBytes };
  },
  "that leaves out its last checkpoints": (read) => (range, packages, signal) =>
    read({ ...range, last: range.last - 2n }, packages, signal),
};

test.each(Object.entries(UNTRUE))(
  "a result %s is not appended but reported with its worker, and its range is read again",
  async (_, alter) => {
    await using ledger = await divideLedger(64);
    await using alone = await freshDatabase();
    await ledger.readLog(alone);
    await using divided = await freshDatabase({ max: 8 });
    const honest = ledger.work(divided);
    await honest[Symbol.asyncDispose]();
    let times = 0;
    const read: RangeReader = (range, packages, signal) => {
      if (range.first === DUE) times += 1;
      const isAltered = range.first === DUE && times === 1;
      return (isAltered ? alter(honest.whole) : honest.whole)(range, packages, signal);
    };
    await using _worker = ledger.work(divided, { read });
    const notices: string[] = [];
    await ledger.join(divided, { onNotice: (message) => notices.push(message) });
    expect(notices).toContainEqual(
      expect.stringMatching(
        /^a range could not be read: checkpoint 0: \w+Error: .* \(read by \S+:\d+\)$/,
      ),
    );
    expect(times).toBeGreaterThan(1);
    expect(await contentsOf(divided)).toBe(await contentsOf(alone));
  },
  60_000,
);

test.each(["links", "signatures"] as const)(
  "an empty log takes nothing from workers that read another ledger, and says so, with VERIFY=%s",
  async (level) => {
    await using ledger = await divideLedger(48);
    await using other = await divideLedger(48, 8);
    await using divided = await freshDatabase({ max: 8 });
    await using _worker = other.work(divided, { level });
    const { committee } = ledger;
    const joining = ledger.join(divided, {
      read: readerAt(level),
      verification: { level, trust: async () => ({ committee }) },
      retryForMs: 0,
    });
    await expect(joining).rejects.toThrow(
      /checkpoint 0 has digest .* LEDGER_SOURCE of this process/,
    );
    expect((await readHighWater(divided.sql))?.last).toBeNull();
  },
  60_000,
);

test("a worker that fails late leaves what another one has read", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  await planRanges(sql, [{ first: 0n, last: 9n }]);
  const content = Buffer.from("read");
  await failRange(sql, 0n, { reason: "slow", worker: "one" });
  await keepRange(sql, { first: 0n, last: 9n }, { content, rawBytes: 4, worker: "two" });
  await failRange(sql, 0n, { reason: "slower", worker: "one" });
  expect(await rangeAt(sql, 0n)).toMatchObject({
    failures: 1,
    failure: "slow (read by one)",
    content,
  });
});

test("the reason of a failed range, which /health shows, keeps no key of an address", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  await planRanges(sql, [{ first: 0n, last: 9n }]);
  const reason = "CertificateError: https://node.example/v1/KEY?token=KEY does not have it";
  await failRange(sql, 0n, { reason, worker: null });
  expect(await rangeAt(sql, 0n)).toMatchObject({
    failure: "CertificateError: https://node.example does not have it",
  });
});
