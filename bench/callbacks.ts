/**
 * Delivery rate of callbacks to a local receiver: signed, recorded one by one, in order per lane.
 * The baseline, in the same run: the same bodies over the same kind of connections, as many loops,
 * and one Postgres update per success.
 */
import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import pino from "pino";
import { startCallbacks } from "../src/callbacks/callbacks.ts";
import { registerEndpoint } from "../src/callbacks/endpoints.ts";
import { type Callback, enqueueCallbacks } from "../src/callbacks/enqueue.ts";
import { openOutbound } from "../src/callbacks/outbound.ts";
import { openSigningKeys } from "../src/callbacks/signing-keys.ts";
import { connect, type Database } from "../src/database/connect.ts";
import { openQueues } from "../src/lanes/queues.ts";
import { type Figure, median, quantile, ratioOf, shown, summedUp } from "./figure.ts";
import { scratchPostgres } from "./start.ts";

const POLICY = { allowPrivate: true };
const ENDPOINT = "project:bench";

const PADDING = "x".repeat(1_200);

const CONCURRENCY = 16;

/** A thread that reports each callback's arrival. */
const RECEIVER = `
  const { createServer } = require("node:http");
  const { parentPort } = require("node:worker_threads");
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      if (request.headers["x-watch"] !== "no") parentPort.postMessage(Date.now());
      response.writeHead(204).end();
    });
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage({ port: server.address().port }));`;

const MESSAGES = 4_000;
const LANES = 40;

export const bench = async (): Promise<readonly Figure[]> => {
  await using scratch = await scratchPostgres();
  await using database = connect({
    url: scratch.url,
    max: CONCURRENCY,
    applicationName: "bench",
    synchronousCommit: "off",
  });
  const receiver = new Worker(RECEIVER, { eval: true });
  const { port } = await new Promise<{ port: number }>((resolve) =>
    receiver.once("message", resolve),
  );
  let arrived = 0;
  let arrivedAt = 0;
  receiver.on("message", (at: number) => {
    arrived += 1;
    arrivedAt = at;
  });
  const url = `http://127.0.0.1:${port}/`;
  const queues = openQueues({ databaseUrl: scratch.url, onError: () => undefined });
  const outbound = openOutbound({ policy: POLICY });
  const signingKeys = await openSigningKeys(database, randomBytes(32));
  await registerEndpoint(database, POLICY, { key: ENDPOINT, url });
  const callbacks = await startCallbacks({
    database,
    queues,
    outbound,
    signingKeys,
    logger: pino({ level: "silent" }),
    // The bench has one receiver, which gets half of the workers.
    concurrency: 2 * CONCURRENCY,
  });
  try {
    await deliverAll(database, "warm", 200, LANES);
    const many = await deliverAll(database, "many", MESSAGES, LANES);
    const one = await deliverAll(database, "one", MESSAGES / 4, 1);
    const latencies: number[] = [];
    for (let index = 0; index < 100; index += 1) {
      const before = arrived;
      await send(database, [draft(`single_${index}`, `single-${index}`)]);
      const committed = Date.now();
      while (arrived === before) await new Promise((resolve) => setImmediate(resolve));
      latencies.push(Math.max(0, arrivedAt - committed));
    }
    const bare = await postBare(database, url, MESSAGES);
    return [
      {
        name: "lanes",
        what: `Callbacks: deliveries a second over ${LANES} lanes, signed, recorded and in order / bare loops that post and update`,
        ...ratioOf("/s", [many], [bare]),
        ...{ better: "more", aim: null },
        detail: `${shown(one, "/s")} in one lane`,
      },
      {
        name: "alone",
        what: "Callbacks: a lone one's commit to its arrival, median",
        ...summedUp("ms", latencies, median),
        ...{ better: "less", aim: null },
        detail: `p99 ${quantile(latencies, 0.99)} ms`,
      },
    ];
  } finally {
    await callbacks.stop();
    await queues.close();
    outbound.close();
    await receiver.terminate();
  }
};

const draft = (id: string, lane: string): Callback => ({
  endpoint: ENDPOINT,
  lane,
  id,
  type: "transfer_event",
  body: { id, padding: PADDING },
});

const send = (database: Database, callbacks: readonly Callback[]) =>
  database.transaction((tx) => enqueueCallbacks(tx, callbacks));

/** Enqueues everything; returns deliveries per second until all is recorded. */
const deliverAll = async (database: Database, name: string, count: number, lanes: number) => {
  const all = Array.from({ length: count }, (_, n) =>
    draft(`${name}_${n}`, `${name}-${n % lanes}`),
  );
  const started = performance.now();
  await send(database, all);
  for (;;) {
    const [row] = await database.sql<{ some: boolean }[]>`
      select exists (select 1 from callback_messages where status = 'pending') as some`;
    if (!row?.some) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return (count / (performance.now() - started)) * 1_000;
};

/** One loop per concurrent lane: post, then mark one row. */
const postBare = async (database: Database, url: string, count: number) => {
  const outbound = openOutbound({ policy: POLICY });
  const { sql } = database;
  await sql`create table if not exists bench_bare (id text primary key, done boolean not null)`;
  await sql`insert into bench_bare select 'bare_' || n, false from generate_series(0, ${count - 1}::int) n`;
  let next = 0;
  const loop = async () => {
    for (;;) {
      const id = `bare_${next}`;
      next += 1;
      if (next > count) return;
      const body = Buffer.from(JSON.stringify({ id, padding: PADDING }));
      await outbound.post({
        url,
        headers: { "content-type": "application/json", "x-watch": "no" },
        body,
      });
      await sql`update bench_bare set done = true where id = ${id}`;
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: CONCURRENCY }, loop));
  const perSecond = (count / (performance.now() - started)) * 1_000;
  await sql`drop table bench_bare`;
  outbound.close();
  return perSecond;
};
