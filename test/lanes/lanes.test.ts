import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deliveryLanes } from "../../src/callbacks/lanes.ts";
import { announceArrivals } from "../../src/lanes/arrivals.ts";
import { moveArrivals, nextDueMs, putBack, takeDue } from "../../src/lanes/due.ts";
import { keepLane } from "../../src/lanes/keep-lane.ts";
import { type LaneClaim, LaneLostError } from "../../src/lanes/lanes.ts";
import { paceOf } from "../../src/lanes/workers.ts";
import { investorLanes } from "../../src/ta/requests/lanes.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { until } from "./until.ts";

/** Longer than any test. */
const LONG_MS = 600_000;

for (const lanes of [deliveryLanes, investorLanes]) {
  const { table, key } = lanes;
  describe(`the lanes of ${table}`, () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await freshDatabase({ max: 8 });
    });
    afterAll(() => database.close());

    /** A lane of its own for a test, due now. */
    const newLane = async (): Promise<bigint> => {
      const { sql } = database;
      const [row] = await sql<{ id: bigint }[]>`
        insert into ${sql(table)} (${sql(key[0])}, ${sql(key[1])})
        values ('of the test', ${randomUUID()}) returning id`;
      if (row === undefined) throw new Error("no lane");
      return row.id;
    };

    const claimed = async (id: bigint, leaseMs = LONG_MS): Promise<LaneClaim> => {
      const claim = await lanes.claim(database.sql, id, leaseMs);
      if (claim === undefined) throw new Error(`lane ${id} was not to be had`);
      return claim;
    };

    /** As if the lease of the lane's worker had run out. */
    const endLease = ({ id }: Pick<LaneClaim, "id">) =>
      database.sql`update ${database.sql(table)} set leased_until = now() where id = ${id}`;

    /** Something arrives for the lane; returns what `arrivals` is then. */
    const arrive = async (id: bigint): Promise<bigint> => {
      const { sql } = database;
      const [row] = await sql<{ arrivals: bigint }[]>`
        update ${sql(table)} set ${lanes.arriving(sql)} where id = ${id} returning arrivals`;
      return row?.arrivals ?? -1n;
    };

    const stateOf = async (id: bigint) => {
      const { sql } = database;
      const [row] = await sql<{ leased: number | null; wakes: number | null; arrivals: bigint }[]>`
        select extract(epoch from leased_until - now())::float8 as leased,
               extract(epoch from wake_at - now())::float8 as wakes, arrivals
        from ${sql(table)} where id = ${id}`;
      return row;
    };

    test("a lane belongs to one worker at a time, and to the next one once the lease expires", async () => {
      const { sql } = database;
      const id = await newLane();
      const former = await claimed(id);
      expect(await lanes.claim(sql, id, LONG_MS)).toBeUndefined();
      await endLease(former);
      const present = await claimed(id);
      expect(present.token).not.toBe(former.token);
      expect(await lanes.claim(sql, -1n, LONG_MS)).toBeUndefined();
    });

    test("a lease lasts 20 seconds by default", async () => {
      const { id } = await claimed(await newLane(), paceOf({}).leaseMs);
      const state = await stateOf(id);
      expect(state?.leased).toBeGreaterThan(10);
      expect(state?.leased).toBeLessThanOrEqual(20);
      // Then a worker is woken for it, whatever has become of this one.
      expect(state?.wakes).toBe(state?.leased);
    });

    test("a worker whose lane was taken over can no longer renew, leave or write", async () => {
      const { sql } = database;
      const id = await newLane();
      const former = await claimed(id);
      await endLease(former);
      const present = await claimed(id);
      const before = await stateOf(id);
      await expect(lanes.renew(sql, former)).rejects.toThrow(LaneLostError);
      await lanes.leave(sql, former, 0);
      expect(await lanes.leaveEmpty(sql, former, before?.arrivals ?? -1n)).toBe(false);
      let written = false;
      const late = lanes.underClaim(database, former, async () => {
        written = true;
      });
      await expect(late).rejects.toThrow(LaneLostError);
      expect(written).toBe(false);
      expect(await sql`${lanes.held(sql, former)}`).toEqual([]);
      expect(await lanes.underClaim(database, present, async () => "written")).toBe("written");
      expect((await stateOf(id))?.leased).toBeGreaterThan(60);
    });

    test("a released lane becomes due after its delay and not before, given as a number or by its columns", async () => {
      const { sql } = database;
      const id = await newLane();
      await lanes.leave(sql, await claimed(id), LONG_MS);
      expect(await lanes.claim(sql, id, LONG_MS)).toBeUndefined();
      expect(await stateOf(id)).toMatchObject({ leased: null });
      await sql`update ${sql(table)} set ${lanes.dueNow(sql)} where id = ${id}`;
      const later = sql`arrivals * interval '1 hour'`;
      await lanes.leave(sql, await claimed(id), later);
      expect((await stateOf(id))?.wakes).toBeGreaterThan(3_500);
      await sql`update ${sql(table)} set ${lanes.dueNow(sql)} where id = ${id}`;
      await lanes.leave(sql, await claimed(id), 0);
      await claimed(id);
    });

    test("making a lane due now neither takes it from its worker nor wakes another", async () => {
      const { sql } = database;
      const claim = await claimed(await newLane());
      await sql`update ${sql(table)} set ${lanes.dueNow(sql)} where id = ${claim.id}`;
      expect(await lanes.claim(sql, claim.id, LONG_MS)).toBeUndefined();
      expect((await stateOf(claim.id))?.wakes).toBeGreaterThan(60);
      await lanes.renew(sql, claim);
    });

    test("a lane is released as empty only when nothing has arrived since it was read", async () => {
      const { sql } = database;
      const id = await newLane();
      const claim = await claimed(id);
      const { arrivals = -1n } = (await stateOf(id)) ?? {};
      const since = await arrive(id);
      expect(since).toBe(arrivals + 1n);
      expect(await lanes.leaveEmpty(sql, claim, arrivals)).toBe(false);
      // It is still this worker's.
      await lanes.renew(sql, claim);
      expect(await lanes.leaveEmpty(sql, claim, since)).toBe(true);
      expect(await lanes.claim(sql, id, LONG_MS)).toBeUndefined();
      if (lanes.whenEmpty === "remove") return expect(await stateOf(id)).toBeUndefined();
      expect(await stateOf(id)).toEqual({ leased: null, wakes: null, arrivals: since });
      await arrive(id);
      await claimed(id);
    });

    test("a lane can be fenced off from its former worker while none holds it", async () => {
      const { sql } = database;
      const claim = await claimed(await newLane());
      expect(await lanes.fence(sql, claim.id)).toBe(false);
      await lanes.renew(sql, claim);
      await endLease(claim);
      expect(await lanes.fence(sql, sql`select ${claim.id}::int8`)).toBe(true);
      await expect(lanes.renew(sql, claim)).rejects.toThrow(LaneLostError);
    });

    test("a held lane is renewed in the background", async () => {
      const { sql } = database;
      const claim = await claimed(await newLane(), 2_000);
      using kept = keepLane(sql, lanes, claim, performance.now());
      await sql`update ${sql(table)} set leased_until = now() + interval '1 day' where id = ${claim.id}`;
      await until(
        "the renewal",
        () => stateOf(claim.id),
        (state) => (state?.leased ?? LONG_MS) <= 2,
      );
      expect(kept.lost.aborted).toBe(false);
    });

    test("a renewal after the release does not take the lane back", async () => {
      const { sql } = database;
      const claim = await claimed(await newLane(), 2_000);
      await lanes.leave(sql, claim, LONG_MS);
      using kept = keepLane(sql, lanes, claim, performance.now());
      await until("the loss to be noticed", () => kept.lost.aborted, Boolean);
      expect(await stateOf(claim.id)).toMatchObject({ leased: null });
    });

    test("a worker learns that another one has its lane", async () => {
      const { sql } = database;
      const claim = await claimed(await newLane(), 2_000);
      using kept = keepLane(sql, lanes, claim, performance.now());
      await endLease(claim);
      await claimed(claim.id);
      await until("the loss to be noticed", () => kept.lost.aborted, Boolean);
      expect(kept.lost.reason).toBeInstanceOf(LaneLostError);
    });

    test("a lease that cannot be renewed is lost when it expires, before another worker has the lane", async () => {
      const claim = await claimed(await newLane(), 1_000);
      // A row lock of another transaction stands for a database that does not answer.
      await database.transaction(async ({ sql }) => {
        await sql`select 1 from ${sql(table)} where id = ${claim.id} for update`;
        using kept = keepLane(database.sql, lanes, claim, performance.now());
        await until("the lane to be lost", () => kept.lost.aborted, Boolean);
        expect(kept.lost.reason).toBeInstanceOf(LaneLostError);
      });
    });

    test("a due lane is claimed once for waking, and again if its wake-up could not be sent", async () => {
      await using own = await freshDatabase();
      const { sql } = own;
      // Nothing due is not the same as due now.
      expect(await nextDueMs(sql, lanes)).toBeUndefined();
      const [lane] = await sql<{ id: bigint }[]>`
        insert into ${sql(table)} (${sql(key[0])}, ${sql(key[1])}) values ('a', 'b') returning id`;
      expect(await nextDueMs(sql, lanes)).toBe(0);
      const due = await takeDue(sql, lanes, 10, LONG_MS);
      expect(due.map(({ id }) => id)).toEqual([lane?.id]);
      expect(await takeDue(sql, lanes, 10, LONG_MS)).toEqual([]);
      expect(await nextDueMs(sql, lanes)).toBeGreaterThan(LONG_MS / 2);
      await putBack(sql, lanes, due);
      const [again] = await takeDue(sql, lanes, 10, LONG_MS);
      // Another wake-up, so that the queue does not take it for the one before.
      expect(again).toEqual({ ...due[0], wake: (due[0]?.wake ?? 0) + 1 });
      // A wake-up that is late finds the lane due all the same.
      const claim = await lanes.claim(sql, lane?.id ?? -1n, LONG_MS);
      await putBack(sql, lanes, due);
      expect(await takeDue(sql, lanes, 10, LONG_MS)).toEqual([]);
      expect(claim?.token).not.toBe(again?.token);
    });
  });
}

test("arrivals announced in a transaction make lanes due once it commits", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const announce = (names: readonly (readonly [string, string])[]) =>
    database.transaction((tx) => announceArrivals(tx, deliveryLanes, names));
  await announce([
    ["project:a", "one"],
    ["project:a", "one"],
    ["project:a", "two"],
  ]);
  const first = await moveArrivals(sql, deliveryLanes, 10, 0);
  expect(first.moved).toBe(2);
  expect(first.fresh).toHaveLength(2);
  await announce([["project:a", "two"]]);
  expect(await moveArrivals(sql, deliveryLanes, 10, 0)).toEqual({ moved: 1, fresh: [] });
  const rows = await sql`select endpoint, lane, arrivals from callback_lanes order by lane`;
  expect(rows).toEqual([
    { endpoint: "project:a", lane: "one", arrivals: 1n },
    { endpoint: "project:a", lane: "two", arrivals: 2n },
  ]);
});
