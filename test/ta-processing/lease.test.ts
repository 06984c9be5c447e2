import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Relay } from "../../src/ta/ledgers/relay.ts";
import { keepLane } from "../../src/ta/processing/keep-lane.ts";
import { claimLane, LaneLostError, leaveLane } from "../../src/ta/processing/lanes.ts";
import { LEASE_MS } from "../../src/ta/processing/processing.ts";
import { until } from "../queue/until.ts";
import { acceptRequest, type Circle, ended, startCircle } from "./circle.ts";
import { startProcessor } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle();
});

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

const laneOf = async (requestId: string): Promise<bigint> => {
  const [row] = await circle.database.sql<{ lane_id: bigint }[]>`
    select lane_id from ta_requests where id = ${requestId}`;
  if (row === undefined) throw new Error(`no request ${requestId}`);
  return row.lane_id;
};

/** Takes a lane away from its worker, as if its lease had run out. */
const takeOver = async (lane: bigint) => {
  const { sql } = circle.database;
  await sql`update ta_lanes set leased_until = now() where id = ${lane}`;
  const claim = await claimLane(sql, lane, 60_000);
  if (claim === undefined) throw new Error(`lane ${lane} could not be taken over`);
  return claim;
};

test("a call that takes four leases and ten turns keeps its lane: nobody else works on the request", async () => {
  const { database } = circle;
  let submitted = 0;
  const slow = (relay: Relay): Relay => ({
    ...relay,
    submit: async (signed, signal, again) => {
      submitted += 1;
      await delay(2_400, undefined, { signal });
      await relay.submit(signed, signal, again);
    },
  });
  const settings = { around: slow, leaseMs: 600, turnMs: 240 };
  await using _one = await startProcessor(circle, settings);
  await using _other = await startProcessor(circle, settings);
  const done = await ended(database, await acceptRequest(database, { investorId: "l-1" }));
  expect(done.status).toBe("SUCCESS");
  expect(submitted).toBe(1);
});

test("a worker that has lost its lane stops in the middle of a call, and the next one ends the request", async () => {
  const { database } = circle;
  let begun = 0;
  let stoppedBy: unknown;
  await using _processor = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      submit: async (signed, signal, again) => {
        begun += 1;
        if (begun > 1) return await relay.submit(signed, signal, again);
        await delay(60_000, undefined, { signal }).catch(() => undefined);
        stoppedBy = signal.reason;
        throw signal.reason;
      },
    }),
    leaseMs: 1_000,
  });
  const id = await acceptRequest(database, { investorId: "l-2" });
  await until(
    "the submission that hangs",
    () => begun,
    (count) => count === 1,
  );
  const claim = await takeOver(await laneOf(id));
  await until(
    "the worker to notice",
    () => stoppedBy,
    (reason) => reason !== undefined,
    3_000,
  );
  expect(stoppedBy).toBeInstanceOf(LaneLostError);
  await leaveLane(database.sql, claim, 0);
  expect((await ended(database, id)).status).toBe("SUCCESS");
});

test("a lease that cannot be renewed is lost when it runs out, before anybody else has the lane", async () => {
  const { database } = circle;
  const id = await acceptRequest(database, { investorId: "l-3" });
  const claimedAt = performance.now();
  const claim = await claimLane(database.sql, await laneOf(id), 400);
  if (claim === undefined) throw new Error("the lane was not claimed");
  // A row lock of somebody else stands for a database that does not answer.
  await database.transaction(async ({ sql }) => {
    await sql`select 1 from ta_lanes where id = ${claim.id} for update`;
    using kept = keepLane(database.sql, claim, claimedAt);
    await until(
      "the lane to be lost",
      () => kept.lost.aborted,
      (lost) => lost,
      3_000,
    );
    expect(kept.lost.reason).toBeInstanceOf(LaneLostError);
  });
});

test("a renewal that comes after the lane was left does not take it back", async () => {
  const { database } = circle;
  const { sql } = database;
  const lane = await laneOf(await acceptRequest(database, { investorId: "l-4" }));
  const claim = await claimLane(sql, lane, 60_000);
  if (claim === undefined) throw new Error("the lane was not claimed");
  await leaveLane(sql, claim, 60_000);
  using kept = keepLane(sql, { ...claim, leaseMs: 4_000 }, performance.now());
  await until(
    "the renewal to be refused",
    () => kept.lost.aborted,
    (lost) => lost,
    3_500,
  );
  expect(await sql`select leased_until from ta_lanes where id = ${lane}`).toEqual([
    { leased_until: null },
  ]);
});

test("lanes of a process that is killed rest no longer than 20 seconds", async () => {
  const { database } = circle;
  let begun = false;
  await using _processor = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      submit: async (_signed, signal) => {
        begun = true;
        await delay(60_000, undefined, { signal });
      },
    }),
    leaseMs: LEASE_MS,
  });
  const id = await acceptRequest(database, { investorId: "l-5" });
  await until(
    "a submission that hangs",
    () => begun,
    (seen) => seen,
  );
  const [lane] = await database.sql<{ seconds: number }[]>`
    select extract(epoch from leased_until - now())::float8 as seconds
    from ta_lanes where id = ${await laneOf(id)}`;
  expect(lane?.seconds).toBeGreaterThan(0);
  expect(lane?.seconds).toBeLessThanOrEqual(20);
});
