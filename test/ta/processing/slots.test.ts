// @module-tag thorough
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LaneClaim, LaneLostError } from "../../../src/lanes/lanes.ts";
import { RelayUnavailableError } from "../../../src/ta/ledgers/relay.ts";
import {
  giveUpIdleReservation,
  giveUpReservation,
  releaseReservation,
  reserve,
  resourceDelay,
} from "../../../src/ta/processing/reservations.ts";
import { investorLanes } from "../../../src/ta/requests/lanes.ts";
import { until } from "../../lanes/until.ts";
import { acceptRequest, type Circle, ended, startCircle } from "./circle.ts";
import { startProcessor } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle({ gasCoins: 1 });
});

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

const acceptOf = (names: readonly string[]) =>
  Promise.all(names.map((investorId) => acceptRequest(circle.database, { investorId })));

const waiting = () => circle.database.sql<{ investor_id: string }[]>`
  select investor_id from ta_lanes where waits_for is not null order by waiting_since`;

test("requests that wait for one coin hold no worker from others, and all end, also after a restart", async () => {
  const { database } = circle;
  const settings = {
    concurrency: 4,
    // A turn longer than the test: a request that waited in it would keep its worker.
    turnMs: 60_000,
    leaseMs: 60_000,
    // No lane looks by itself in the time of the test: it is given the coin.
    troubleMs: 60_000,
    wakeAgainMs: 60_000,
  };
  const names = Array.from({ length: 24 }, (_, n) => `s-${n}`);
  const ids: string[] = [];
  {
    await using _processor = await startProcessor(circle, {
      ...settings,
      around: (relay) => ({ ...relay, submit: async () => undefined }),
    });
    ids.push(...(await acceptOf(names)));
    await until("all but one to wait", waiting, ({ length }) => length === names.length - 1);
    const other = await acceptRequest(database, { investorId: "s-other", kind: "kyc" });
    expect((await ended(database, other, 3_000)).status).toBe("SUCCESS");
    const behind = await acceptRequest(database, { investorId: "s-1", kind: "kyc" });
    await expect(ended(database, behind, 1_000)).rejects.toThrow("QUEUED");
    ids.push(behind);
  }
  await using _processor = await startProcessor(circle, settings);
  for (const id of ids) expect((await ended(database, id, 60_000)).status).toBe("SUCCESS");
  expect(await waiting()).toEqual([]);
  expect(await database.sql`select 1 from ta_reservations`).toEqual([]);
});

test("a released coin goes to the longest waiting lane, not to one that arrives meanwhile", async () => {
  const { database } = circle;
  const { sql } = database;
  const names = ["q-0", "q-1", "q-2"];
  const requests = new Map<string, string>();
  const claims = new Map<string, LaneClaim>();
  const coins = [{ name: "sui:0xc0", version: "1" }];
  const claimFor = async (name: string) => {
    const claim = claims.get(name);
    const id = requests.get(name) ?? "";
    if (claim === undefined) throw new Error(`no lane of ${name}`);
    return await reserve({ database, claim }, { id }, "sui:0xa", coins);
  };
  const dueIn = async (name: string) => {
    const [row] = await sql<{ due: boolean }[]>`
      select wake_at <= now() as due from ta_lanes where investor_id = ${name}`;
    return row?.due;
  };
  for (const name of names) {
    requests.set(name, await acceptRequest(circle.database, { investorId: name }));
    const [lane] = await sql<{ id: bigint }[]>`
      select id from ta_lanes where investor_id = ${name}`;
    const claim = await investorLanes.claim(sql, lane?.id ?? -1n, 60_000);
    if (claim !== undefined) claims.set(name, claim);
  }
  expect(await claimFor("q-0")).toBe("sui:0xc0");
  expect(await claimFor("q-1")).toBeUndefined();
  const first = claims.get("q-1");
  if (first !== undefined) await investorLanes.leave(sql, first, resourceDelay(sql, 60_000));
  expect(await dueIn("q-1")).toBe(false);

  await releaseReservation(circle.database, { id: requests.get("q-0") ?? "" });
  expect(await dueIn("q-1")).toBe(true);
  expect(await claimFor("q-2")).toBeUndefined();
  expect(await claimFor("q-1")).toBe("sui:0xc0");

  // Given while its lane is still held: it is not left waiting.
  await releaseReservation(circle.database, { id: requests.get("q-1") ?? "" });
  const second = claims.get("q-2");
  if (second !== undefined) await investorLanes.leave(sql, second, resourceDelay(sql, 60_000));
  expect(await dueIn("q-2")).toBe(true);
  await releaseReservation(circle.database, { id: requests.get("q-2") ?? "" });
  expect(await sql`select 1 from ta_reservations`).toEqual([]);
  await sql`update ta_lanes set wake_at = null where investor_id like 'q-%'`;
});

