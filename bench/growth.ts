/**
 * Latency of each GraphQL query with few and with many rows. `walletRoles` and `indexerStatus` read
 * tables that do not grow with the register.
 */
import { z } from "zod";
import type { Database } from "../src/database/connect.ts";
import { type Figure, median, quantile, ratioOf } from "./figure.ts";
import { emptyTable, fillTable, writeBasics } from "./graphql-fill.ts";
import {
  BUSY_OBJECTS,
  BUSY_WALLET,
  COIN,
  checkpointOfRow,
  digestOfRow,
  GROWING_WITH_PAST,
  type GrowingTable,
  holderPlace,
  ownerOfObject,
  positionOfRow,
  RARE_CAUSE,
  RARE_TYPE,
  secondOfRow,
  wallet,
} from "./graphql-rows.ts";
import {
  type QueryName,
  type Question,
  type Server,
  startService,
  type Variables,
} from "./graphql-servers.ts";
import { askPairs, type Load, startLoad, type Times } from "./load.ts";
import { scratchPostgres } from "./start.ts";

const FEW = 10_000;
const MANY = 10_000_000;
const AIM = 1.5;
const LIMIT = 10;

const ROUNDS = 5;
/** Requests per kind, round and number of rows. */
const OF_A_KIND = 100;

/** A kind of request: arguments for a row of `count`, from 0, different in every request. */
type Kind = {
  readonly label: string;
  readonly name: QueryName;
  readonly ask: (row: number, count: number) => Variables;
};

const pages = (name: QueryName): readonly Kind[] => [
  { label: `${name}, first page`, name, ask: () => ({}) },
  {
    label: `${name}, after a position`,
    name,
    ask: (row) => ({ after: String(positionOfRow(row)) }),
  },
];

const pagesInTime = (name: QueryName): readonly Kind[] => [
  ...pages(name),
  {
    label: `${name}, since a second`,
    name,
    ask: (row) => ({ sinceTimestamp: String(secondOfRow(row)) }),
  },
  {
    label: `${name}, since a second and after a position`,
    name,
    ask: (row) => ({
      sinceTimestamp: String(secondOfRow(Math.floor(row / 2))),
      after: String(positionOfRow(row)),
    }),
  },
];

/** Holdings of an owner of four objects, or of most. */
const ofOwners = (name: QueryName): readonly Kind[] => [
  {
    label: `${name}, an owner of four`,
    name,
    ask: (row, count) => ({
      owner: ownerOfObject(BUSY_OBJECTS + Math.floor((row / count) * (count - BUSY_OBJECTS))),
    }),
  },
  {
    label: `${name}, the owner of ${BUSY_OBJECTS}`,
    name,
    ask: () => ({ owner: ownerOfObject(0) }),
  },
];

/** The holder of the wallet with a quarter of all movements. */
const BUSY_HOLDER = 1;

/** Filters of a list, alone and together, in both orders; `placeOf` makes the argument `after`. */
const filtered = (
  name: QueryName,
  rareType: string,
  placeOf: (row: number) => string,
): readonly Kind[] => {
  const types = [rareType];
  const busy = wallet(BUSY_WALLET);
  const filters: Readonly<Record<string, (row: number) => Variables>> = {
    "a rare type": () => ({ types }),
    "a wallet of few rows": (row) => ({ owner: wallet(Math.floor(row / 4)) }),
    "the busiest wallet": () => ({ owner: busy }),
    "a rare type of the busiest wallet": () => ({ owner: busy, types }),
    "the busiest holder": () => ({ holderId: String(BUSY_HOLDER) }),
    "a rare type of the busiest holder": () => ({ holderId: String(BUSY_HOLDER), types }),
  };
  return Object.entries(filters).flatMap(([what, filter]) => [
    { label: `${name}, ${what}`, name, ask: filter },
    {
      label: `${name}, ${what}, newest first`,
      name,
      ask: (row) => ({ ...filter(row), order: "DESC" }),
    },
    ...(what.endsWith("few rows")
      ? []
      : [
          {
            label: `${name}, ${what}, newest first, in a range, after a row`,
            name,
            ask: (row: number, count: number) => ({
              ...filter(row),
              order: "DESC",
              after: placeOf(Math.floor(count / 4 + row / 2)),
              toCheckpoint: String(checkpointOfRow(count)),
              fromCheckpoint: String(checkpointOfRow(0)),
            }),
          },
        ]),
  ]);
};

/** Filters of the register's events. */
const ofRegister: readonly Kind[] = [
  {
    label: "holderEvents, a wallet",
    name: "holderEvents",
    ask: (row) => ({ owner: wallet(Math.floor(row / 7)) }),
  },
  {
    label: "holderEvents, a holder",
    name: "holderEvents",
    ask: (row) => ({ holderId: String(Math.floor(row / 7)), order: "DESC" }),
  },
  {
    label: "holderEvents, of a type, newest first, after a position",
    name: "holderEvents",
    ask: (row) => ({
      types: ["address_frozen"],
      order: "DESC",
      after: String(positionOfRow(row)),
    }),
  },
];

