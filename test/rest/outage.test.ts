// @module-tag thorough
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { createReaders } from "../../src/database/readers.ts";
import { errorAnswer } from "../../src/http/json-schema.ts";
import { breakableWay } from "../database/outage.ts";
import { freshDatabase } from "../postgres.ts";
import { cancelFirst } from "../projections/damage.ts";
import { evmAsset, serve, waitFor } from "./service.ts";

test("while the database is away the list is 503 with Retry-After, and afterwards it works again", async () => {
  await using direct = await freshDatabase();
  await using way = await breakableWay(direct.url);
  await using database = connect({ url: way.url, max: 2, applicationName: "test" });
  const token = evmAsset({
    address: `0x${"ac".repeat(20)}`,
    chainId: 43_113,
    rpc: ["http://127.0.0.1:1"],
  });
  await using api = await serve({ ...database, url: way.url }, [{ name: "p", tokens: [token] }]);
  expect(await api.list()).toEqual([]);
  await way.leave();
  const away = await api.get("/r/api/v2/transfer_events");
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(errorAnswer.strict().parse(away.body)).toMatchObject({
    error: "INTERNAL_ERROR",
    details: "the database does not answer in time; send this again in a few seconds",
  });
  await way.comeBack();
  await waitFor(
    async () => (await api.get("/r/api/v2/transfer_events")).status,
    (status) => status === 200,
  );
});

test("a list that Postgres cancels for others is read again from its beginning, twice at most", async () => {
  await using database = await freshDatabase();
  const token = evmAsset({
    address: `0x${"ac".repeat(20)}`,
    chainId: 43_113,
    rpc: ["http://127.0.0.1:1"],
  });
  await using api = await serve(database, [{ name: "p", tokens: [token] }]);
  for (const [times, status] of [
    [2, 200],
    [3, 503],
  ] as const) {
    await using _cancelling = await cancelFirst(database, "transfer_events", {
      code: "40001",
      times,
    });
    expect((await api.get("/r/api/v2/transfer_events")).status).toBe(status);
  }
});

test("a database that accepts connections and stays silent is 503 too, for known and unknown keys", async () => {
  await using direct = await freshDatabase();
  await using way = await breakableWay(direct.url);
  await using readers = createReaders({
    url: way.url,
    max: 4,
    applicationName: "test",
    readOnly: true,
    statementTimeoutMs: 500,
  });
  const token = evmAsset({
    address: `0x${"ac".repeat(20)}`,
    chainId: 43_113,
    rpc: ["http://127.0.0.1:1"],
  });
  const keys = readers.for(undefined, 1);
  await using api = await serve(direct, [{ name: "p", tokens: [token] }], { keys, readers });
  const path = "/r/api/v2/transfer_events";
  expect((await api.get(path)).status).toBe(200);
  way.break();
  const answers = await Promise.all([
    api.get(path),
    api.get(path, { "x-project-api-key": "hb_project_nobodys" }),
  ]);
  expect(answers.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual([
    [503, "5"],
    [503, "5"],
  ]);
  way.mend();
  await waitFor(
    async () => (await api.get(path)).status,
    (status) => status === 200,
  );
}, 30_000);
