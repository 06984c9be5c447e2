import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  cancelFirst,
  loseActivity,
  loseActivityReaders,
  whileBalancesAreLocked,
} from "../projections/damage.ts";
import { startApi } from "./api.ts";
import { ACME } from "./rows.ts";
import { ACTIVITY } from "./streams.ts";

const HOLDERS = `query ($coin: String!) {
  tokenHolders(coinType: $coin) { owner }
  tokenActivity(coinType: $coin) { position }
}`;

test("an internal failure is masked: the caller gets the request's id, the log gets the cause", async () => {
  await using api = await startApi();
  await loseActivity(api.database);
  const id = randomUUID();
  const reply = await api.query(HOLDERS, { coin: ACME }, { "x-request-id": id });
  expect(reply.headers.get("x-request-id")).toBe(id);
  expect(reply.data).toEqual({ tokenHolders: [], tokenActivity: null });
  expect(reply.errors).toEqual([
    {
      message: `something went wrong on our side; quote request id ${id} when you report it`,
      locations: expect.any(Array),
      path: ["tokenActivity"],
      extensions: { code: "INTERNAL", requestId: id },
    },
  ]);
  expect(reply.text).not.toMatch(/relation|select|token_activity|postgres|node_modules/i);

  const lines = api.log.filter(({ requestId }) => requestId === id);
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: "a query failed", path: "tokenActivity" }),
  );
  expect(JSON.stringify(lines)).toContain('relation \\"token_activity\\" does not exist');
  expect(JSON.stringify(api.log)).not.toContain(api.key);
});

test("a query that runs too long is cancelled, with a clear error", async () => {
  await using api = await startApi({ statementTimeoutMs: 150 });
  const reply = await whileBalancesAreLocked(api.database, () =>
    api.query(HOLDERS, { coin: ACME }),
  );
  expect(reply.data).toEqual({ tokenHolders: null, tokenActivity: [] });
  expect(reply.errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining("the query took too long; ask for fewer fields or rows"),
      extensions: { code: "INTERNAL", requestId: reply.headers.get("x-request-id") },
    }),
  ]);
});

test("a request that lost its connection is refused whole as one to send again, compiled or not, and a subscription too", async () => {
  await using api = await startApi();
  const again = {
    status: 503,
    errors: [
      {
        message: "the database does not answer in time; send this again in a few seconds",
        extensions: { code: "OVERLOADED" },
      },
    ],
  };
  for (const use of ["interpreted", "compiled"]) {
    await using _lost = await loseActivityReaders(api.database);
    const reply = await api.query(HOLDERS, { coin: ACME });
    expect(reply, use).toMatchObject(again);
    expect(reply.headers.get("retry-after"), use).toBe("5");
  }
  const lost = await loseActivityReaders(api.database);
  const opened = await api.query(
    `subscription ($coin: String!) { tokenActivity(coinType: $coin) { position } }`,
    { coin: ACME },
    { accept: "text/event-stream" },
  );
  expect(opened).toMatchObject(again);
  await lost[Symbol.asyncDispose]();
  expect(await api.query(HOLDERS, { coin: ACME })).toMatchObject({
    status: 200,
    data: { tokenHolders: [], tokenActivity: [] },
  });
});

test("a query that Postgres cancels for others runs again from its beginning, twice at most", async () => {
  await using api = await startApi();
  for (const code of ["40001", "40P01"]) {
    for (const use of ["interpreted", "compiled"]) {
      await using _cancelling = await cancelFirst(api.database, "token_activity", {
        code,
        times: 2,
      });
      const reply = await api.query(HOLDERS, { coin: ACME });
      expect(reply, `${code} ${use}`).toMatchObject({
        status: 200,
        data: { tokenHolders: [], tokenActivity: [] },
      });
      expect(reply.errors).toBeUndefined();
    }
  }
  await using _cancelling = await cancelFirst(api.database, "token_activity", {
    code: "40001",
    times: 3,
  });
  expect((await api.query(HOLDERS, { coin: ACME })).status).toBe(503);
  expect((await api.query(HOLDERS, { coin: ACME })).status).toBe(200);
});

test("a subscription whose opening Postgres cancels for others opens again, as one stream", async () => {
  await using api = await startApi({ streams: { perKey: 1 } });
  const cancelling = await cancelFirst(api.database, "token_activity", { code: "40001", times: 2 });
  const opened = await fetch(`${api.url}/graphql`, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", accept: "text/event-stream" },
      "x-api-key": api.key,
    },
    body: JSON.stringify({ query: ACTIVITY, variables: { coin: ACME } }),
  });
  await cancelling[Symbol.asyncDispose]();
  expect([opened.status, api.streams.size]).toEqual([200, 1]);
  await opened.body?.cancel();
});