test("a blocked request returns its reservation, and one whose lane is another's returns nothing", async () => {
  const { database } = circle;
  const { sql } = database;
  const id = await acceptRequest(circle.database, { investorId: "q-3" });
  const [lane] = await sql<{ id: bigint }[]>`select id from ta_lanes where investor_id = 'q-3'`;
  const claim = await investorLanes.claim(sql, lane?.id ?? -1n, 60_000);
  if (claim === undefined) throw new Error("the lane was not claimed");
  const request = { id, txId: null };
  const held = () => sql`select 1 from ta_reservations where request_id = ${id}`;
  await reserve({ database, claim }, request, "sui:0xa", [{ name: "sui:0xc1", version: "1" }]);
  const former = { ...claim, token: randomUUID() };
  await expect(giveUpReservation({ database, claim: former }, request)).rejects.toThrow(
    LaneLostError,
  );
  await giveUpReservation({ database, claim }, { id, txId: "signed meanwhile" });
  expect(await held()).toHaveLength(1);
  await giveUpReservation({ database, claim }, request);
  expect(await held()).toHaveLength(0);
  await sql`update ta_lanes set wake_at = null where investor_id = 'q-3'`;
});

test("a lane that got a coin while starting to wait for one waits no more", async () => {
  const { database } = circle;
  const { sql } = database;
  const id = await acceptRequest(circle.database, { investorId: "q-4" });
  const [lane] = await sql<{ id: bigint }[]>`select id from ta_lanes where investor_id = 'q-4'`;
  const claim = await investorLanes.claim(sql, lane?.id ?? -1n, 60_000);
  if (claim === undefined) throw new Error("the lane was not claimed");
  // What others do between its statements: it finds none free, is given one, and says that it waits.
  await sql`
    insert into ta_reservations (resource, payer, request_id) values ('sui:0xc2', 'sui:0xb', ${id})`;
  await sql`
    update ta_lanes set waits_for = 'sui:0xb', waiting_since = now() where id = ${claim.id}`;
  const coins = [{ name: "sui:0xc2", version: "1" }];
  expect(await reserve({ database, claim }, { id }, "sui:0xb", coins)).toBe("sui:0xc2");
  expect(await waiting()).toEqual([]);
  // Else it would be given a second one as soon as the first has paid.
  await giveUpReservation({ database, claim }, { id, txId: null });
  await sql`update ta_lanes set wake_at = null where investor_id = 'q-4'`;
});

