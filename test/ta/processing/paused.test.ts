/** An asset that an operator paused: requests are accepted and wait, in order. */
import { expect, test } from "vitest";
import { resumeNow } from "../../../src/operator/pausing.ts";
import { activePauses, beginPause } from "../../../src/pauses/pauses.ts";
import { requestOverviews } from "../../../src/ta/requests/overview.ts";
import { requestStatus } from "../../../src/ta/requests/status.ts";
import { until } from "../../lanes/until.ts";
import { ASSET, acceptRequest, ended, newWallet, startCircle } from "./circle.ts";
import { startProcessor } from "./processor.ts";

const WHO = { kind: "asset", name: ASSET, by: "ops on desk" } as const;

test("requests for a paused asset are accepted and wait; resumed, they are processed in the investor's order", async () => {
  await using circle = await startCircle();
  const { database } = circle;
  await database.transaction((tx) => beginPause(tx, { ...WHO, reason: "an incident" }));
  await using _processor = await startProcessor(circle);
  const about = { investorId: "p-1" };
  const first = await acceptRequest(database, { ...about, wallet: newWallet() });
  const second = await acceptRequest(database, { ...about, kind: "kyc" });
  const lanes = () => database.sql`select 1 from ta_lanes where wake_at is null`;
  await until("the lane to rest", lanes, (rows) => rows.length === 1);
  const [{ key_id: keyId } = { key_id: "" }] = await database.sql<{ key_id: string }[]>`
    select key_id from ta_requests where id = ${first}`;
  expect(await requestStatus(database, { keyIds: [keyId], requestId: first })).toMatchObject({
    status: "QUEUED",
    paused: true,
  });
  const [seen] = await requestOverviews(database, { id: first, limit: 1 });
  expect(seen?.waitsFor).toBe(`an operator, who paused ${ASSET}`);
  expect(await database.sql`select 1 from ta_reservations`).toEqual([]);

  expect(await resumeNow(database, { ...WHO, key: null, assets: { projects: [] } })).toBe(true);
  expect(await activePauses(database)).toEqual([]);
  expect(await ended(database, first)).toMatchObject({ status: "SUCCESS" });
  expect(await ended(database, second)).toMatchObject({ status: "SUCCESS" });
  const order = await database.sql<{ id: string }[]>`
    select request_id as id from ta_request_history where status = 'SUCCESS' order by at`;
  expect(order.map(({ id }) => id)).toEqual([first, second]);
  const status = await requestStatus(database, { keyIds: [keyId], requestId: first });
  expect(status).not.toHaveProperty("paused");
});

test("a transaction that was signed before the pause is followed to its end, and the next request waits", async () => {
  await using circle = await startCircle();
  const { database } = circle;
  const gate = Promise.withResolvers<void>();
  await using _processor = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      submit: async (...given) => {
        await gate.promise;
        await relay.submit(...given);
      },
    }),
  });
  const first = await acceptRequest(database, { investorId: "p-2", wallet: newWallet() });
  const stored = () => database.sql`select 1 from ta_transactions where request_id = ${first}`;
  await until("a signed transaction", stored, (rows) => rows.length === 1);
  await database.transaction((tx) => beginPause(tx, { ...WHO, reason: null }));
  const second = await acceptRequest(database, { investorId: "p-2", kind: "kyc" });
  gate.resolve();
  expect(await ended(database, first)).toMatchObject({ status: "SUCCESS" });
  const lanes = () => database.sql`select 1 from ta_lanes where wake_at is null`;
  await until("the lane to rest", lanes, (rows) => rows.length === 1);
  const [left] = await database.sql`select status from ta_requests where id = ${second}`;
  expect(left).toEqual({ status: "QUEUED" });
  await resumeNow(database, { ...WHO, key: null, assets: { projects: [] } });
  expect(await ended(database, second)).toMatchObject({ status: "SUCCESS" });
});
