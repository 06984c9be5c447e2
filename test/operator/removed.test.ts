/** What operators are told of callbacks and requests that retention removed. */
import { expect, test } from "vitest";
import { pruneCallbacks } from "../../src/callbacks/pruning.ts";
import { pruneRequests } from "../../src/ta/requests/pruning.ts";
import { deliverLongAgo } from "../callbacks/old-messages.ts";
import { startSender } from "../callbacks/sender.ts";
import { runCommand } from "../commands/run-command.ts";
import { office } from "../ta/office.ts";
import { endLongAgo } from "../ta/old-requests.ts";
import { serveOperator } from "./service.ts";

const CALLBACK = "this callback was delivered and has been removed: its retention time is over";
const REQUEST = "this request has ended and has been removed: its retention time is over";

test("removed callbacks and requests are 410 by their id, and commands say that they were removed", async () => {
  await using sender = await startSender("http://127.0.0.1:1/", { delivering: false });
  const { database } = sender;
  await using api = await serveOperator(database);
  await sender.send([{ id: "te_1" }, { id: "te_2" }]);
  await deliverLongAgo(database.sql, ["te_1"], 99);
  const { newKey, result } = office(database);
  const request = await result(await newKey());
  await endLongAgo(database.sql, [request], 99);
  const stretch = { before: new Date(), after: null, limit: 10 };
  await pruneCallbacks(database, stretch);
  await pruneRequests(database, stretch);

  const gone = (details: string) => ({ status: 410, json: { details } });
  expect(await api.get("/operator/deliveries/te_1")).toMatchObject(gone(CALLBACK));
  expect(await api.post("/operator/deliveries/te_1/redeliver")).toMatchObject(gone(CALLBACK));
  expect(await api.get(`/operator/requests/${request}`)).toMatchObject(gone(REQUEST));
  expect((await api.get("/operator/deliveries/te_2")).status).toBe(200);
  expect((await api.get("/operator/deliveries/te_3")).status).toBe(404);
  expect((await api.get("/operator/deliveries")).json.items).toMatchObject([{ id: "te_2" }]);
  expect((await api.get("/operator/requests")).json.items).toEqual([]);

  const settings = { DATABASE_URL: database.url };
  const run = async (...words: string[]) => {
    const { code, stderr } = await runCommand(words, settings);
    return { code, stderr };
  };
  const says = (text: string) => ({ code: 2, stderr: expect.stringContaining(text) });
  expect(await run("callbacks", "redeliver", "te_1", "--project", "acme")).toEqual(says(CALLBACK));
  expect(await run("callbacks", "list", "--after", "te_1", "--project", "acme")).toEqual(
    says(`--after: ${CALLBACK}; give the time of the last one seen as since`),
  );
  expect(await run("callbacks", "redeliver", "te_3", "--project", "acme")).toEqual(
    says("has no callback te_3"),
  );
  expect(await run("ta", "request", request)).toEqual(says(REQUEST));
});
