/** What the filters of the event lists read: rows that match and few more, however rare these are. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Reads } from "../../src/database/readers.ts";
import { balanceChanges } from "../../src/projections/balance-changes.ts";
import { holderPeriods, holdersAt } from "../../src/projections/event-holders.ts";
import { allOf } from "../../src/projections/event-range.ts";
import { holderEvents } from "../../src/projections/holder-events.ts";
import { roleEvents } from "../../src/projections/roles.ts";
import { tokenActivity } from "../../src/projections/token-activity.ts";
import { ACME, address, PACKAGE } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { plannedNodes } from "./query-plan.ts";

/** Of each table: every row is the busy wallet's, one in 20,000 the rare one's, with the rare type. */
const ROWS = 60_000;
const LIMIT = 20;
const [BUSY, RARE] = [address("b5"), address("4a")];
const HOLDER = 7n;

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  const { sql } = database;
  const rare = "n % 20000 = 10000";
  const [wallet, position] = [
    `case when ${rare} then '${RARE}' else '${BUSY}' end`,
    "n::int8 * 1000000000",
  ];
  const numbers = `from generate_series(1, ${ROWS}) n`;
  await sql.unsafe(`
    insert into token_activity (coin_type, position, activity_type, tx_digest, timestamp_ms, amount,
                                from_address, to_address, signer, token_object_id)
    select '${ACME}', ${position}, case when ${rare} then 'force_transfer' else 'transfer' end, 'x', n, 1,
           '${BUSY}', ${wallet}, 'x', 'x' ${numbers}`);
  for (const table of ["token_changes", "grant_changes"]) {
    await sql.unsafe(`
      insert into ${table} (coin_type, owner, position, cause, change, balance_after, tx_digest, timestamp_ms)
      select '${ACME}', ${wallet}, ${position}, case when n % 20000 in (9000, 10000) then 'BURN' else 'TRANSFER' end,
             1, 1, 'x', n ${numbers}`);
  }
  await sql.unsafe(`
    insert into holder_events (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms, address, holder_id)
    select '${ACME}', ${position}, case when ${rare} then 'holder_address_added' else 'address_frozen' end,
           'x', n, n, ${wallet}, case when ${rare} then ${HOLDER} end ${numbers}`);
  await sql.unsafe(`
    insert into role_events (coin_type, position, tx_digest, timestamp_ms, reached_ms, owner, role, granted, signer)
    select '${ACME}', ${position}, 'x', n, n, ${wallet}, 'x', true, 'x' ${numbers}`);
  for (const pipeline of ["shared_token_objects", "timelock_objects", "holder_lifecycle"]) {
    await sql.unsafe(
      `insert into ${pipeline}_watermark (pipeline, next_checkpoint, layout) values ('${pipeline}', ${ROWS + 1}, 3)`,
    );
  }
  await sql`analyze`;
});
afterAll(() => database.close());

/** Rows that a statement reads from a table, those that it leaves out included. */
const rowsRead = async (table: RegExp, read: (on: Reads) => Promise<unknown>): Promise<number> => {
  const nodes = await plannedNodes(database, read);
  const reading = nodes.filter(({ relation }) => table.test(relation ?? ""));
  return reading.reduce((sum, { rows, filtered }) => sum + rows + filtered, 0);
};

const MIDDLE = 30_000_000_000_000n;
const NARROW = { begins: 20_000_000_000_000n, ends: 40_000_000_000_000n };

const cases = (["asc", "desc"] as const).flatMap((order) =>
  [{}, { after: MIDDLE }, NARROW, { ...NARROW, after: MIDDLE }].map((within) => ({
    name: `${order} ${Object.keys(within).join(", ") || "from the end"}`,
    page: { coinType: ACME, limit: LIMIT, order, ...within },
  })),
);

const RARE_TYPE = ["force_transfer"] as const;
const RARE_CAUSE = ["BURN"] as const;

