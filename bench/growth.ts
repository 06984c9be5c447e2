/**
 * Latency of each GraphQL query with few and with many rows. `walletRoles` and `indexerStatus` read
 * tables that do not grow with the register; `holderCounts` grows with the wallets that ever held
 * the coin, and is measured with as many of them, and with ten times as many.
 */
import { z } from "zod";
import type { Database } from "../src/database/connect.ts";
import { type Figure, median, quantile, ratioOf } from "./figure.ts";
import { emptyTable, fill, writeBasics } from "./graphql-fill.ts";
import { BUSY_WALLET, COIN, type Fill, wallet } from "./graphql-rows.ts";
import { type Question, type Server, startService } from "./graphql-servers.ts";
import { FILLS } from "./growth-fills.ts";
import { BUSY_HOLDER, GROUPS, type Kind, OF_WALLETS } from "./growth-kinds.ts";
import { askPairs, type Load, startLoad, type Times } from "./load.ts";
import { scratchPostgres } from "./start.ts";

const FEW = 10_000;
const MANY = 10_000_000;
const AIM = 1.5;
const LIMIT = 10;

const ROUNDS = 5;
/** Requests per kind, round and number of rows. */
const OF_A_KIND = 100;

/** Wallets that ever held, for `holderCounts`, and requests of it in a round: its time grows with them. */
const [WALLETS, MORE_WALLETS, OF_COUNTS] = [2_000, 20_000, 5];

/** A service over a separate database with tables of the size `count`. */
type Served = { readonly database: Database; readonly service: Server; readonly count: number };

/**
 * Fills, measures and empties one group of tables after the other.
 * @param rows a power of ten; default: ten million, for which 40 GB should be free below the
 * temporary folder
 */
export const bench = async (rows = String(MANY)): Promise<readonly Figure[]> => {
  const many = Number(rows);
  if (!/^10+$/.test(rows) || many <= FEW) {
    throw new Error(
      `growth takes a power of ten above ${FEW}, such as growth=1000000; got ${rows}`,
    );
  }
  await using load = startLoad();
  await using smallScratch = await scratchPostgres();
  await using largeScratch = await scratchPostgres();
  for (const { database } of [smallScratch, largeScratch]) await writeBasics(database, []);
  await using smallService = await startService(smallScratch, {}, true);
  await using largeService = await startService(largeScratch, {}, true);
  const both = [
    { database: smallScratch.database, service: smallService, count: FEW },
    { database: largeScratch.database, service: largeService, count: many },
  ] as const;
  await fillEach(both, "log_blocks", FILLS.blocks);
  const figures: Figure[] = [];
  for (const { name, fills, kinds } of GROUPS) {
    await fillEach(both, name, fills);
    for (const kind of kinds) {
      figures.push(figureOf(kind.label, many, await measure(load, kind, both)));
      process.stderr.write(`${kind.label}\n`);
    }
    await emptyEach(both, fills);
  }
  const wallets = [
    { ...both[0], count: WALLETS },
    { ...both[1], count: MORE_WALLETS },
  ] as const;
  await fillEach(wallets, OF_WALLETS.label, OF_WALLETS.fills);
  return [...figures, figureOfWallets(await measure(load, OF_WALLETS, wallets, OF_COUNTS))];
};

/** Fills the tables, and gives the busiest wallet to its holder. */
const fillEach = async (
  both: readonly Served[],
  name: string,
  fills: readonly Fill[],
): Promise<void> => {
  const began = performance.now();
  for (const { database, count } of both) {
    for (const one of fills) await fill(database, one, count);
    await database.sql`
      insert into holder_events
        (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms, holder_id, address)
      values (${COIN}, 0, 'holder_address_added', 'digest', 0, 0, ${BUSY_HOLDER}, ${wallet(BUSY_WALLET)})
      on conflict do nothing`;
  }
  const took = Math.round((performance.now() - began) / 1_000);
  process.stderr.write(`${name}: filled in ${took} s\n`);
};

const emptyEach = async (both: readonly Served[], fills: readonly Fill[]): Promise<void> => {
  for (const { database } of both) {
    for (const { table } of fills) await emptyTable(database, table);
  }
};

const measure = async (
  load: Load,
  kind: Kind,
  [small, large]: readonly [Served, Served],
  requests = OF_A_KIND,
): Promise<Times> => {
  for (const { service, count } of [small, large]) {
    const answer = await service.ask(questionOf(kind, 0.5, count));
    const { success } = answered.safeParse(JSON.parse(answer));
    if (!success) throw new Error(`${kind.label} found nothing: ${answer}`);
  }
  const callTo =
    ({ service, count }: Served) =>
    (at: number) =>
      service.call(questionOf(kind, at, count));
  const pair = { few: callTo(small), many: callTo(large) };
  const [times] = await askPairs(load, [pair], { rounds: ROUNDS, requests });
  return times ?? { few: [], many: [] };
};

/** Rows, of a list, a connection, a history or a wallet. */
const rowsFound = z.array(z.unknown()).nonempty();

const answered = z.strictObject({
  data: z.record(
    z.string(),
    z.union([
      rowsFound,
      z.looseObject({
        edges: rowsFound.optional(),
        history: rowsFound.optional(),
        rows: rowsFound.optional(),
      }),
    ]),
  ),
});

const OF_ALL_COINS: ReadonlySet<string> = new Set(["transaction", "wallet", "search"]);
const WITHOUT_LIMIT: ReadonlySet<string> = new Set([
  ...["transaction", "wallet", "tokenBalance", "holder", "supply", "holderCounts"],
]);

/** `at`: from 0 to below 1, the place among `count` rows. */
const questionOf = ({ name, ask }: Kind, at: number, count: number): Question => ({
  name,
  variables: {
    ...(OF_ALL_COINS.has(name) ? {} : { coinType: COIN }),
    ...(WITHOUT_LIMIT.has(name) ? {} : { [limitOf(name)]: LIMIT }),
    ...ask(Math.floor(at * count), count),
  },
});

const limitOf = (name: string) => (name.endsWith("Connection") ? "first" : "limit");

const counted = (rows: number): string => rows.toLocaleString("en");

const KINDS = GROUPS.flatMap(({ kinds }) => kinds).length;

const figureOf = (name: string, rows: number, times: Times): Figure => ({
  ...{ name, better: "less", aim: AIM },
  what: `GraphQL: p50 with ${counted(rows)} rows / with ${counted(FEW)}, ${KINDS} kinds of request`,
  ...ratioAndDetail(times, OF_A_KIND),
});

const figureOfWallets = (times: Times): Figure => ({
  ...{ name: OF_WALLETS.label, better: "less", aim: null },
  what: `GraphQL: \`holderCounts\`, p50 with ${counted(MORE_WALLETS)} wallets that ever held / with ${counted(WALLETS)}`,
  ...ratioAndDetail(times, OF_COUNTS),
});

const ratioAndDetail = ({ few, many }: Times, requests: number) => ({
  ...ratioOf("ms", byRound(many, requests), byRound(few, requests)),
  detail: `p99 ${quantile(many, 0.99).toFixed(2)} / ${quantile(few, 0.99).toFixed(2)} ms`,
});

/** The median of each. */
const byRound = (times: readonly number[], requests: number): readonly number[] =>
  Array.from({ length: ROUNDS }, (_, n) => median(times.slice(n * requests, (n + 1) * requests)));
