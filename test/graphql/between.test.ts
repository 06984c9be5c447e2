/** Answers between two checkpoints that were read, held against a deployment that read every one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkpointMark } from "../../src/log/blocks.ts";
import { createAsking } from "../../src/projections/asking.ts";
import { findAsked } from "../../src/service/find-asked.ts";
import { guidedLog, NEWEST } from "../ledger/reading/guided-log.ts";
import { copyOf } from "../postgres.ts";
import { listening } from "../postgres-listeners.ts";
import { type Api, startApi } from "./api.ts";

let logs: Awaited<ReturnType<typeof guidedLog>>;
let exhaustive: Api;

beforeAll(async () => {
  logs = await guidedLog();
  exhaustive = await startApi({ database: logs.exhaustive });
}, 60_000);

afterAll(async () => {
  await exhaustive[Symbol.asyncDispose]();
  await logs[Symbol.asyncDispose]();
});

/** Serves a copy of the guided log; `find` also runs what finds summaries in the indexing process. */
const serveGuided = async ({ find, waitMs = 20_000 }: { find: boolean; waitMs?: number }) => {
  const database = await copyOf(logs.guided);
  const ending = new AbortController();
  const failures: Error[] = [];
  const finding = () =>
    findAsked({
      database,
      source: logs.sourceOf().source,
      onFailure: (error) => failures.push(error),
      signal: ending.signal,
    });
  const ended = find ? finding() : Promise.resolve();
  if (find) await listening(database);
  const api = await startApi({ database, findSummaries: createAsking(database, { waitMs }) });
  return {
    api,
    database,
    failures,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await ended;
      await api[Symbol.asyncDispose]();
      await database.close();
    },
  };
};

const EVERYTHING = `query ($coin: String!, $at: String, $second: String) {
  _meta(atCheckpoint: $at, atTimestamp: $second) { checkpoint checkpointTimestamp checkpointDigest }
  capTable(coinType: $coin, atCheckpoint: $at, atTimestamp: $second) {
    checkpoint checkpointTimestamp checkpointDigest root totalSupply issued
    rows { holderId balance unlocked locked }
  }
  token(coinType: $coin, atCheckpoint: $at, atTimestamp: $second) { holderCount totalSupply }
  tokenHolders(coinType: $coin, atCheckpoint: $at, atTimestamp: $second) { owner balance }
}`;

const secondOf = async (checkpoint: bigint): Promise<string> => {
  const mark = await checkpointMark(logs.exhaustive.db, checkpoint);
  if (mark === null) throw new Error(`checkpoint ${checkpoint} is not in the exhaustive log`);
  return `${mark.timestampMs / 1_000n}`;
};

test("checkpoints and seconds between two that were read are answered as an exhaustive log answers them", async () => {
  await using served = await serveGuided({ find: true });
  for (const checkpoint of [40n, 88n, 101n, 133n, NEWEST - 20n]) {
    const moments = [{ at: `${checkpoint}` }, { second: await secondOf(checkpoint) }];
    for (const moment of moments) {
      const variables = { coin: logs.coinType, ...moment };
      const { data, errors, text } = await served.api.query(EVERYTHING, variables);
      expect(errors, text).toBeUndefined();
      expect(data).toEqual((await exhaustive.query(EVERYTHING, variables)).data);
    }
  }
  expect(served.failures).toEqual([]);
});

test("one request finds several moments, compiled and interpreted", async () => {
  await using served = await serveGuided({ find: true });
  const seconds = await Promise.all([30n, 75n, 120n].map(secondOf));
  const query = `{ ${seconds.map((at, n) => `m${n}: _meta(atTimestamp: "${at}") { checkpoint checkpointDigest }`).join(" ")} }`;
  const expected = (await exhaustive.query(query)).data;
  for (let times = 0; times < 3; times += 1) {
    expect((await served.api.query(query)).data).toEqual(expected);
  }
});

test("without one who finds it, a moment between is not indexed yet, and the error says so", async () => {
  await using served = await serveGuided({ find: false, waitMs: 50 });
  const { coinType } = logs;
  const ask = async (at: string) => {
    const { errors } = await served.api.query(
      `{ capTable(coinType: "${coinType}", ${at}) { root } }`,
    );
    return errors?.[0];
  };
  const second = await secondOf(88n);
  expect(await ask('atCheckpoint: "88"')).toMatchObject({
    message:
      "checkpoint 88 lies between two checkpoints that were read, and its time and digest are not known yet; the indexing process (start or index) is asked for it: ask again in a few seconds",
    extensions: { code: "NOT_YET_INDEXED" },
  });
  expect((await ask(`atTimestamp: "${second}"`))?.message).toContain(
    `the end of second ${second} lies between`,
  );
  // What was read, and what has no time in its answer, needs nobody.
  expect(await ask('atCheckpoint: "85"')).toBeUndefined();
  const { data, errors } = await served.api.query(
    `{ tokenHolders(coinType: "${coinType}", atCheckpoint: "88") { owner } }`,
  );
  expect(errors).toBeUndefined();
  expect(data?.tokenHolders).not.toEqual([]);
});

test("_meta says how the log was read", async () => {
  const query = "{ _meta { readFrom completeThrough } }";
  expect((await exhaustive.query(query)).data).toEqual({
    _meta: { readFrom: "FULL", completeThrough: null },
  });
  await using served = await serveGuided({ find: false });
  expect((await served.api.query(query)).data).toEqual({
    _meta: { readFrom: "GUIDED", completeThrough: null },
  });
});
