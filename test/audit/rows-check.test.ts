// @module-tag thorough
/** Every row held against the facts by itself, a stretch at a time. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { rowsCheck } from "../../src/audit/watch/rows-check.ts";
import type { SlowCheck } from "../../src/audit/watch/watch.ts";
import { integrityDetails } from "../../src/service/health/integrity-health.ts";
import { copyOf, freshDatabase } from "../postgres.ts";
import { alterRows } from "../projections/damage.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";

const DAY = 86_400;

let register: DemoRegister;
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(120);
});
afterAll(() => register[Symbol.asyncDispose]());

const rowsFound = async () => (await readWatchResults(register.database)).rows;

/** One whole round, however old the last one is; what it found. */
const round = async (check: SlowCheck = rowsCheck(DAY)) => {
  await alterRows(
    register.database,
    "update reconciliations set at = at - interval '1 day' where kind = 'full'",
  );
  while (!(await check.next(register.database)).ended);
  return await rowsFound();
};

/** What the last round found; makes one where none has ended. */
const checked = async () => {
  const found = await rowsFound();
  return found.checkedThrough === null ? await round() : found;
};

test("a round over an untouched register finds nothing and leaves nothing behind", async () => {
  await using empty = await freshDatabase();
  expect(await rowsCheck(DAY).next(empty)).toEqual({ ended: true });
  expect(await rowsFound()).toMatchObject({ checkedThrough: null, findings: [] });
  expect(await round()).toMatchObject({ checkedThrough: "119", findings: [] });
  const { database } = register;
  expect(
    await database.sql`select from pg_class where relnamespace = 'holderbook_folded'::regnamespace`,
  ).toEqual([]);
  const { state } = await integrityDetails(database)();
  expect(state).toBe("ok");
});

test("the next round begins after half of the configured time, not earlier", async () => {
  const { database } = register;
  await checked();
  const check = rowsCheck(DAY);
  expect(await check.next(database)).toEqual({ ended: true });
  await alterRows(database, "update reconciliations set at = at - interval '11 hours'");
  expect(await check.next(database)).toEqual({ ended: true });
  await alterRows(database, "update reconciliations set at = at - interval '2 hours'");
  expect(await check.next(database)).toEqual({ ended: false });
});

test("a changed name stalls the health report until a round finds it mended", async () => {
  const { database } = register;
  await alterRows(database, "update tokens set symbol = symbol || 'X'");
  const { findings } = await round();
  expect(findings).toEqual(
    expect.arrayContaining([expect.stringMatching(/^tokens, .*: symbol is \w+X, the log gives/)]),
  );
  const { members, state } = await integrityDetails(database)();
  expect(state).toBe("stalled");
  expect(members.integrity.reason).toMatch(/does not add up: tokens, /);
  await alterRows(database, "update tokens set symbol = left(symbol, -1)");
  expect(await rowsFound()).toMatchObject({ findings });
  // Without waiting for half a day.
  expect(await rowsCheck(DAY).next(database)).toEqual({ ended: false });
  expect(await round()).toMatchObject({ findings: [] });
});

test("another process resumes from what was folded, while the register moves on", async () => {
  const { database } = register;
  await checked();
  await alterRows(database, "update reconciliations set at = at - interval '1 day'");
  const check = rowsCheck(DAY);
  // Facts of the first pipelines are folded.
  for (let step = 0; step < 3; step += 1) await check.next(database);
  const folded = () => database.sql`select * from holderbook_folded.token_activity_watermark`;
  const before = await folded();
  expect(before).toHaveLength(1);
  await register.advance(40);
  const other = rowsCheck(DAY);
  await other.next(database);
  expect((await folded())[0]?.rebuilds).toBe(0);
  while (!(await other.next(database)).ended);
  expect(await rowsFound()).toMatchObject({ checkedThrough: "119", findings: [] });
});

test("findings of the very first round show at once, and another process resumes after them", async () => {
  await using database = await copyOf(register.database);
  await alterRows(database, "delete from reconciliations");
  await alterRows(database, "update token_activity set to_address = '0xbad'");
  const found = async () => (await readWatchResults(database)).rows;
  const check = rowsCheck(DAY);
  while ((await found()).findings.length === 0) {
    expect(await check.next(database)).toEqual({ ended: false });
  }
  expect(await found()).toMatchObject({ checkedThrough: null, checkedSecondsAgo: null });
  const { state } = await integrityDetails(database)();
  expect(state).toBe("stalled");
  const { findings } = await found();
  // Whoever looked at that page again would find nothing there.
  await alterRows(database, "drop table holderbook_folded.token_activity");
  await alterRows(
    database,
    "create table holderbook_folded.token_activity as table token_activity",
  );
  const other = rowsCheck(DAY);
  while (!(await other.next(database)).ended);
  expect((await found()).findings).toEqual(findings);
  expect((await found()).checkedThrough).not.toBeNull();
});

test("a round abandoned for longer than it may take starts over", async () => {
  const { database } = register;
  await alterRows(database, "update reconciliations set at = at - interval '1 day'");
  await alterRows(database, "update tokens set symbol = symbol || 'X'");
  const check = rowsCheck(DAY);
  while ((await rowsFound()).findings.length === 0) await check.next(database);
  await alterRows(database, "update tokens set symbol = left(symbol, -1)");
  await alterRows(database, "update holderbook_folded.round set began = began - interval '2 days'");
  while (!(await check.next(database)).ended);
  expect(await rowsFound()).toMatchObject({ findings: [] });
});

test.each(["rebuilding_to = 159", "layout = 1, digest = null"])(
  "a round ends without a verdict while %s of a pipeline says that rows are missing",
  async (waiting) => {
    const { database } = register;
    const before = await checked();
    await alterRows(database, "update reconciliations set at = at - interval '1 day'");
    await alterRows(database, "create table kept as table role_changes_watermark");
    await alterRows(database, `update role_changes_watermark set ${waiting}`);
    const check = rowsCheck(DAY);
    for (let rounds = 0; rounds < 2; rounds += 1) while (!(await check.next(database)).ended);
    const { checkedSecondsAgo } = await rowsFound();
    expect(checkedSecondsAgo).toBeGreaterThanOrEqual(DAY);
    const again =
      "delete from role_changes_watermark; insert into role_changes_watermark table kept; drop table kept";
    await alterRows(database, again);
    while (((await rowsFound()).checkedSecondsAgo ?? 0) >= DAY) await check.next(database);
    expect(await rowsFound()).toMatchObject({ findings: before.findings });
  },
);

test("a round starts over where a pipeline was set back", async () => {
  const { database } = register;
  await alterRows(database, "update reconciliations set at = at - interval '1 day'");
  const check = rowsCheck(DAY);
  for (let step = 0; step < 3; step += 1) await check.next(database);
  await alterRows(database, "update role_changes_watermark set rebuilds = rebuilds + 1");
  while (!(await check.next(database)).ended);
  expect(await rowsFound()).toMatchObject({ findings: [] });
});
