// @module-tag thorough
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBook } from "../../client/browser.ts";
import { checkReplicas } from "../../src/commands/doctor/replicas.ts";
import { connect, type Database } from "../../src/database/connect.ts";
import { migrate } from "../../src/database/migrate.ts";
import { replicasDetails } from "../../src/service/health/replicas-health.ts";
import { until } from "../lanes/until.ts";
import { type Primary, type Standby, startPrimary } from "../streaming-replica.ts";
import { type Api, startApi } from "./api.ts";
import { ledgerOf, type SmallLedger } from "./small-ledger.ts";

let primary: Primary;
let standby: Standby;
let database: Database;
let api: Api;
let replicaUrl: string;
let ledger: SmallLedger;

beforeAll(async () => {
  primary = await startPrimary();
  database = connect({ url: primary.url, max: 4, applicationName: "test" });
  await migrate(database);
  await primary.run("create role reading login password 'reading'");
  await primary.run("grant select on all tables in schema public to reading");
  ledger = await ledgerOf(database);
  await ledger.advance();
  standby = await primary.standby("one");
  const replica = new URL(standby.url);
  replica.username = "reading";
  replica.password = "reading";
  replicaUrl = replica.href;
  const replicas = [replicaUrl];
  api = await startApi({ database: { ...database, url: primary.url }, replicas });
}, 60_000);
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await database.close();
  await primary[Symbol.asyncDispose]();
});

const STATE = "{ _meta { checkpoint } indexerStatus { checkpoint } }";

type Mark = { readonly checkpoint: string };

/** The checkpoint of `_meta`, which is that of the last pipeline in the same answer. */
const shown = async (headers: Readonly<Record<string, string>> = {}): Promise<number> => {
  const { text } = await api.query(STATE, {}, headers);
  const { data }: { data: { _meta: Mark; indexerStatus: Mark[] } | null } = JSON.parse(text);
  if (data === null) throw new Error(text);
  const checkpoint = Number(data._meta.checkpoint);
  expect(Math.min(...data.indexerStatus.map((one) => Number(one.checkpoint)))).toBe(checkpoint);
  return checkpoint;
};

const readsOf = () => api.spread?.reads ?? { primary: 0, replicas: [] };
const stateOf = () => api.spread?.standings()[0]?.state;

/** Waits until the replica answers. */
const replicaAnswers = () =>
  until(
    "an answer of the replica",
    async () => {
      const before = readsOf().replicas[0] ?? 0;
      await shown();
      return (readsOf().replicas[0] ?? 0) - before;
    },
    (reads) => reads > 0,
  );

test("_meta and indexerStatus tell the snapshot of the replica that answered; X-Min-Checkpoint goes beyond, and later requests do not go back", async () => {
  await replicaAnswers();
  const before = await shown();
  await standby.pauseReplay();
  // Looked up on the primary, a key would count as an answer: it is cached for less than a second.
  const last = Number(await ledger.advance());
  expect([before, last]).toContain(await shown());
  expect(await shown({ "x-min-checkpoint": `${last}` })).toBe(last);
  const next = await ledger.advance();
  const book = createBook({ url: api.url, key: api.key });
  expect((await book.meta({ minCheckpoint: next })).checkpoint).toBe(next);
  const { primary: reads } = readsOf();
  expect(await shown()).toBe(Number(next));
  expect(readsOf().primary).toBe(reads + 1);
  await standby.resumeReplay();
  await replicaAnswers();
  expect(await shown()).toBe(Number(next));
});

test("clients of a service whose replica is stopped under load get every answer, and never an earlier checkpoint", async () => {
  await replicaAnswers();
  const stop = new AbortController();
  let answers = 0;
  const client = async () => {
    for (let last = 0; !stop.signal.aborted; answers += 1) {
      const checkpoint = await shown();
      expect(checkpoint).toBeGreaterThanOrEqual(last);
      last = checkpoint;
    }
  };
  const moving = (async () => {
    while (!stop.signal.aborted) await ledger.advance();
  })();
  const clients = Promise.all([client(), client(), client()]);
  await until(
    "answers",
    () => answers,
    (count) => count > 30,
  );
  await standby.kill();
  await until("gone", stateOf, (state) => state === "gone");
  const before = answers;
  await until(
    "further answers",
    () => answers,
    (count) => count > before + 30,
  );
  await standby.start();
  await until("used again", stateOf, (state) => state === "used");
  stop.abort();
  await Promise.all([clients, moving]);
  await replicaAnswers();
}, 60_000);

test("doctor and /health name each replica by number and host, and no credentials", async () => {
  await until("used", stateOf, (state) => state === "used");
  const host = `127.0.0.1:${standby.port}`;
  const said = await checkReplicas(database, {
    databaseReadUrls: [replicaUrl, "postgres://reading:reading@127.0.0.1:1/postgres"],
    databaseReadLagSeconds: 60,
  });
  expect(said).toEqual([
    {
      state: "ok",
      says: expect.stringMatching(
        `^replica 1 \\(${host}\\) takes reads, \\d+\\.\\d s behind the primary$`,
      ),
    },
    {
      state: "warn",
      says: "replica 2 (127.0.0.1:1) does not answer",
      remedy: expect.stringContaining("DATABASE_READ_URL"),
    },
  ]);
  const { members } = await replicasDetails(api.spread)();
  expect(members.replicas).toEqual([
    {
      number: 1,
      host,
      state: "used",
      lagSeconds: expect.any(Number),
      since: expect.stringMatching(/Z$/),
    },
  ]);
});
