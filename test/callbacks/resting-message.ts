import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { type Callback, enqueueCallback } from "../../src/callbacks/enqueue.ts";
import type { TestDatabase } from "../postgres.ts";
import { LOCAL } from "./sender.ts";

/** A message in a database that nothing delivers from: its status is as the test says. */
export const restingMessage = async (
  database: TestDatabase,
  message: Pick<Callback, "endpoint" | "id"> & Partial<Callback>,
) => {
  const { endpoint, id } = message;
  await registerEndpoint(database, LOCAL, { key: endpoint, url: "http://127.0.0.1:9/" });
  const callback = { lane: id, type: "kyc", body: {}, ...message };
  await database.transaction((tx) => enqueueCallback(tx, callback));
  return {
    becomes: (status: string) =>
      database.sql`update callback_messages set status = ${status} where id = ${id}`,
    status: async () => {
      const all = await listDeliveries(database, { endpoints: [endpoint], limit: 1_000 });
      return all.find((delivery) => delivery.id === id)?.status;
    },
  };
};
