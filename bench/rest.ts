/**
 * The transfer events API: requests per second beside a bare fastify handler with the same SQL; and
 * latency by kind of request with few and with many records.
 */
import { type Figure, quantile } from "./figure.ts";
import { type Call, type Load, startLoad } from "./load.ts";
import { type KnownRecords, writeRecords } from "./rest-records.ts";
import { openServers, type Servers } from "./rest-servers.ts";
import { scratchPostgres } from "./scratch-postgres.ts";
import { somewhere } from "./somewhere.ts";

const RATE_ROUNDS = 5;
const RATE_ROUND_MS = 2_000;
const CONNECTIONS = 16;

const ROUNDS = 50;
/** Requests per kind, round and number of records. */
const OF_A_KIND = 100;

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
 * Measures `few` beside `many` records. Takes seven minutes on two idle cores, twice that on busy
 * ones, and 5 GB below the temporary folder.
 */
export const restBench = async ({
  few = 10_000,
  many = 10_000_000,
} = {}): Promise<readonly Figure[]> => {
  await using load = startLoad();
  await using small = await served(few);
  const rate = await rateFigure(load, small);
  await using large = await served(many);
  return [rate, ...(await timeFigures(load, [small, large]))];
};

type Served = AsyncDisposable & { readonly records: KnownRecords; readonly servers: Servers };

/** A separate database with that many records, and its servers. */
const served = async (count: number): Promise<Served> => {
  const opened = new AsyncDisposableStack();
  try {
    const scratch = opened.use(await scratchPostgres());
    const records = await writeRecords(scratch.database, count);
    const servers = opened.use(await openServers(scratch));
    return { records, servers, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
};

const rateFigure = async (load: Load, { servers }: Served): Promise<Figure> => {
  const over = { connections: CONNECTIONS, forMs: RATE_ROUND_MS };
  const rateOf = async (call: Call) => {
    const { millis, tookMs } = await load.rate(call, over);
    return (millis.length / tookMs) * 1_000;
  };
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round <= RATE_ROUNDS; round += 1) {
    bare.push(await rateOf(servers.bare("limit=100")));
    ours.push(await rateOf(servers.ours("limit=100")));
    // The first round is warm-up.
    if (round === 0) for (const each of [ours, bare]) each.length = 0;
  }
  const [our, their] = [quantile(ours, 0.5), quantile(bare, 0.5)];
  return {
    name: "Transfer events over REST, beside a bare fastify handler running the same SQL",
    reached: (our / their).toFixed(2),
    aim: "0.9",
    detail: `pages of 100 records, ${CONNECTIONS} connections: ${Math.round(our)}/s beside ${Math.round(their)}/s, medians of ${RATE_ROUNDS} rounds in turn; ours checks the key, counts it against its limit and prints records`,
  };
};

/**
 * One request at a time, so that none queues; record counts interleaved, so that load affects both.
 * The first round of each kind is warm-up.
 */
const timeFigures = async (
  load: Load,
  [small, large]: readonly [Served, Served],
): Promise<readonly Figure[]> => {
  const kinds = Object.entries(KINDS).map(([name, query]) => ({
    name,
    query,
    few: Array.of<number>(),
    many: Array.of<number>(),
  }));
  // Warms as many connections to either database, or one would be faster.
  for (const { servers } of [small, large]) {
    await load.rate(servers.ours("limit=10"), { connections: CONNECTIONS, forMs: RATE_ROUND_MS });
  }
  for (let round = 0; round <= ROUNDS; round += 1) {
    const asked = Array.from({ length: OF_A_KIND }, (_, n) =>
      kinds.flatMap((kind) => {
        const at = somewhere(round * OF_A_KIND + n);
        const pair = [
          { into: kind.few, on: small },
          { into: kind.many, on: large },
        ];
        return (n % 2 === 0 ? pair : pair.toReversed()).map(({ into, on }) => ({
          into,
          call: on.servers.ours(`limit=10&${kind.query(on.records, at)}`),
        }));
      }),
    ).flat();
    const millis = await load.once(asked.map(({ call }) => call));
    if (round > 0) for (const [n, { into }] of asked.entries()) into.push(millis[n] ?? Number.NaN);
  }
  return kinds.map(({ name, few, many }) => {
    const show = (values: readonly number[]) =>
      `p50 ${quantile(values, 0.5).toFixed(2)} ms, p99 ${quantile(values, 0.99).toFixed(2)} ms with`;
    const grown = (share: number) => (quantile(many, share) / quantile(few, share)).toFixed(2);
    return {
      name: `Transfer events, ${name}: p99 with ${large.records.count} records beside ${small.records.count}`,
      reached: `${grown(0.99)} times (p50 ${grown(0.5)} times)`,
      aim: "about 1",
      detail: `${show(few)} ${small.records.count} records, ${show(many)} ${large.records.count}; pages of 10, ${few.length} requests each, one at a time and in turn`,
    };
  });
};
