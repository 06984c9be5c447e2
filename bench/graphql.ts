/**
 * The nine GraphQL queries, each beside a bare handler with the same SQL and bytes, in a separate
 * process with the same Node flags and as many connections.
 */
import { type Figure, inTurn, quantile, ratioOf } from "./figure.ts";
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

/** What a case is counted among; `aim`: share of the bare handler's rate to reach, null: none. */
type Size = { readonly said: string; readonly aim: number | null };
const SMALL: Size = { said: "ten rows or one", aim: 0.5 };
const LARGE: Size = { said: "100 rows", aim: 0.9 };
const EMPTY: Size = { said: "`{ __typename }`", aim: null };
const sizeOf = (limit: number): Size => (limit > 10 ? LARGE : SMALL);

const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;
const ROUNDS = 3;
const ROUND_MS = 1_200;

type Case = { readonly label: string; readonly question: Question; readonly size: Size };

const list = (name: Question["name"], variables: Variables = {}): readonly Case[] =>
  LIMITS.map((limit) => ({
    label: `${name} ${limit}`,
    question: { name, variables: { coinType: COIN, ...variables, limit } },
    size: sizeOf(limit),
  }));

const CASES: readonly Case[] = [
  { label: "__typename", question: { name: "__typename", variables: {} }, size: EMPTY },
  ...list("tokenActivity"),
  {
    label: "tokenBalance",
    question: { name: "tokenBalance", variables: { coinType: COIN, owner: wallet(5) } },
    size: SMALL,
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
    size: sizeOf(owners),
  })),
  ...list("roleEvents"),
  {
    label: "indexerStatus",
    question: { name: "indexerStatus", variables: {} },
    size: SMALL,
  },
];

/**
 * Takes under three minutes.
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
  await using load = startLoad();
  await using bare = await startBare(scratch);
  await using service = await startService(scratch);
  const figures: Figure[] = [];
  for (const each of cases) {
    const [ours, theirs] = await agreed(each.question, service, bare);
    const [serviceRounds = [], bareRounds = []] = await inTurn(ROUNDS, [
      (isWarmUp) => measure(load, ours, { isWarmUp, own: service, scratch }),
      (isWarmUp) => measure(load, theirs, { isWarmUp, own: bare, scratch }),
    ]);
    figures.push(figureOf(each, serviceRounds, bareRounds));
    process.stderr.write(`${each.label}\n`);
  }
  return figures;
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

const figureOf = (
  { label, size }: Case,
  ours: readonly Round[],
  bare: readonly Round[],
): Figure => {
  const both = (of: (rounds: readonly Round[]) => number, digits: number) =>
    `${of(ours).toFixed(digits)} / ${of(bare).toFixed(digits)} ms`;
  const millis = (share: number) => (rounds: readonly Round[]) =>
    quantile(
      rounds.flatMap((round) => round.millis),
      share,
    );
  const perRequest = (of: "own" | "postgres") => (rounds: readonly Round[]) =>
    rounds.reduce((sum, round) => sum + round[of], 0) /
    rounds.flatMap((round) => round.millis).length;
  return {
    name: label,
    what: `GraphQL: requests a second / a bare handler, ${size.said}`,
    ...ratioOf(
      "/s",
      ours.map(({ perSecond }) => perSecond),
      bare.map(({ perSecond }) => perSecond),
    ),
    ...{ better: "more", aim: size.aim },
    detail:
      `p50 ${both(millis(0.5), 1)}, p99 ${both(millis(0.99), 1)}; ` +
      `processor time ${both(perRequest("own"), 3)}, of Postgres ${both(perRequest("postgres"), 3)}`,
  };
};
