/**
 * A whole deployment under load, in which everything can be broken: the ledger, Postgres, Redis, the ways between,
 * and the processes that operators run: `start`, which indexes and serves, an `index` beside it, and a `serve`.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateKeyPair } from "../../client/index.ts";
import { connect } from "../../src/database/connect.ts";
import { migrate } from "../../src/database/migrate.ts";
import { createKey, registerPublicKey } from "../../src/http/keys.ts";
import { breakableWay } from "../database/outage.ts";
import { freePort, redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { randomFrom } from "../random.ts";
import { temporaryFolder } from "../service/process.ts";
import { watchAnswers } from "./answers.ts";
import { watchHealth } from "./health-watch.ts";
import { startLoad } from "./load.ts";
import { watchMarks } from "./marks.ts";
import { operate } from "./operated.ts";
import { startPostgres } from "./postgres.ts";
import { CHAIN_PROJECT, serveChain } from "./served-chain.ts";
import { serveLedger } from "./served-ledger.ts";

export const ASSET = "acme-sui";
const START_MS = 180_000;
/**
 * `/health` promises a minute, and looks once a second; the sources are still heard until the last answer that was under
 * way, and marks are looked at ten times a second on a busy machine.
 */
const STANDS_STILL_MS = 60_000 + 3_000;

export type World = Awaited<ReturnType<typeof startWorld>>;
export type Way = Awaited<ReturnType<typeof breakableWay>>;

/** A Redis that comes back at the same address, empty. */
const startRestartable = async (path: string) => {
  let server = await startRedis(path);
  const { url, port } = server;
  return {
    url,
    kill: () => server.stop(),
    start: async () => {
      server = await startRedis(path, port);
    },
    [Symbol.asyncDispose]: () => server.stop(),
  };
};

