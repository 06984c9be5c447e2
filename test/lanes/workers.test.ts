import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import type { LaneClaim } from "../../src/lanes/lanes.ts";
import { openQueues, QueueUnavailableError } from "../../src/lanes/queues.ts";
import { type LaneLeft, type LaneTurn, paceOf, startLanes } from "../../src/lanes/workers.ts";
import { investorLanes } from "../../src/ta/requests/lanes.ts";
import { breakableWay } from "../database/outage.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { guest } from "./guest.ts";
import { until } from "./until.ts";

const lanes = investorLanes;

const addLane = async ({ sql }: TestDatabase): Promise<bigint> => {
  const [row] = await sql<{ id: bigint }[]>`
    insert into ta_lanes (asset, investor_id) values ('a', ${randomUUID()}) returning id`;
  return row?.id ?? -1n;
};

/** Workers as one process has them, with what they were told of. */
const startWorkers = async (
  database: TestDatabase,
  work: (claim: LaneClaim, turn: LaneTurn) => Promise<LaneLeft>,
  pace: Parameters<typeof paceOf>[0] = {},
) => {
  const troubles: unknown[] = [];
  const queues = openQueues({
    databaseUrl: database.url,
    onError: (error) => troubles.push(error),
  });
  const workers = await startLanes({
    lanes,
    database,
    queues,
    pace: paceOf({ pollMs: 100, concurrency: 4, ...pace }),
    take: async (id, leaseMs) => {
      const claim = await lanes.claim(database.sql, id, leaseMs);
      return claim && { claim };
    },
    work: ({ claim }, turn) => work(claim, turn),
    onTrouble: {
      waking: (error) => troubles.push(error),
      working: (error, lane) => troubles.push({ error, lane }),
    },
  });
  return {
    troubles,
    stop: () => workers.stop(),
    [Symbol.asyncDispose]: async () => {
      await workers.stop();
      await queues.close();
    },
  };
};

/** Leaves the lane as empty, as it was when it was made. */
const finish = async ({ sql }: TestDatabase, claim: LaneClaim): Promise<LaneLeft> =>
  (await lanes.leaveEmpty(sql, claim, 1n)) ? "idle" : "more";

test("each lane is worked on by one process at a time, turn after turn until it is empty", async () => {
  await using database = await freshDatabase({ max: 8 });
  const ids = await Promise.all(Array.from({ length: 10 }, () => addLane(database)));
  const turns = new Map<bigint, number>();
  const busy = new Set<bigint>();
  let crossed = 0;
  const work = async (claim: LaneClaim): Promise<LaneLeft> => {
    if (busy.has(claim.id)) crossed += 1;
    busy.add(claim.id);
    const turn = (turns.get(claim.id) ?? 0) + 1;
    turns.set(claim.id, turn);
    await database.sql`select 1`;
    busy.delete(claim.id);
    if (turn >= 5) return await finish(database, claim);
    await lanes.leave(database.sql, claim, 0);
    return "more";
  };
  await using one = await startWorkers(database, work);
  await using other = await startWorkers(database, work);
  const resting = () => database.sql`select 1 from ta_lanes where wake_at is null`;
  await until("all lanes to rest", resting, ({ length }) => length === ids.length, 20_000);
  expect([...turns.values()]).toEqual(ids.map(() => 5));
  expect(crossed).toBe(0);
  expect([...one.troubles, ...other.troubles]).toEqual([]);
});

test("a turn that outlasts its lease keeps the lane through renewal", async () => {
  await using database = await freshDatabase({ max: 8 });
  const id = await addLane(database);
  let lost: boolean | undefined;
  const work = async (claim: LaneClaim, turn: LaneTurn) => {
    const { sql } = database;
    await sql`update ta_lanes set leased_until = now() + interval '1 day' where id = ${claim.id}`;
    const renewed = () => sql`
      select 1 from ta_lanes where id = ${claim.id} and leased_until < now() + interval '1 hour'`;
    await until("a renewal", renewed, ({ length }) => length === 1);
    lost = turn.lost.aborted;
    return await finish(database, claim);
  };
  await using workers = await startWorkers(database, work, { leaseMs: 2_000 });
  const resting = () => database.sql`select 1 from ta_lanes where id = ${id} and wake_at is null`;
  await until("the end of the turn", resting, ({ length }) => length === 1);
  expect(lost).toBe(false);
  expect(workers.troubles).toEqual([]);
});

