/** A redelivery beside the worker that tries the same message. */
import { expect, test } from "vitest";
import { holdMessage, redeliverHeld } from "../../src/callbacks/deliveries.ts";
import { changeEndpoints, putEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallback } from "../../src/callbacks/enqueue.ts";
import { claimAndRead, deliveryLanes } from "../../src/callbacks/lanes.ts";
import { recordDelivered } from "../../src/callbacks/record.ts";
import { moveArrivals } from "../../src/lanes/due.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";

const URL_OF_E = "https://hooks.example/";

test("a redelivery during the recording of the same message does not deadlock it", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  await changeEndpoints(database, (tx) => putEndpoint(tx, { key: "e", url: URL_OF_E }));
  await database.transaction((tx) =>
    enqueueCallback(tx, { endpoint: "e", lane: "l", id: "m1", type: "t", body: { a: 1 } }),
  );
  const [lane] = (await moveArrivals(sql, deliveryLanes, 10, 1_000)).fresh;
  const taken = await claimAndRead(sql, lane?.id ?? 0n, 20_000);
  const [message] = taken?.view.messages ?? [];
  if (taken === undefined || message === undefined) throw new Error("nothing to deliver");

  let recording: Promise<void> | undefined;
  const redelivered = await database.transaction(async (tx) => {
    const held = await holdMessage(tx, { endpoints: ["e"], id: "m1" });
    if (held === undefined) throw new Error("no such message");
    recording = recordDelivered(sql, taken.claim, message, {
      at: new Date(),
      url: URL_OF_E,
      statusCode: 200,
      error: null,
      durationMs: 1,
      retryAfterMs: undefined,
    });
    recording.catch(() => undefined);
    await until(
      "the worker waits for the message",
      () => sql<{ waiting: number }[]>`
        select count(*)::int4 as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
      ([row]) => row?.waiting === 1,
    );
    return redeliverHeld(tx, held);
  });
  expect(redelivered).toBe("pending");
  await recording;
  const rows = await sql`select status from callback_messages where id = 'm1'`;
  expect(rows).toEqual([{ status: "delivered" }]);
});
