// @module-tag thorough
/** Roots that are published once a day without being asked for. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { publishedRootsOf } from "../../src/audit/sequence/published-roots.ts";
import { dailyRoots } from "../../src/audit/watch/daily-roots.ts";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { checkpointMark } from "../../src/log/blocks.ts";
import { integrityDetails } from "../../src/service/health/integrity-health.ts";
import { alterRows } from "../projections/damage.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";
import { entriesOf } from "./sequence-entries.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGIN = Date.UTC(2026, 5, 1);

/** A ledger that begins at midnight and has a checkpoint every ten minutes: 144 a day. */
const register = (seed = 3) =>
  demoRegister({ seed, genesisTimeMs: BigInt(BEGIN), intervalMs: BigInt(HOUR / 6) });

const keyOf = ({ database }: DemoRegister) => openDeploymentKey(database, randomBytes(32));

/** A whole round of the check at a moment; which tokens had no root signed. */
const roundAt = async (
  { database }: DemoRegister,
  key: Awaited<ReturnType<typeof keyOf>>,
  nowMs: number,
) => {
  const faults: string[] = [];
  const check = dailyRoots({
    key,
    now: () => nowMs,
    onFault: (coinType, { name }) => faults.push(`${name} ${coinType}`),
  });
  while (!(await check.next(database)).ended);
  return faults;
};

const bodiesOf = async ({ database }: DemoRegister, kind: string) =>
  (await entriesOf(database.sql)).filter((entry) => entry.kind === kind).map(({ body }) => body);

test("after a day ends, the sequence has the root and chain end of every token that changed, at the last checkpoint before midnight", async () => {
  await using demo = await register();
  const { database } = demo;
  const key = await keyOf(demo);
  await demo.advance(143);
  // Nothing behind midnight was read: the day may have further checkpoints.
  expect(await roundAt(demo, key, BEGIN + DAY + HOUR)).toEqual([]);
  expect(await bodiesOf(demo, "root")).toEqual([]);
  await demo.advance(10);
  // In the middle of the day nothing has ended.
  await roundAt(demo, key, BEGIN + DAY - 1);
  expect(await bodiesOf(demo, "root")).toEqual([]);

  expect(await roundAt(demo, key, BEGIN + DAY + HOUR)).toEqual([]);
  const coins = [...demo.model.coins.keys()].toSorted();
  const mark = await checkpointMark(database.db, 143n);
  const at = { checkpoint: "143", chainId: expect.any(String) };
  const roots = await bodiesOf(demo, "root");
  expect(roots.filter(({ version }) => version === "2")).toEqual(
    coins.map((coinType) => ({
      ...at,
      version: "2",
      coinType,
      decimals: expect.stringMatching(/^\d+$/),
      checkpointTimestampMs: `${mark?.timestampMs}`,
      checkpointDigest: mark?.digest,
      root: expect.stringMatching(/^[0-9a-f]{64}$/),
      total: expect.stringMatching(/^\d+$/),
    })),
  );
  expect(mark?.timestampMs).toBeLessThan(BigInt(BEGIN + DAY));
  for (const coinType of coins) {
    expect(await publishedRootsOf(database, { coinType, limit: 10 })).toMatchObject([
      { checkpoint: "143" },
    ]);
  }
  const ends = await database.sql<{ coinType: string; facts: string; hash: string }[]>`
    select distinct on (coin_type) coin_type as "coinType", facts::text as facts,
           encode(hash, 'hex') as hash
    from log_coin_chain join log_coins using (coin_type) where is_security and checkpoint <= 143
    order by coin_type, checkpoint desc`;
  expect(await bodiesOf(demo, "coin")).toEqual(ends.map((end) => ({ ...at, ...end })));

  // The day is done: nothing is published twice.
  await roundAt(demo, key, BEGIN + DAY + 2 * HOUR);
  expect(await bodiesOf(demo, "coin")).toHaveLength(coins.length);
  const { roots: found } = await readWatchResults(database);
  expect(found).toMatchObject({ day: "2026-06-01", through: "143", faults: [] });
  expect(found.madeSecondsAgo).toBeGreaterThanOrEqual(0);
});

