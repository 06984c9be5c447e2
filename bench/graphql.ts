/**
 * The nine GraphQL queries, each beside a bare handler with the same SQL and bytes, in a separate
 * process with the same Node flags and as many connections.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { columns, type Figure, inTurn, median, quantile } from "./figure.ts";
import { fillTable, writeBasics } from "./graphql-fill.ts";
import { COIN, coinOfOwners, GROWING, wallet } from "./graphql-rows.ts";
import {
  type Question,
  type Server,
  startBare,
  startService,
  type Variables,
} from "./graphql-servers.ts";
import { type Answers, type Call, type Load, startLoad } from "./load.ts";
import { processorMs } from "./processes.ts";
import { type Scratch, scratchPostgres } from "./start.ts";

const ROWS = 10_000;
const LIMITS = [10, 100];
const AIM_OF_LIMIT: Readonly<Record<number, number>> = { 10: 0.5, 100: 0.6 };
const AIM_OF_ONE = 0.5;

const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;
const ROUNDS = 3;
const ROUND_MS = 2_000;

/** `aim`: share of the bare handler's rate to reach; null: none. */
type Case = { readonly label: string; readonly question: Question; readonly aim: number | null };

const list = (name: Question["name"], variables: Variables = {}): readonly Case[] =>
  LIMITS.map((limit) => ({
    label: `${name} ${limit}`,
    question: { name, variables: { coinType: COIN, ...variables, limit } },
    aim: AIM_OF_LIMIT[limit] ?? null,
  }));

const CASES: readonly Case[] = [
  { label: "__typename", question: { name: "__typename", variables: {} }, aim: null },
  ...list("tokenActivity"),
  {
    label: "tokenBalance",
    question: { name: "tokenBalance", variables: { coinType: COIN, owner: wallet(5) } },
    aim: AIM_OF_ONE,
  },
  // The owner of most objects.
  ...list("tokenObjects", { owner: wallet(0) }),
  ...list("tokenHolders"),
  ...list("tokenTimelocks"),
  ...list("holderEvents"),
  // Without a limit: coins with this many owners.
  ...LIMITS.map((owners) => ({
    label: `walletRoles ${owners}`,
    question: { name: "walletRoles" as const, variables: { coinType: coinOfOwners(owners) } },
    aim: AIM_OF_LIMIT[owners] ?? null,
  })),
  ...list("roleEvents"),
  {
    label: "indexerStatus",
    question: { name: "indexerStatus", variables: {} },
    aim: AIM_OF_ONE,
  },
];

/** One side of a case over all counted rounds. */
type Side = {
  readonly perSecond: number;
  /** Of all requests, ms. */
  readonly p50: number;
  readonly p99: number;
  /** Processor time per request, ms. */
  readonly own: number;
  readonly postgres: number;
};

type Measured = Case & { readonly service: Side; readonly bare: Side };

/**
 * Takes four minutes.
 * @param only query names, comma-separated; absent: all
 * @throws for an unknown query
 */
export const bench = async (only?: string): Promise<readonly Figure[]> => {
  const names = only?.split(",") ?? CASES.map(({ question }) => question.name);
  const cases = CASES.filter(({ question }) => names.includes(question.name));
  const unknown = names.find((name) => cases.every(({ question }) => question.name !== name));
  if (unknown !== undefined) throw new Error(`there is no query ${unknown}`);
  await using scratch = await scratchPostgres();
  await writeBasics(scratch.database, LIMITS);
  for (const table of GROWING) await fillTable(scratch.database, table, ROWS);
  const { measured, requests, logFile } = await measureAll(scratch, cases);
  const aimed = measured.filter(({ aim }) => aim !== null);
  const reached = aimed.filter((row) => ratioOf(row) >= (row.aim ?? 0));
  return [
    {
      name: "GraphQL queries, beside bare fastify handlers running the same SQL",
      reached: `${reached.length} of ${aimed.length} reach their aim`,
      aim: "0.5 of the bare handler's rate with 10 rows or one, 0.6 with 100",
      detail: [
        `${CONNECTIONS} connections, medians of ${ROUNDS} rounds of ${ROUND_MS / 1_000} s in turn, ${ROWS} rows in each table; ours checks`,
        `keys, counts limits, and wrote ${await linesOf(logFile)} lines of log at info into a file for ${requests} requests; ours / bare:`,
        ...tableOf(measured),
      ].join("\n  "),
    },
  ];
};

