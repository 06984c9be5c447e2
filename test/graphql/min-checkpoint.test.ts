import { afterAll, beforeAll, expect, test } from "vitest";
import { BookError, createBook } from "../../client/browser.ts";
import { createReach } from "../../src/projections/reach.ts";
import { type Api, startApi } from "./api.ts";
import { ledgerOf, type SmallLedger } from "./small-ledger.ts";

let api: Api;
let ledger: SmallLedger;

beforeAll(async () => {
  api = await startApi({ reachMs: 500 });
  ledger = await ledgerOf(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const NOW = "{ _meta { checkpoint } }";

const atLeast = (checkpoint: string, headers: Readonly<Record<string, string>> = {}) =>
  api.query(NOW, {}, { "x-min-checkpoint": checkpoint, ...headers });

test("a request with X-Min-Checkpoint waits until all pipelines have committed that checkpoint", async () => {
  const last = await ledger.advance();
  expect((await atLeast(`${last}`)).data).toEqual({ _meta: { checkpoint: `${last}` } });
  const waiting = atLeast(`${last + 1n}`);
  await ledger.advance();
  expect((await waiting).data).toEqual({ _meta: { checkpoint: `${last + 1n}` } });
});

test("a checkpoint that is not committed in time is NOT_YET_INDEXED, naming the last one", async () => {
  const last = await ledger.advance();
  const wanted = `${last + 1_000n}`;
  const refused = await atLeast(wanted);
  expect([refused.status, refused.errors]).toEqual([
    200,
    [
      {
        message: `checkpoint ${wanted} is not indexed yet; the last one is ${last}`,
        extensions: { code: "NOT_YET_INDEXED" },
      },
    ],
  ]);
  const accept = "application/graphql-response+json";
  expect((await atLeast(wanted, { accept })).status).toBe(409);
});

test("the argument minCheckpoint of _meta has the whole request wait, and refuses it as the header does", async () => {
  const query = (checkpoint: string) =>
    api.query(
      "query ($least: String!) { indexerStatus { pipeline } _meta(minCheckpoint: $least) { checkpoint } }",
      { least: checkpoint },
    );
  const last = await ledger.advance();
  const waiting = query(`${last + 1n}`);
  await ledger.advance();
  expect((await waiting).data).toMatchObject({ _meta: { checkpoint: `${last + 1n}` } });
  const { data, errors } = await query(`${last + 1_000n}`);
  expect([data, errors?.[0]?.extensions?.code]).toEqual([undefined, "NOT_YET_INDEXED"]);
  const wrong = (await query("latest")).errors?.[0];
  expect(wrong?.extensions?.code).toBe("BAD_USER_INPUT");
  expect(wrong?.message).toContain("minCheckpoint must be a checkpoint, decimal");
});

test("the client's minCheckpoint waits in single reads and in lists, and what is not reached in time is a BookError", async () => {
  const book = createBook({ url: api.url, key: api.key });
  const last = await ledger.advance();
  const waiting = book.meta({ minCheckpoint: last + 1n });
  const tokens = book.tokens({ minCheckpoint: last + 1n });
  const listed = tokens[Symbol.asyncIterator]().next();
  await ledger.advance();
  expect((await waiting).checkpoint).toBe(last + 1n);
  expect(await listed).toEqual({ done: true, value: undefined });
  const refused = await book
    .status({ minCheckpoint: last + 1_000n })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(BookError);
  expect(refused).toMatchObject({ code: "NOT_YET_INDEXED", remedy: "retry" });
});

test("a query that cannot run is refused as that, whatever checkpoint it asks for", async () => {
  const wanted = { "x-min-checkpoint": `${(await ledger.advance()) + 1_000n}` };
  for (const wrong of [
    "{ nothing }",
    "{ _meta {",
    "query ($n: Int!) { tokens(limit: $n) { coinType } }",
  ]) {
    const { errors } = await api.query(wrong, {}, wanted);
    expect(errors?.[0]?.extensions?.code, wrong).not.toBe("NOT_YET_INDEXED");
  }
});

test("waiting requests of one caller are bounded, and take no other caller's place", async () => {
  const reach = createReach(api.database, { waitMs: 10_000 });
  const next = (await ledger.advance()) + 1n;
  const outcomes = Array.from({ length: 200 }, () =>
    reach(next, { key: "one" }).then(
      () => "reached",
      ({ message }: Error) => message,
    ),
  );
  expect(await Promise.race(outcomes)).toContain(`checkpoint ${next} is not indexed yet`);
  const other = reach(next, { key: "other" });
  await ledger.advance();
  await other;
  expect((await Promise.all(outcomes)).filter((one) => one === "reached")).toHaveLength(32);
});

test("an X-Min-Checkpoint that is no checkpoint is refused with what it must be", async () => {
  for (const wrong of ["-1", "0x1", "12.5", "latest", "1".repeat(19)]) {
    const { status, errors } = await atLeast(wrong);
    expect([wrong, status, errors?.[0]?.extensions?.code]).toEqual([wrong, 400, "BAD_USER_INPUT"]);
    expect(errors?.[0]?.message).toContain("X-Min-Checkpoint: must be a checkpoint, decimal");
  }
});