test("a log that catches up on many days publishes the last day's roots only, and none where nothing changed since", async () => {
  await using demo = await register();
  const key = await keyOf(demo);
  await demo.advance(144 * 3 + 10);
  await roundAt(demo, key, BEGIN + 3 * DAY + HOUR);
  const first = await bodiesOf(demo, "root");
  expect(new Set(first.map(({ checkpoint }) => checkpoint))).toEqual(new Set(["431"]));

  await demo.database.sql`update daily_roots set checkpoint = 100000`;
  await demo.advance(144);
  await roundAt(demo, key, BEGIN + 4 * DAY + HOUR);
  expect(await bodiesOf(demo, "root")).toEqual(first);
  expect((await readWatchResults(demo.database)).roots).toMatchObject({ day: "2026-06-04" });
});

test("no root is published for a checkpoint that a pipeline has not committed, or while the log is known to be changed", async () => {
  await using demo = await register();
  const key = await keyOf(demo);
  await demo.advance(140);
  await demo.advance(20, 1_000, { appendOnly: true });
  const now = BEGIN + DAY + HOUR;
  await roundAt(demo, key, now);
  expect(await bodiesOf(demo, "root")).toEqual([]);
  await demo.advance(1);
  const { sql } = demo.database;
  await sql`
    insert into log_check (next_checkpoint, fault, fault_checkpoint, found_at)
    values (0, 'changed', 7, now())`;
  await roundAt(demo, key, now);
  expect(await bodiesOf(demo, "root")).toEqual([]);
  await sql`update log_check set fault = null`;
  await roundAt(demo, key, now);
  expect(await bodiesOf(demo, "root")).not.toEqual([]);
});

test("a token whose rows do not add up to its supply, or whose chain was rebuilt, gets no signatures and shows in /health; the others go on", async () => {
  await using demo = await register();
  const { database } = demo;
  const key = await keyOf(demo);
  await demo.advance(160);
  const [first = "", second = "", ...others] = [...demo.model.coins.keys()].toSorted();
  await alterRows(
    database,
    `update token_supplies set supply = supply + 1 where coin_type = '${first}'`,
  );
  const now = BEGIN + DAY + HOUR;
  expect(await roundAt(demo, key, now)).toEqual([`SupplyMismatchError ${first}`]);
  const coins = async (kind: string) =>
    new Set((await bodiesOf(demo, kind)).map(({ coinType }) => coinType));
  expect(await coins("root")).toEqual(new Set([second, ...others]));
  expect(await coins("coin")).toEqual(new Set([second, ...others]));
  const health = await integrityDetails(database)();
  expect(health).toMatchObject({ state: "stalled" });
  expect(health.members.integrity.reason).toMatch(
    /^no daily root was signed: the rows of 0x\S+ at checkpoint 143 add up to/,
  );

  await alterRows(
    database,
    `update token_supplies set supply = supply - 1 where coin_type = '${first}'`,
  );
  await database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`update log_coin_chain set hash = sha256(hash) where coin_type = ${second}`;
  });
  await demo.advance(144);
  expect(await roundAt(demo, key, now + DAY)).toEqual([`LogChangedError ${second}`]);
  for (const kind of ["coin", "root"]) {
    const last = (await bodiesOf(demo, kind)).filter(({ checkpoint }) => checkpoint === "287");
    expect([...new Set(last.map(({ coinType }) => coinType))]).toEqual([first, ...others]);
  }
  const roots = await publishedRootsOf(database, { coinType: second, limit: 10 });
  expect(roots.map(({ checkpoint }) => checkpoint)).toEqual(["143"]);
});