/** All cases in sequence; when it returns, the service has ended and its log is complete. */
const measureAll = async (scratch: Scratch, cases: readonly Case[]) => {
  await using load = startLoad();
  await using bare = await startBare(scratch);
  await using service = await startService(scratch);
  const measured: Measured[] = [];
  let requests = 0;
  for (const each of cases) {
    const [ours, theirs] = await agreed(each.question, service, bare);
    const [serviceRounds = [], bareRounds = []] = await inTurn(ROUNDS, [
      async (isWarmUp) => {
        const round = await measure(load, ours, { isWarmUp, own: service, scratch });
        requests += round.millis.length;
        return round;
      },
      (isWarmUp) => measure(load, theirs, { isWarmUp, own: bare, scratch }),
    ]);
    const row = { ...each, service: sideOf(serviceRounds), bare: sideOf(bareRounds) };
    measured.push(row);
    process.stderr.write(`${each.label}: ${ratioOf(row).toFixed(2)}\n`);
  }
  return { measured, requests, logFile: service.logFile };
};

/** Both calls, once their answers are byte-identical. @throws with both if they differ */
const agreed = async (
  question: Question,
  service: Server,
  bare: Server,
): Promise<readonly [Call, Call]> => {
  // An age in seconds may change between the two answers.
  for (let attempt = 1; ; attempt += 1) {
    const [ours, theirs] = await Promise.all([service.ask(question), bare.ask(question)]);
    if (ours === theirs) {
      const length = Buffer.byteLength(ours);
      return [service.call(question, length), bare.call(question, length)];
    }
    if (attempt === 5) {
      throw new Error(`${question.name} is answered differently:\n${ours}\n${theirs}`);
    }
  }
};

type Round = Answers & {
  /** Processor time of the server and of Postgres, ms. */
  readonly own: number;
  readonly postgres: number;
};

const measure = async (
  load: Load,
  call: Call,
  { isWarmUp, own, scratch }: { isWarmUp: boolean; own: Server; scratch: Scratch },
): Promise<Round> => {
  const before = [processorMs(own.pid), processorMs(scratch.pid)] as const;
  const forMs = isWarmUp ? WARM_UP_MS : ROUND_MS;
  const answers = await load.ask({ calls: [call], connections: CONNECTIONS, forMs });
  return {
    ...answers,
    own: processorMs(own.pid) - before[0],
    postgres: processorMs(scratch.pid) - before[1],
  };
};

const sideOf = (rounds: readonly Round[]): Side => {
  const millis = rounds.flatMap((round) => round.millis);
  const perRequest = (of: (round: Round) => number) =>
    rounds.reduce((sum, round) => sum + of(round), 0) / millis.length;
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    p50: median(millis),
    p99: quantile(millis, 0.99),
    own: perRequest((round) => round.own),
    postgres: perRequest((round) => round.postgres),
  };
};

const ratioOf = ({ service, bare }: Measured): number => service.perSecond / bare.perSecond;

const tableOf = (measured: readonly Measured[]): readonly string[] => {
  const pair = ({ service, bare }: Measured, of: (side: Side) => number, digits: number) =>
    `${of(service).toFixed(digits)} / ${of(bare).toFixed(digits)}`;
  return columns([
    [
      "query, rows",
      "ratio",
      "aim",
      "",
      "requests/s",
      "p50 ms",
      "p99 ms",
      "process ms",
      "Postgres ms",
    ],
    ...measured.map((row) => [
      row.label,
      ratioOf(row).toFixed(2),
      row.aim?.toFixed(1) ?? "",
      row.aim !== null && ratioOf(row) < row.aim ? "below" : "",
      pair(row, ({ perSecond }) => perSecond, 0),
      pair(row, ({ p50 }) => p50, 1),
      pair(row, ({ p99 }) => p99, 1),
      pair(row, ({ own }) => own, 3),
      pair(row, ({ postgres }) => postgres, 3),
    ]),
  ]);
};

const linesOf = async (file: string): Promise<number> => {
  let lines = 0;
  for await (const _ of createInterface({ input: createReadStream(file) })) lines += 1;
  return lines;
};
