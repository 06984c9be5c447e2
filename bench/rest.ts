/**
 * The transfer events API: requests per second beside a bare fastify handler with the same SQL; and
 * latency by kind of request with few and with many records.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import fastify from "fastify";
import { createReaders, read } from "../src/database/readers.ts";
import { createRateLimit } from "../src/http/edge/rate-limit.ts";
import { createKey } from "../src/http/keys.ts";
import { createLogger } from "../src/logging/logger.ts";
import { LIST_PATH, restPart } from "../src/rest/part.ts";
import { pageStatement } from "../src/transfers/list-page.ts";
import { remedyOf } from "../src/waiting/remedy.ts";
import { type Figure, inTurn, quantile, ratioOf } from "./figure.ts";
import { askPairs, type Call, callOf, type Load, startLoad } from "./load.ts";
import { serveParts } from "./parts-server.ts";
import { benchTokens, type KnownRecords, PROJECT, writeRecords } from "./rest-records.ts";
import { type Scratch, scratchPostgres } from "./start.ts";

const FEW = 10_000;
const MANY = 10_000_000;
/** As many as the bare handler has. */
const READERS = 8;

const RATE_ROUNDS = 5;
const RATE_ROUND_MS = 2_000;
const CONNECTIONS = 16;

const ROUNDS = 50;
/** Requests per kind, round and number of records. */
const OF_A_KIND = 100;

const FAST_PATH = "fast-path";

/**
 * Query strings by kind. `at`: from 0 to below 1, the place in the list, different in every
 * request.
 */
const KINDS: Readonly<Record<string, (records: KnownRecords, at: number) => string>> = {
  "first page": () => "",
  "page from the middle": (records, at) => `after_id=${placeIn(records, 0.25 + at / 2)}`,
  "newest first": () => "order=desc",
  "newest first, from the middle": (records, at) =>
    `order=desc&after_id=${placeIn(records, 0.25 + at / 2)}`,
  "recipient with 4 records": ({ wallet, wallets }, at) =>
    `recipient_address=${wallet(Math.floor(at * wallets))}`,
  "recipient with three eighths of all, from anywhere": (records, at) =>
    `recipient_address=${records.busyWallet}&after_id=${placeIn(records, at * 0.7)}`,
  "the same, newest first": (records, at) =>
    `recipient_address=${records.busyWallet}&order=desc&after_id=${placeIn(records, 0.3 + at * 0.7)}`,
  "the same, nothing new": (records, at) =>
    `recipient_address=${records.busyWallet}&after_id=${placeIn(records, 0.75 + at / 4)}`,
  transaction: ({ txHash, count }, at) => `tx_hash=${txHash(Math.floor(at * count))}`,
};

const placeIn = ({ before, count }: KnownRecords, share: number): bigint =>
  before(Math.floor(share * count));

/**
 * Takes seven minutes on two idle cores, twice that on busy ones, and 5 GB below the temporary folder.
 * @param setting `fast-path`: only the rates, with and without it, in a minute
 */
export const bench = async (setting?: string): Promise<readonly Figure[]> => {
  if (setting !== undefined && setting !== FAST_PATH) {
    throw new Error(`rest takes rest=${FAST_PATH} or no setting; got ${setting}`);
  }
  await using load = startLoad();
  await using small = await served(FEW);
  const rates = await rateFigures(load, small);
  if (setting === FAST_PATH) return rates;
  await using large = await served(MANY);
  return [...rates, ...(await timeFigures(load, small, large))];
};

type Served = AsyncDisposable & { readonly records: KnownRecords; readonly servers: Servers };

/** A separate database with that many records, and its servers. */
const served = async (count: number): Promise<Served> => {
  await using opening = new AsyncDisposableStack();
  const scratch = opening.use(await scratchPostgres());
  const records = await writeRecords(scratch.database, count);
  const servers = opening.use(await openServers(scratch));
  const opened = opening.move();
  return { records, servers, [Symbol.asyncDispose]: () => opened.disposeAsync() };
};

/** The servers over one database; calls take the list's query string. */
type Servers = AsyncDisposable & {
  ours(query: string): Call;
  withoutFastPath(query: string): Call;
  bare(query: string): Call;
};

