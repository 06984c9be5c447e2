/**
 * The transfer events API: requests per second beside a bare fastify handler that runs the same SQL and
 * sends the rows, and the slowest percent of requests with few records and with many.
 */
import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import fastify from "fastify";
import pino from "pino";
import type { Database } from "../src/database/connect.ts";
import { watchHealth } from "../src/http/health.ts";
import { createKey } from "../src/http/keys.ts";
import { createMetrics } from "../src/http/metrics.ts";
import { databaseProgress } from "../src/http/progress.ts";
import { createRateLimit } from "../src/http/rate-limit.ts";
import { createServer } from "../src/http/server.ts";
import { transferEvents } from "../src/projections/transfer-events.ts";
import { LIST_PATH } from "../src/rest/names.ts";
import { restPart } from "../src/rest/part.ts";
import type { ProjectToken } from "../src/rest/projects.ts";
import { type Figure, quantile } from "./figure.ts";
import { type Scratch, scratchPostgres } from "./scratch-postgres.ts";

const CHAIN = 43_113;
const TOKEN = "00000000000000000000000000000000000acce5";
const ROUNDS = 3;
const ROUND_MS = 2_000;
const CONNECTIONS = 16;

const LOAD = `
  const { Agent, request } = require("node:http");
  const { parentPort } = require("node:worker_threads");
  parentPort.on("message", ({ urls, key, forMs, connections }) => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections });
    const until = performance.now() + forMs;
    const latencies = [];
    let failed = 0;
    const loop = (n) => new Promise((done) => {
      const again = () => {
        if (performance.now() >= until) return done();
        const began = performance.now();
        request(urls[n++ % urls.length], { agent, headers: { "x-project-api-key": key } }, (answer) => {
          if (answer.statusCode !== 200) failed += 1;
          answer.resume().on("end", () => { latencies.push(performance.now() - began); again(); });
        }).on("error", () => { failed += 1; again(); }).end();
      };
      again();
    });
    Promise.all(Array.from({ length: connections }, (_, n) => loop(n * 17))).then(() => {
      agent.destroy();
      parentPort.postMessage({ latencies, failed });
    });
  });`;