test.for(cases)("no row is read in vain, $name", async ({ page }) => {
  const { after, ...range } = { after: undefined, ...page };
  const place =
    after === undefined ? {} : { after: { position: after, owner: BUSY, part: "TOKENS" } as const };
  const activity = { ...page, offset: 0 };
  const changes = { ...range, ...place };
  const [busy, rare] = [allOf(BUSY), allOf(RARE)];
  const periods = [{ address: BUSY, begins: 25_000_000_000_000n, ends: 25_010_000_000_000n }];
  const few = /token_activity/;
  const both = /_changes$/;
  const reads: Readonly<Record<string, Promise<number>>> = {
    activityOfType: rowsRead(few, (on) => tokenActivity(on, { ...activity, types: RARE_TYPE })),
    activityOfRare: rowsRead(few, (on) => tokenActivity(on, { ...activity, wallets: rare })),
    activityOfBusyRareType: rowsRead(few, (on) =>
      tokenActivity(on, { ...activity, wallets: busy, types: RARE_TYPE }),
    ),
    activityOfPeriod: rowsRead(few, (on) => tokenActivity(on, { ...activity, wallets: periods })),
    changesOfCause: rowsRead(both, (on) => balanceChanges(on, { ...changes, types: RARE_CAUSE })),
    changesOfRare: rowsRead(both, (on) => balanceChanges(on, { ...changes, wallets: rare })),
    changesOfBusyRareCause: rowsRead(both, (on) =>
      balanceChanges(on, { ...changes, wallets: busy, types: RARE_CAUSE }),
    ),
    changesOfPeriod: rowsRead(both, (on) => balanceChanges(on, { ...changes, wallets: periods })),
    eventsOfType: rowsRead(/holder_events/, (on) =>
      holderEvents(on, { ...page, types: ["holder_address_added"] }),
    ),
    eventsOfRare: rowsRead(/holder_events/, (on) => holderEvents(on, { ...page, wallets: rare })),
    rolesOfRare: rowsRead(/role_events/, (on) =>
      roleEvents(on, { ...page, owner: RARE, packages: [PACKAGE] }),
    ),
  };
  for (const [name, count] of Object.entries(reads)) {
    // A page of each of two tables, or of the two sides of a movement; rows at the cursor's own place.
    expect({ name, few: (await count) <= 4 * LIMIT }).toEqual({ name, few: true });
  }
});

test("a wallet with many movements of all types costs a page per side and type", async () => {
  const read = await rowsRead(/token_activity/, (on) =>
    tokenActivity(on, {
      ...{ coinType: ACME, limit: LIMIT, offset: 0, order: "desc" },
      wallets: allOf(BUSY),
    }),
  );
  expect(read).toBeGreaterThanOrEqual(LIMIT);
  expect(read).toBeLessThanOrEqual(7 * LIMIT);
});

test("the wallets of a holder, and the holders of a page, are look-ups", async () => {
  const holder = { coinType: ACME, holderId: HOLDER };
  expect(await rowsRead(/holder_events/, (on) => holderPeriods(on, holder))).toBeLessThanOrEqual(6);
  const places = [BUSY, RARE].map((address) => ({ address, position: MIDDLE }));
  expect(await rowsRead(/holder_events/, (on) => holdersAt(on, ACME, places))).toBeLessThanOrEqual(
    2,
  );
});

test("the wallets of a holder are look-ups where every event gives a holder a wallet", async () => {
  await using growing = await freshDatabase();
  await growing.sql.unsafe(`
    insert into holder_events (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms, address, holder_id)
    select '${ACME}', n::int8 * 1000000000, 'holder_address_added', 'x', n, n, '0x' || n, n
    from generate_series(1, ${ROWS}) n`);
  await growing.sql`analyze holder_events`;
  const nodes = await plannedNodes(growing, (on) =>
    holderPeriods(on, { coinType: ACME, holderId: HOLDER }),
  );
  const reading = nodes.filter(({ relation }) => relation === "holder_events");
  expect(reading.reduce((sum, { rows, filtered }) => sum + rows + filtered, 0)).toBeLessThan(6);
});