const openServers = async ({ database, url, folder }: Scratch): Promise<Servers> => {
  await using opening = new AsyncDisposableStack();
  const log = openSync(join(folder, "rest.log"), "a");
  opening.defer(() => closeSync(log));
  // As the service logs: a line per request.
  const logger = createLogger({
    level: "info",
    remedyOf,
    write: (lines) => void writeSync(log, lines),
  });
  // Writes the buffered last lines.
  opening.defer(() => logger.flush());
  const readers = createReaders({ url, max: READERS, applicationName: "bench", readOnly: true });
  opening.defer(() => readers.close());
  const limit = (policy: string) =>
    createRateLimit({ policy, quota: 1_000_000_000, windowSeconds: 60 });
  const serve = async (hasFastPath: boolean) => {
    const part = restPart({
      keys: readers.for(undefined, 1),
      db: database.db,
      readers,
      projects: () => [{ name: PROJECT, callbackUrl: undefined, tokens: benchTokens }],
      limits: { limit: limit("default"), attempts: limit("attempts") },
    });
    const server = opening.use(await serveParts(database, { parts: [part], logger, hasFastPath }));
    return callTo(server.url);
  };
  const { secret: key } = await createKey(database, { kind: "project", subject: PROJECT });
  const callTo = (server: string) => (query: string) =>
    callOf(Number(new URL(server).port), `GET ${LIST_PATH}?${query}`, { "x-project-api-key": key });
  const [ours, withoutFastPath] = [await serve(true), await serve(false)];
  const app = fastify();
  const { text, parameters } = pageStatement({ project: PROJECT, order: "asc", limit: 100 });
  app.get(LIST_PATH, () => read(database.db, text, parameters));
  const bare = callTo(await app.listen({ port: 0, host: "127.0.0.1" }));
  opening.defer(() => app.close());
  const opened = opening.move();
  return { ours, withoutFastPath, bare, [Symbol.asyncDispose]: () => opened.disposeAsync() };
};

/** Requests per second for pages of 100 records. */
const rateFigures = async (load: Load, { servers }: Served): Promise<readonly Figure[]> => {
  const rates = await inTurn(
    RATE_ROUNDS,
    [servers.bare, servers.ours, servers.withoutFastPath].map((call) => async () => {
      const calls = [call("limit=100")];
      const work = { calls, connections: CONNECTIONS, forMs: RATE_ROUND_MS };
      return (await load.ask(work)).perSecond;
    }),
  );
  const [bare = [], ours = [], without = []] = rates;
  const what = "a bare fastify handler with the same SQL";
  return [
    {
      name: "rate",
      what: `REST: requests a second / ${what}`,
      ...ratioOf("/s", ours, bare),
      ...{ better: "more", aim: 0.9 },
      detail: `pages of 100 records, ${CONNECTIONS} connections; ours checks the key, counts it against its limit and prints records`,
    },
    {
      name: "without the fast path",
      what: `REST: requests a second without the fast path / ${what}`,
      ...ratioOf("/s", without, bare),
      ...{ better: "more", aim: null },
    },
  ];
};

const timeFigures = async (
  load: Load,
  small: Served,
  large: Served,
): Promise<readonly Figure[]> => {
  // Warms as many connections to either database, or one would be faster.
  for (const { servers } of [small, large]) {
    const calls = [servers.ours("limit=10")];
    await load.ask({ calls, connections: CONNECTIONS, forMs: RATE_ROUND_MS });
  }
  const pairs = Object.values(KINDS).map((query) => {
    const callTo =
      ({ servers, records }: Served) =>
      (at: number) =>
        servers.ours(`limit=10&${query(records, at)}`);
    return { few: callTo(small), many: callTo(large) };
  });
  const times = await askPairs(load, pairs, { rounds: ROUNDS, requests: OF_A_KIND });
  return Object.keys(KINDS).flatMap((kind, n) => {
    const { few = [], many = [] } = times[n] ?? {};
    const figure = (quantileName: string, share: number): Figure => {
      const of = (values: readonly number[]) => quantile(values, share);
      return {
        name: `${quantileName}, ${kind}`,
        what: `REST: ${quantileName} with ${MANY.toLocaleString("en")} records / with ${FEW.toLocaleString("en")}, nine kinds of request`,
        ...ratioOf("ms", [of(many)], [of(few)]),
        ...{ better: "less", aim: null },
      };
    };
    return [figure("p50", 0.5), figure("p99", 0.99)];
  });
};