/** Measures with `few` records, then with `many` of them. */
export const restBench = async ({
  few = 10_000,
  many = 1_000_000,
} = {}): Promise<readonly Figure[]> => {
  await using small = await records(few);
  await using large = await records(many);
  await using servers = await openServers(small.database);
  await using others = await openServers(large.database);
  const load = loadGenerator();
  try {
    const page = [`${LIST_PATH}?limit=100`];
    const ours: number[] = [];
    const bare: number[] = [];
    const tails: { few: number[]; many: number[] } = { few: [], many: [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      bare.push((await load.run(servers, servers.bare, page)).perSecond);
      ours.push((await load.run(servers, servers.ours, page)).perSecond);
      tails.few.push(await slowest(load, servers, few));
      tails.many.push(await slowest(load, others, many));
      // The first round warms everything up.
      if (round === 0) for (const each of [ours, bare, tails.few, tails.many]) each.length = 0;
    }
    const [our, their] = [quantile(ours, 0.5), quantile(bare, 0.5)];
    const [ofFew, ofMany] = [quantile(tails.few, 0.5), quantile(tails.many, 0.5)];
    return [
      {
        name: "Transfer events over REST, beside a bare fastify handler running the same SQL",
        reached: (our / their).toFixed(2),
        aim: "0.7",
        detail: `pages of 100 records, ${CONNECTIONS} connections: ${Math.round(our)}/s beside ${Math.round(their)}/s, medians of ${ROUNDS} rounds in turn; ours checks the key, counts it against its limit and prints records`,
      },
      {
        name: `p99 of transfer events over REST, ${many} records beside ${few}`,
        reached: `${(ofMany / ofFew).toFixed(2)} times`,
        aim: "about 1",
        detail: `${ofFew.toFixed(1)} ms with ${few} records, ${ofMany.toFixed(1)} ms with ${many}: pages of 10 anywhere in the list, by recipient and by transaction; medians of ${ROUNDS} rounds in turn`,
      },
    ];
  } finally {
    await load.close();
  }
};

/** p99 over pages anywhere in the list and behind both filters, ms. */
const slowest = async (load: Load, servers: Servers, count: number): Promise<number> => {
  const paths = Array.from({ length: 199 }, (_, n) => {
    const place = Math.floor((n / 199) * count);
    const id = 1_000_000_000_000n + BigInt(place);
    const filters = [
      `after_id=${id}`,
      `order=desc&after_id=${id}`,
      `recipient_address=0x${(place % 5_000).toString(16).padStart(40, "0")}`,
      `tx_hash=0x${place.toString(16).padStart(64, "0")}`,
    ];
    return `${LIST_PATH}?limit=10&${filters[n % 4]}`;
  });
  return quantile((await load.run(servers, servers.ours, paths)).latencies, 0.99);
};

type Load = ReturnType<typeof loadGenerator>;

/** Asks from a thread of its own. */
const loadGenerator = () => {
  const worker = new Worker(LOAD, { eval: true });
  return {
    run: async ({ key }: Servers, origin: string, paths: readonly string[]) => {
      const urls = paths.map((path) => `${origin}${path}`);
      const answer = new Promise<{ latencies: number[]; failed: number }>((resolve) => {
        worker.once("message", resolve);
      });
      worker.postMessage({ urls, key, forMs: ROUND_MS, connections: CONNECTIONS });
      const { latencies, failed } = await answer;
      if (failed > 0) throw new Error(`${failed} requests to ${origin} failed`);
      return { latencies, perSecond: (latencies.length / ROUND_MS) * 1_000 };
    },
    close: () => worker.terminate(),
  };
};

type Servers = Awaited<ReturnType<typeof openServers>>;

const openServers = async (database: Database) => {
  const token: ProjectToken = {
    name: "bench-token",
    network: "avalanche_fuji",
    chainId: CHAIN,
    type: "comakery_security_token_v4",
    groups: { "1": "Reg A" },
    schedules: {},
    address: `0x${TOKEN}`,
  };
  const limit = (policy: string) =>
    createRateLimit({ policy, quota: 1_000_000_000, windowSeconds: 60 });
  const health = watchHealth({
    progress: databaseProgress(database.db, []),
    version: "bench",
    onError: () => undefined,
    observeEveryMs: 0,
  });
  const { db } = database;
  const server = await createServer({
    parts: [
      restPart({
        db,
        projects: [{ name: "bench", callbackUrl: undefined, tokens: [token] }],
        version: "bench",
        limits: { limit: limit("default"), attempts: limit("attempts") },
      }),
    ],
    logger: pino({ level: "warn" }),
    version: "bench",
    health,
    metrics: createMetrics(health),
    unready: async () => null,
    trustProxy: false,
  });
  const bare = fastify();
  bare.get(LIST_PATH, () => transferEvents(db, { project: "bench", order: "asc", limit: 100 }));
  const where = { port: 0, host: "127.0.0.1" };
  const { secret: key } = await createKey(database, { kind: "project", subject: "bench" });
  return {
    key,
    ours: await server.listen(where),
    bare: await bare.listen(where),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await bare.close();
      await health[Symbol.asyncDispose]();
    },
  };
};

/** A database of its own with that many records. */
const records = async (count: number): Promise<Scratch> => {
  const scratch = await scratchPostgres();
  await seedToken(scratch.database);
  await seed(scratch.database, 0, count);
  return scratch;
};

const seedToken = async ({ sql }: Database) => {
  await sql`
    insert into evm_tokens
      (chain_id, address, first_block, next_block, name, symbol, decimals, described_at)
    values (${CHAIN}, decode(${TOKEN}, 'hex'), 0, 0, 'Bench Shares', 'BNCH', 18, now())`;
};

/** Records `from` to below `to`: 5,000 recipients, a transaction of its own for each. */
const seed = async ({ sql }: Database, from: number, to: number) => {
  const salt = randomBytes(20);
  await sql`
    insert into transfer_events (project, id, chain_id, block, block_timestamp, log_index, tx_hash,
      token, method_name, amount, sender, recipient, sender_group, recipient_group)
    select 'bench', 1000000000000 + n, ${CHAIN}, n / 100, 1700000000 + n / 100, n % 100,
           decode(lpad(to_hex(n), 64, '0'), 'hex'), decode(${TOKEN}, 'hex'), 'transfer',
           n::numeric * 1000000000000000000, ${salt},
           decode(lpad(to_hex(n % 5000), 40, '0'), 'hex'), 1, 0
    from generate_series(${from}::int4, ${to - 1}::int4) as n`;
  await sql`vacuum analyze transfer_events`;
};
