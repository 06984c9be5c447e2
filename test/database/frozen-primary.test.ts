// @module-tag alone
/** A primary whose processes are stopped: its kernel accepts connections, and nothing is answered or closed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "../../src/database/connect.ts";
import { createReaders, read } from "../../src/database/readers.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import { until } from "../lanes/until.ts";
import { type Primary, type Standby, startPrimary } from "../streaming-replica.ts";

let one: Primary;
let two: Standby;
let url: string;
let database: Database;

beforeAll(async () => {
  one = await startPrimary();
  two = await one.standby("two");
  url = one.url.replace(`127.0.0.1:${one.port}`, `127.0.0.1:${one.port},127.0.0.1:${two.port}`);
  database = connect({ url, max: 3, applicationName: "frozen" });
}, 60_000);
afterAll(async () => {
  await database.close();
  await one[Symbol.asyncDispose]();
});

const PORT = "select inet_server_port()::int4 as port";

/** What is promised on a machine that does little else. */
const PROMISED_MS = 10_000;

test("pools, sessions, readers, listeners and queues leave a frozen primary within ten seconds of the promotion, and stay when it thaws", async () => {
  const payloads: (string | null)[] = [];
  const done: bigint[] = [];
  const ending = new AbortController();
  await using readers = createReaders({ url, max: 3, applicationName: "frozen", readOnly: true });
  await using queues = openQueues({ databaseUrl: url, onError: () => undefined });
  const queue = queues.queue("lanes");
  const run = async (lane: bigint) => void done.push(lane);
  const worker = queues.worker("lanes", { concurrency: 1, run });
  await worker.ready();
  database.listen("told", (payload) => payloads.push(payload), ending.signal);
  await until(
    "a listener",
    () => payloads,
    ({ length }) => length > 0,
  );
  await using session = await database.session();
  await database.sql`create table kept (n int8)`;
  expect(await read(readers.for(undefined), PORT, [])).toEqual([{ port: one.port }]);
  await two.caughtUp();

  await one.freeze();
  const heard = payloads.length;
  const open = [
    database.sql`insert into kept values (1)`.execute(),
    session.sql`insert into kept values (2)`.execute(),
    read(readers.for(undefined), PORT, []),
  ];
  const ended = Promise.allSettled(open);
  await two.promote();
  const beganMs = performance.now();
  const whens: Record<string, number> = {};
  const when = async (what: string, work: Promise<unknown>) => {
    await work;
    whens[what] = Math.round(performance.now() - beganMs);
  };
  const untilDone = (what: string, work: () => PromiseLike<unknown>) =>
    until(
      what,
      async () => await work().then(() => "done", String),
      (answer) => answer === "done",
    );
  await Promise.all([
    when("statements under way end", ended),
    when(
      "writes",
      untilDone("writes", () => database.sql`insert into kept values (3)`),
    ),
    when(
      "readers",
      untilDone("readers", () => read(readers.for(undefined), PORT, [])),
    ),
    when(
      "a listener",
      until(
        "a listener",
        () => payloads.slice(heard),
        (news) => news.includes(null),
      ),
    ),
    when(
      "the queue",
      untilDone("the queue", () => queue.add([{ id: "lane-1", lane: 1n }])).then(() =>
        until(
          "a wake-up",
          () => done,
          ({ length }) => length > 0,
        ),
      ),
    ),
  ]);
  console.info(`ms after the promotion: ${JSON.stringify(whens)}`);
  expect(Math.max(...Object.values(whens))).toBeLessThan(PROMISED_MS);
  expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(session.lost.aborted).toBe(true);
  expect(await database.sql`select n from kept`).toEqual([{ n: 3n }]);
  ending.abort();

  await one.thaw();
  await until(
    "the former primary",
    () => one.run("select 1").then(() => "answers", String),
    (answer) => answer === "answers",
  );
  await using later = await database.session();
  expect(await later.sql.unsafe(PORT)).toEqual([{ port: two.port }]);
}, 120_000);
