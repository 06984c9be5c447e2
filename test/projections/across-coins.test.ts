// @module-tag thorough
/** Logs across coin types: complete, in one order, and read by an index. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type BalanceChange,
  balanceChanges,
  type ChangePlace,
} from "../../src/projections/balance-changes.ts";
import { balanceChangesAcross, changesEnd } from "../../src/projections/changes-across.ts";
import {
  type HolderEvent,
  holderEvents,
  holderEventsAcross,
} from "../../src/projections/holder-events.ts";
import { type RoleEvent, roleEvents, roleEventsAcross } from "../../src/projections/roles.ts";
import {
  type TokenActivity,
  tokenActivity,
  tokenActivityAcross,
} from "../../src/projections/token-activity.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { project } from "./project.ts";
import { plannedNodes } from "./query-plan.ts";
import { COINS, cuts, history, OWNERS } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());

const five = fc.tuple(cuts, cuts, cuts, cuts, cuts);

/** All pages, one after the other. */
const paged = async <Row>(page: (after: Row | undefined) => Promise<readonly Row[]>) => {
  const rows: Row[] = [];
  for (;;) {
    const some = await page(rows.at(-1));
    if (some.length === 0) return rows;
    rows.push(...some);
  }
};

const byPosition = (one: { position: bigint }, other: { position: bigint }) =>
  one.position < other.position ? -1 : 1;

/** By position, owner, part and coin type. */
const byPlace = (one: BalanceChange, other: BalanceChange) => {
  const keyOf = ({ owner, part, coinType }: BalanceChange) =>
    `${owner} ${part === "TOKENS" ? 0 : 1} ${coinType}`;
  if (one.position !== other.position) return byPosition(one, other);
  return keyOf(one) < keyOf(other) ? -1 : 1;
};

test("a page across coin types equals the chain-ordered merge of each type's rows, wherever it ends", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(
      history,
      five,
      fc.integer({ min: 1, max: 4 }),
      async (checkpoints, batchings, limit) => {
        await project(database, checkpoints, batchings);
        const most = { limit: 1_000, packages: [] };
        const ofEach = async <Row>(read: (coinType: string) => Promise<readonly Row[]>) =>
          (await Promise.all(COINS.map(read))).flat();
        const activity = await ofEach((coinType) =>
          tokenActivity(db, { coinType, offset: 0, order: "asc", ...most }),
        );
        const holders = await ofEach((coinType) => holderEvents(db, { coinType, ...most }));
        const roles = await ofEach((coinType) => roleEvents(db, { coinType, ...most }));
        const changes = await ofEach((coinType) =>
          balanceChanges(db, { coinType, order: "asc", ...most }),
        );
        const [owner = ""] = OWNERS;
        for (const coinTypes of [undefined, COINS]) {
          const range = { coinTypes, limit, packages: [] };
          const at = <Row extends { position: bigint }>(last: Row | undefined) => ({
            ...range,
            after: last?.position,
          });
          expect(
            await paged((last: TokenActivity | undefined) => tokenActivityAcross(db, at(last))),
          ).toEqual(activity.toSorted(byPosition));
          expect(
            await paged((last: HolderEvent | undefined) => holderEventsAcross(db, at(last))),
          ).toEqual(holders.toSorted(byPosition));
          expect(
            await paged((last: RoleEvent | undefined) => roleEventsAcross(db, at(last))),
          ).toEqual(roles.toSorted(byPosition));
          expect(
            await paged((after: BalanceChange | undefined) =>
              balanceChangesAcross(db, { ...range, after }),
            ),
          ).toEqual(changes.toSorted(byPlace));
        }
        const ofOwner = { coinTypes: COINS, owner, limit };
        expect(
          await paged((after: BalanceChange | undefined) =>
            balanceChangesAcross(db, { ...ofOwner, after }),
          ),
        ).toEqual(changes.filter((row) => row.owner === owner).toSorted(byPlace));
        // The end of all lies behind every movement.
        const end = await changesEnd(db);
        expect(await balanceChangesAcross(db, { after: end, limit: 10 })).toEqual([]);
        expect(changes.every(({ position }) => position < (end?.position ?? 0n))).toBe(true);
      },
    ),
    25,
  );
});

test("a page of all coin types, or of a few, reads only its rows, through an index", async () => {
  const { sql } = database;
  const rows = 20_000;
  for (const table of ["token_changes", "grant_changes"]) {
    await sql.unsafe(`
      insert into ${table} (coin_type, owner, position, cause, change, balance_after, tx_digest, timestamp_ms)
      select 'coin' || n % 200, '0x' || n % 7, n * 10000, 'MINT', 1, 1, 'digest', 0
      from generate_series(1, ${rows}) as n`);
  }
  await sql.unsafe(`
    insert into token_activity (coin_type, position, activity_type, tx_digest, timestamp_ms, amount, signer, token_object_id)
    select 'coin' || n % 200, n * 10000, 'mint', 'digest', 0, 1, '0x1', '0x2'
    from generate_series(1, ${rows}) as n`);
  await sql.unsafe(`
    insert into holder_events (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms)
    select 'coin' || n % 200, n * 10000, 'holder_added', 'digest', 0, 0 from generate_series(1, ${rows}) as n`);
  await sql.unsafe(`
    insert into role_events (coin_type, position, tx_digest, owner, role, granted, signer, timestamp_ms, reached_ms)
    select 'coin' || n % 200, n * 10000, 'digest', '0x1', 'role', true, '0x1', 0, 0
    from generate_series(1, ${rows}) as n`);
  await sql.unsafe(
    "analyze token_changes, grant_changes, token_activity, holder_events, role_events",
  );
  const place: ChangePlace = { position: 100_000_000n, owner: "0x5", part: "TOKENS" };
  const after = place.position;
  const limit = 20;
  const few = ["coin3", "coin150"];
  const packages: string[] = [];
  for (const coinTypes of [undefined, few]) {
    const reads = [
      (on: Parameters<typeof tokenActivityAcross>[0]) =>
        tokenActivityAcross(on, { coinTypes, after, limit }),
      (on: Parameters<typeof tokenActivityAcross>[0]) =>
        holderEventsAcross(on, { coinTypes, after, limit }),
      (on: Parameters<typeof tokenActivityAcross>[0]) =>
        roleEventsAcross(on, { coinTypes, after, limit, packages }),
      (on: Parameters<typeof tokenActivityAcross>[0]) =>
        balanceChangesAcross(on, { coinTypes, after: place, limit }),
    ];
    for (const each of reads) {
      const nodes = await plannedNodes(database, each);
      const tables = nodes.filter(
        ({ relation }) => relation !== undefined && !/watermark/.test(relation),
      );
      expect(tables.length).toBeGreaterThan(0);
      for (const node of tables) {
        expect(node.type).toMatch(/^Index/);
        // Some more, where a page ends inside a transaction.
        expect(node.rows + node.filtered).toBeLessThanOrEqual(2 * limit + 5);
      }
    }
  }
});
