import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { loseActivity, whileBalancesAreLocked } from "../projections/damage.ts";
import { startApi } from "./api.ts";
import { ACME } from "./rows.ts";

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

test("while the database is away queries fail masked, and they work again when it is back", async () => {
  await using api = await startApi();
  await api.query(HOLDERS, { coin: ACME });
  const name = new URL(api.database.url).pathname.slice(1);
  const ended = await api.database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${name} and application_name = 'test-read'`;
  expect(ended.length).toBeGreaterThan(0);
  // Which of the two queries meets a dead connection, if any, is the pool's affair.
  const { errors = [], text } = await api.query(HOLDERS, { coin: ACME });
  for (const { extensions } of errors) expect(extensions).toMatchObject({ code: "INTERNAL" });
  expect(text).not.toMatch(/terminat|connection|postgres/i);
  const answer = async () => (await api.query(HOLDERS, { coin: ACME })).data;
  await expect.poll(answer).toEqual({ tokenHolders: [], tokenActivity: [] });
});
