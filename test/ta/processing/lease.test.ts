// @module-tag thorough
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LaneLostError } from "../../../src/lanes/lanes.ts";
import type { Relay } from "../../../src/ta/ledgers/relay.ts";
import { investorLanes } from "../../../src/ta/requests/lanes.ts";
import { until } from "../../lanes/until.ts";
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
const takeOver = (lane: bigint) =>
  // At once: its worker would renew the lease in between.
  circle.database.transaction(async ({ sql }) => {
    await sql`update ta_lanes set leased_until = now() - interval '1 s' where id = ${lane}`;
    const claim = await investorLanes.claim(sql, lane, 60_000);
    if (claim === undefined) throw new Error(`lane ${lane} could not be taken over`);
    return claim;
  });

test("a call that outlasts four leases and ten turns keeps its lane: no other worker takes the request", async () => {
  const { database } = circle;
  let submitted = 0;
  const slow = (relay: Relay): Relay => ({
    ...relay,
    submit: async (signed, signal, again) => {
      submitted += 1;
      await delay(6_400, undefined, { signal });
      await relay.submit(signed, signal, again);
    },
  });
  const settings = { around: slow, leaseMs: 1_600, turnMs: 640 };
  await using _one = await startProcessor(circle, settings);
  await using _other = await startProcessor(circle, settings);
  const done = await ended(database, await acceptRequest(database, { investorId: "l-1" }));
  expect(done.status).toBe("SUCCESS");
  expect(submitted).toBe(1);
});

test("a worker that lost its lane stops in the middle of a call, and the next one ends the request", async () => {
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
  await investorLanes.leave(database.sql, claim, 0);
  expect((await ended(database, id)).status).toBe("SUCCESS");
});