test("a worker that lost its lane is told during its turn, and leaves the lane alone", async () => {
  await using database = await freshDatabase({ max: 8 });
  const { sql } = database;
  const id = await addLane(database);
  let stoppedBy: unknown;
  let turns = 0;
  const work = async (_claim: LaneClaim, { lost }: LaneTurn): Promise<LaneLeft> => {
    turns += 1;
    await new Promise((resolve) => lost.addEventListener("abort", resolve, { once: true }));
    stoppedBy = lost.reason;
    throw lost.reason;
  };
  await using workers = await startWorkers(database, work, { leaseMs: 2_000 });
  await until("the turn to begin", () => turns, Boolean);
  // At once: its worker would renew the lease in between.
  const present = await database.transaction(async (tx) => {
    await tx.sql`update ta_lanes set leased_until = now() - interval '1 s' where id = ${id}`;
    return lanes.claim(tx.sql, id, 600_000);
  });
  if (present === undefined) throw new Error("the lane was not to be had");
  await until("the worker to hear of it", () => stoppedBy, Boolean);
  await workers.stop();
  await lanes.renew(sql, present);
  expect(workers.troubles).toEqual([]);
  expect(turns).toBe(1);
});

test("a failed turn releases its lane for a while and is logged; the lane is worked on again", async () => {
  await using database = await freshDatabase({ max: 8 });
  const id = await addLane(database);
  let turns = 0;
  const work = async (claim: LaneClaim): Promise<LaneLeft> => {
    turns += 1;
    if (turns === 1) throw new Error("a node is down");
    return await finish(database, claim);
  };
  await using workers = await startWorkers(database, work, { troubleMs: 200 });
  await until(
    "a second turn",
    () => turns,
    (count) => count === 2,
  );
  expect(workers.troubles).toEqual([{ error: new Error("a node is down"), lane: id }]);
});

test("a turn that fails while the database is gone releases its lane when it is back, long before its lease ends", async () => {
  await using direct = await freshDatabase({ max: 8 });
  await using way = await breakableWay(direct.url);
  await using own = connect({ url: way.url, max: 4, applicationName: "test" });
  const id = await addLane(direct);
  let turns = 0;
  const work = async (claim: LaneClaim): Promise<LaneLeft> => {
    turns += 1;
    if (turns > 1) return await finish(direct, claim);
    way.break();
    throw new Error("the database is gone");
  };
  await using workers = await startWorkers({ ...direct, ...own }, work, {
    troubleMs: 200,
    leaseMs: 60_000,
    wakeAgainMs: 500,
  });
  await until("trouble", () => workers.troubles.length, Boolean);
  expect(turns).toBe(1);
  way.mend();
  await until(
    "a second turn",
    () => turns,
    (count) => count === 2,
    20_000,
  );
  expect(workers.troubles).toContainEqual({ error: new Error("the database is gone"), lane: id });
});

test("stopping signals running turns, waits for them, and leaves their lanes due", async () => {
  await using database = await freshDatabase({ max: 8 });
  const id = await addLane(database);
  const said: string[] = [];
  const work = async (_claim: LaneClaim, { stop }: LaneTurn): Promise<LaneLeft> => {
    said.push("begun");
    await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
    said.push("stopped");
    throw stop.reason;
  };
  await using workers = await startWorkers(database, work);
  await until("the turn to begin", () => said.length, Boolean);
  await workers.stop();
  expect(said).toEqual(["begun", "stopped"]);
  expect(workers.troubles).toEqual([]);
  expect(await lanes.claim(database.sql, id, 1_000)).toBeDefined();
});

test("when the queue admits no worker, starting fails with the reason and leaves nothing running", async () => {
  await using database = await freshDatabase();
  await using login = await guest(database);
  await using queues = openQueues({ databaseUrl: login.url, onError: () => undefined });
  await login.limit(0);
  const listeners: AbortSignal[] = [];
  const starting = startLanes({
    lanes,
    database: {
      ...database,
      listen: (channel, heard, signal) => {
        listeners.push(signal);
        database.listen(channel, heard, signal);
      },
    },
    queues,
    pace: paceOf({}),
    take: async () => undefined,
    work: async () => "idle",
    onTrouble: { waking: () => undefined, working: () => undefined },
  });
  await expect(starting).rejects.toThrow(QueueUnavailableError);
  expect(listeners.map(({ aborted }) => aborted)).toEqual([true]);
});