for (const [why, tip] of [
  ["is behind", async () => 10n ** 9n],
  [
    "cannot be compared with a node that does not answer",
    async () => {
      throw new RelayUnavailableError("no route");
    },
  ],
] as const) {
  test(`a request whose register ${why} returns its coin after five seconds, and waits for none`, async () => {
    const { database } = circle;
    const { sql } = database;
    const names = ["old", "new", "queue"];
    const ids = await acceptOf(names);
    const held = () =>
      sql<{ resource: string }[]>`select resource from ta_reservations order by resource`;
    for (const [at, seconds] of [6, 0].entries()) {
      await sql`
        insert into ta_reservations (resource, payer, request_id, claimed_at)
        values (${`sui:0x${names[at]}`}, 'sui:0xd', ${ids[at] ?? ""},
                now() - ${seconds} * interval '1 second')`;
    }
    await sql`
      update ta_lanes set waits_for = 'sui:0xe', waiting_since = now() where investor_id = 'queue'`;
    await sql`
      update ta_requests set awaited_place = 1000000000, awaited_since = now() - interval '6 seconds'
      where investor_id = 'queue'`;
    {
      await using _processor = await startProcessor(circle, {
        holdMs: 50,
        around: (relay) => ({ ...relay, tip }),
      });
      await until("the old coin to be given back", held, ({ length }) => length === 1, 4_000);
      await until("the lane to wait no more", waiting, ({ length }) => length === 0, 4_000);
      const taken = () => sql`
        select 1 from ta_requests where id = ${ids[1] ?? ""} and status = 'PENDING'`;
      await until("the one with the new coin to be looked at", taken, ({ length }) => length === 1);
    }
    expect(await held()).toEqual([{ resource: "sui:0xnew" }]);
    await sql`delete from ta_reservations`;
    await using _processor = await startProcessor(circle);
    for (const id of ids) expect((await ended(database, id)).status).toBe("SUCCESS");
  });
}

test("a signed request that waits for its register keeps the coin that pays for it", async () => {
  const { database } = circle;
  const { sql } = database;
  const hold = await startProcessor(circle, {
    holdMs: 50,
    around: (relay) => ({ ...relay, submit: async () => undefined, lookUp: async () => null }),
  });
  const [id = ""] = await acceptOf(["signed"]);
  const held = () => sql`select 1 from ta_reservations where request_id = ${id}`;
  const stored = () => sql`select 1 from ta_transactions where request_id = ${id}`;
  await until("the transaction", stored, ({ length }) => length === 1);
  await hold[Symbol.asyncDispose]();
  const [lane] = await sql<{ id: bigint }[]>`select id from ta_lanes where investor_id = 'signed'`;
  const claim = await investorLanes.claim(sql, lane?.id ?? -1n, 60_000);
  if (claim === undefined) throw new Error("the lane was not claimed");
  await sql`update ta_reservations set claimed_at = claimed_at - interval '1 minute'`;
  await giveUpIdleReservation({ database, claim }, { id });
  expect(await held()).toHaveLength(1);
  await investorLanes.leave(sql, claim, 0);
  await using _processor = await startProcessor(circle);
  expect((await ended(database, id)).status).toBe("SUCCESS");
});

test("requests waiting for the register leave half of the workers to others, and the log reports the lag", async () => {
  const { database } = circle;
  let there = false;
  await using processor = await startProcessor(circle, {
    concurrency: 4,
    turnMs: 60_000,
    holdMs: 7_000,
    overdueMs: 300,
    around: (relay) => ({
      ...relay,
      // A node that is ahead of everything.
      tip: async (signal) => (there ? await relay.tip(signal) : 10n ** 9n),
    }),
  });
  const ids = await acceptOf(Array.from({ length: 8 }, (_, n) => `r-${n}`));
  const taken = () => database.sql`
    select 1 from ta_requests where investor_id like 'r-%' and status = 'PENDING'`;
  await until("all to be taken up", taken, ({ length }) => length === 8);
  const other = await acceptRequest(database, { investorId: "r-other", kind: "kyc" });
  expect((await ended(database, other, 6_000)).status).toBe("SUCCESS");
  await until(
    "a line about the register",
    () => processor.logged.filter((line) => line.includes("the register of demo-a has lagged")),
    ({ length }) => length > 0,
  );
  there = true;
  for (const id of ids) expect((await ended(database, id)).status).toBe("SUCCESS");
});