export const startWorld = async (seed: number) => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const at = (name: string) => join(folder.path, name);
  const postgres = opened.use(await startPostgres(at("postgres")));
  const ledger = opened.use(await serveLedger(at("ledger"), seed));
  const chain = opened.use(await serveChain());
  const redisPath = await redisServerPath();
  const redis = redisPath === undefined ? undefined : opened.use(await startRestartable(redisPath));

  const wayToNode = opened.use(await breakableWay(`http://${ledger.taking.host}`));
  const wayToRedis = redis && opened.use(await breakableWay(redis.url));

  // Past all that is broken: what is true is read from here.
  const database = opened.use(connect({ url: postgres.url, max: 4, applicationName: "chaos" }));
  await migrate(database);
  const load = opened.use(await startLoad(randomFrom(seed)));
  const keys = generateKeyPair();
  await registerPublicKey(database, {
    publicKey: keys.publicKey,
    asset: ASSET,
    requireBound: true,
  });

  const assetsFile = at("assets.json");
  const token = {
    ...{ name: ASSET, ledger: "sui", coinType: ledger.coinType, whitelistGroupId: 1 },
    ta: { callbackUrl: load.receiver.url },
  };
  await writeFile(
    assetsFile,
    JSON.stringify({ projects: [{ name: "acme", tokens: [token] }, chain.project] }),
  );
  const settings = {
    LEDGER_SOURCE: `grpc+http://${ledger.node.host} ${ledger.store.base.href}`,
    SECURITY_TOKEN_PACKAGES: ledger.packages[0] ?? "",
    FIRST_CHECKPOINT: "0",
    ASSETS_FILE: assetsFile,
    TA_NODE: wayToNode.url.replace("http://", "grpc+http://").replace(/\/$/, ""),
    TA_SUI_KEY: ledger.secretKey,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    PII_KEYS: `chaos:${randomBytes(32).toString("base64")}`,
    ALLOW_PRIVATE_CALLBACKS: "true",
    CALLBACK_RETRY_SECONDS: Array.from({ length: 40 }, (_, n) => (n < 10 ? "1" : "10")).join(),
    RATE_LIMIT_PER_MINUTE: "1000000",
    LOG_FORMAT: "json",
    LOG_LEVEL: "warn",
    ...(wayToRedis && { REDIS_URL: wayToRedis.url }),
  };
  /** One process with a way of its own to Postgres. */
  const run = async (name: string, args: readonly string[]) => {
    await using own = new AsyncDisposableStack();
    const way = own.use(await breakableWay(postgres.url));
    const port = await freePort();
    const dataDir = at(name);
    await mkdir(dataDir, { recursive: true });
    const process = own.use(
      operate(name, args, {
        ...settings,
        DATABASE_URL: way.url,
        DATA_DIR: dataDir,
        PORT: `${port}`,
      }),
    );
    const all = own.move();
    return {
      ...process,
      way,
      url: `http://127.0.0.1:${port}`,
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    };
  };
  const start = opened.use(await run("start", ["start"]));
  const index = opened.use(await run("index", ["index"]));
  const serve = opened.use(await run("serve", ["serve"]));

  const marks = opened.use(watchMarks(database));
  const standsStill = () => {
    // Health is ok as soon as the sources answer again, a moment before the register moves.
    const stillMs = performance.now() - Math.max(marks.movedMs(), ledger.behavedMs());
    return stillMs < STANDS_STILL_MS || marks.lowest() > ledger.newest()
      ? undefined
      : `the register stood still for ${Math.round(stillMs / 1_000)} s`;
  };
  const health = {
    start: opened.use(watchHealth(start.url, standsStill)),
    serve: opened.use(watchHealth(serve.url, standsStill)),
  };
  await until(
    "a register at the ledger's end",
    () => [marks.lowest(), ledger.newest(), start.logged().slice(-2_000)] as const,
    ([lowest, newest]) => lowest >= newest,
    START_MS,
  );
  await until(
    "health that is ok",
    () => [health.start.last(), health.serve.last()],
    (seen) => seen.every(({ status }) => status === "ok"),
    START_MS,
  );
  const reader = await createKey(database, { kind: "graphql" });
  const project = await createKey(database, { kind: "project", subject: CHAIN_PROJECT });
  const answers = opened.use(watchAnswers([start.url, serve.url], reader.secret));
  const agent = load.begin({ url: serve.url, secretKey: keys.secretKey });

  /** The process that holds a writer's lock; undefined while none of these does. */
  const holder = async (lock: string, among: readonly (typeof start)[] = [start, index]) => {
    const key = createHash("sha256").update(`holderbook writer ${lock}`).digest();
    const [row] = await database.sql<{ port: number }[]>`
      select a.client_port as port from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and l.classid = ${key.readUInt32BE(0)}::int8::oid and l.objid = ${key.readUInt32BE(4)}::int8::oid`;
    return among.find(({ way }) => row !== undefined && way.ports().includes(row.port));
  };
  /** How many writers of a process hold their lock, or ask for it. */
  const writersOf = async ({ way }: typeof start) => {
    const ports = way.ports();
    const rows = await database.sql<{ port: number }[]>`
      select client_port as port from pg_stat_activity a
      where query like '%pg_try_advisory_lock%'
        or exists (select 1 from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.granted)`;
    return rows.filter(({ port }) => ports.includes(port)).length;
  };
  const all = opened.move();
  return {
    ledger,
    chain,
    /** Of the chain's project. */
    projectKey: project.secret,
    postgres,
    /** Undefined where Redis is not installed; the queues are in Postgres then. */
    redis: redis && wayToRedis && { ...redis, way: wayToRedis },
    wayToNode,
    /** A further indexing process, until it is disposed of. */
    runAnother: () => run("another", ["index"]),
    database,
    load,
    agent,
    processes: { start, index, serve },
    /** All ways to Postgres. */
    ways: [start.way, index.way, serve.way],
    marks,
    health,
    answers,
    holder,
    writersOf,
    settings,
    /** Of all processes, the end of what they logged. */
    logged: () =>
      [start, index, serve]
        .map(({ name, logged }) => `--- ${name}\n${logged().slice(-3_000)}`)
        .join("\n"),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};