const KINDS: Readonly<Record<GrowingTable, readonly Kind[]>> = {
  token_activity: [
    ...pages("tokenActivity"),
    {
      label: "tokenActivity, newest first",
      name: "tokenActivity",
      ask: () => ({ order: "DESC" }),
    },
    {
      label: "tokenActivity, newest first, after a position",
      name: "tokenActivity",
      ask: (row) => ({ order: "DESC", after: String(positionOfRow(row)) }),
    },
    { label: "transaction", name: "transaction", ask: (row) => ({ digest: digestOfRow(row) }) },
    ...filtered("tokenActivity", RARE_TYPE, (row) => String(positionOfRow(row))),
  ],
  token_changes: [
    {
      label: "wallet",
      name: "wallet",
      ask: (row) => ({ address: wallet(Math.floor(row / 4)) }),
    },
    ...filtered("balanceChanges", RARE_CAUSE, (row) => `${positionOfRow(row)}:${wallet(0)}:TOKENS`),
  ],
  balances: [
    { label: "tokenBalance", name: "tokenBalance", ask: (row) => ({ owner: wallet(row) }) },
    { label: "tokenHolders, first page", name: "tokenHolders", ask: () => ({}) },
    {
      label: "tokenHolders, after a holder",
      name: "tokenHolders",
      ask: (row, count) => ({ after: holderPlace(row, count) }),
    },
  ],
  shared_token_objects: ofOwners("tokenObjects"),
  timelock_objects: [
    { label: "tokenTimelocks of the coin", name: "tokenTimelocks", ask: () => ({}) },
    ...ofOwners("tokenTimelocks"),
  ],
  holder_events: [
    ...pagesInTime("holderEvents"),
    // Of seven rows the first adds a wallet.
    {
      label: "holder",
      name: "holder",
      ask: (row) => ({ holderId: String(Math.floor(row / 7)) }),
    },
    ...ofRegister,
  ],
  role_events: [
    ...pagesInTime("roleEvents"),
    {
      label: "roleEvents, an owner, newest first",
      name: "roleEvents",
      ask: (row) => ({ owner: wallet(row % 1_000), order: "DESC" }),
    },
  ],
};

/** A service over a separate database with `count` rows in the measured table. */
type Served = { readonly database: Database; readonly service: Server; readonly count: number };

/**
 * Fills, measures and empties one table after the other.
 * @param rows a power of ten; default: ten million, for which 15 GB should be free below the
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
  for (const { database } of [smallScratch, largeScratch]) {
    await writeBasics(database, []);
    await database.sql`
      insert into holder_events
        (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms, holder_id, address)
      values (${COIN}, 0, 'holder_address_added', 'digest', 0, 0, ${BUSY_HOLDER}, ${wallet(BUSY_WALLET)})`;
  }
  await using smallService = await startService(smallScratch);
  await using largeService = await startService(largeScratch);
  const both = [
    { database: smallScratch.database, service: smallService, count: FEW },
    { database: largeScratch.database, service: largeService, count: many },
  ] as const;
  const figures: Figure[] = [];
  for (const table of GROWING_WITH_PAST) {
    const began = performance.now();
    for (const { database, count } of both) await fillTable(database, table, count);
    const took = Math.round((performance.now() - began) / 1_000);
    process.stderr.write(`${table}: filled in ${took} s\n`);
    for (const kind of KINDS[table]) {
      figures.push(figureOf(kind.label, many, await measure(load, kind, both)));
      process.stderr.write(`${kind.label}\n`);
    }
    for (const { database } of both) await emptyTable(database, table);
  }
  return figures;
};

const measure = async (
  load: Load,
  kind: Kind,
  [small, large]: readonly [Served, Served],
): Promise<Times> => {
  for (const { service, count } of [small, large]) {
    answered.parse(JSON.parse(await service.ask(questionOf(kind, 0.5, count))));
  }
  const callTo =
    ({ service, count }: Served) =>
    (at: number) =>
      service.call(questionOf(kind, at, count));
  const pair = { few: callTo(small), many: callTo(large) };
  const [times] = await askPairs(load, [pair], { rounds: ROUNDS, requests: OF_A_KIND });
  return times ?? { few: [], many: [] };
};

const answered = z.strictObject({
  data: z.record(z.string(), z.union([z.array(z.unknown()).nonempty(), z.looseObject({})])),
});

const OF_ALL_COINS: ReadonlySet<string> = new Set(["transaction", "wallet"]);
const WITHOUT_LIMIT: ReadonlySet<string> = new Set([...OF_ALL_COINS, "tokenBalance", "holder"]);

/** `at`: from 0 to below 1, the place among `count` rows. */
const questionOf = ({ name, ask }: Kind, at: number, count: number): Question => ({
  name,
  variables: {
    ...(OF_ALL_COINS.has(name) ? {} : { coinType: COIN }),
    ...(WITHOUT_LIMIT.has(name) ? {} : { limit: LIMIT }),
    ...ask(Math.floor(at * count), count),
  },
});

const figureOf = (name: string, rows: number, { few, many }: Times): Figure => ({
  ...{ name, better: "less", aim: AIM },
  what: `GraphQL: p50 with ${rows.toLocaleString("en")} rows / with ${FEW.toLocaleString("en")}, ${Object.values(KINDS).flat().length} kinds of request`,
  ...ratioOf("ms", byRound(many), byRound(few)),
  detail: `p99 ${quantile(many, 0.99).toFixed(2)} / ${quantile(few, 0.99).toFixed(2)} ms`,
});

/** The median of each. */
const byRound = (times: readonly number[]): readonly number[] =>
  Array.from({ length: ROUNDS }, (_, n) => median(times.slice(n * OF_A_KIND, (n + 1) * OF_A_KIND)));
