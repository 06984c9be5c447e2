/**
 * Latency of each GraphQL query with few and with many rows. `walletRoles` and `indexerStatus` read
 * tables that do not grow with the register.
 */
import { z } from "zod";
import type { Database } from "../src/database/connect.ts";
import { columns, type Figure, median, quantile } from "./figure.ts";
import { emptyTable, fillTable, writeBasics } from "./graphql-fill.ts";
import {
  BUSY_OBJECTS,
  COIN,
  GROWING,
  type GrowingTable,
  holderPlace,
  ownerOfObject,
  positionOfRow,
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
import { askPairs, type Load, startLoad } from "./load.ts";
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
  holder_events: pagesInTime("holderEvents"),
  role_events: pagesInTime("roleEvents"),
};

/** A service over a separate database with `count` rows in the measured table. */
type Served = { readonly database: Database; readonly service: Server; readonly count: number };

type Grown = {
  readonly label: string;
  readonly few: readonly number[];
  readonly many: readonly number[];
};

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
  for (const { database } of [smallScratch, largeScratch]) await writeBasics(database, []);
  await using smallService = await startService(smallScratch);
  await using largeService = await startService(largeScratch);
  const both = [
    { database: smallScratch.database, service: smallService, count: FEW },
    { database: largeScratch.database, service: largeService, count: many },
  ] as const;
  const grown: Grown[] = [];
  for (const table of GROWING) {
    const began = performance.now();
    for (const { database, count } of both) await fillTable(database, table, count);
    const took = Math.round((performance.now() - began) / 1_000);
    process.stderr.write(`${table}: filled in ${took} s\n`);
    for (const kind of KINDS[table]) {
      const measured = await measure(load, kind, both);
      process.stderr.write(`${kind.label}: ${growthOf(measured).toFixed(2)}\n`);
      grown.push(measured);
    }
    for (const { database } of both) await emptyTable(database, table);
  }
  const within = grown.filter((kind) => growthOf(kind) <= AIM);
  return [
    {
      name: `GraphQL queries: p50 with ${many} rows beside ${FEW}`,
      reached: `${within.length} of ${grown.length} kinds of request within the aim`,
      aim: `at most ${AIM} times`,
      detail: [
        `pages of ${LIMIT}, ${ROUNDS * OF_A_KIND} requests of each kind and number, one at a time and in turn; many / few:`,
        ...tableOf(grown),
      ].join("\n  "),
    },
  ];
};

const measure = async (
  load: Load,
  kind: Kind,
  [small, large]: readonly [Served, Served],
): Promise<Grown> => {
  for (const { service, count } of [small, large]) {
    answered.parse(JSON.parse(await service.ask(questionOf(kind, 0.5, count))));
  }
  const callTo =
    ({ service, count }: Served) =>
    (at: number) =>
      service.call(questionOf(kind, at, count));
  const pair = { few: callTo(small), many: callTo(large) };
  const [times] = await askPairs(load, [pair], { rounds: ROUNDS, requests: OF_A_KIND });
  return { label: kind.label, few: times?.few ?? [], many: times?.many ?? [] };
};

const answered = z.strictObject({
  data: z.record(z.string(), z.union([z.array(z.unknown()).nonempty(), z.looseObject({})])),
});

/** `at`: from 0 to below 1, the place among `count` rows. */
const questionOf = ({ name, ask }: Kind, at: number, count: number): Question => ({
  name,
  variables: {
    coinType: COIN,
    ...(name === "tokenBalance" ? {} : { limit: LIMIT }),
    ...ask(Math.floor(at * count), count),
  },
});

const growthOf = ({ few, many }: Grown): number => median(many) / median(few);

const tableOf = (grown: readonly Grown[]): readonly string[] => {
  const pair = ({ few, many }: Grown, share: number) =>
    `${quantile(many, share).toFixed(2)} / ${quantile(few, share).toFixed(2)}`;
  return columns([
    ["request", "p50 grew", "", "p50 ms", "p99 ms"],
    ...grown.map((kind) => [
      kind.label,
      growthOf(kind).toFixed(2),
      growthOf(kind) > AIM ? "above" : "",
      pair(kind, 0.5),
      pair(kind, 0.99),
    ]),
  ]);
};
