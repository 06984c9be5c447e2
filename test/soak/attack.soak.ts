/**
 * What other callers notice of an attack: how soon they are answered, how far indexing falls behind, and the
 * service's memory. The rate limit is out of reach: the bounds on concurrent work must hold alone.
 */
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createKey } from "../../src/http/keys.ts";
import { freshDatabase } from "../postgres.ts";
import { rounds, tally } from "../random.ts";
import { startProgram, temporaryFolder } from "../service/process.ts";
import { processesOf, serviceBelow } from "../service/processes.ts";
import type { Attack, Order } from "./attackers.ts";

/** Checkpoints: enough for pages of 1,000 rows. */
const HISTORY = 5_000;
const ROUND_MS = 3_000;
/** Callers are watched for this long after an attack: the service recovers within the same bounds. */
const AFTER_MS = 1_000;
const ASK_EVERY_MS = 50;
const PATIENCE_MS = 30_000;

/** Times on a quiet machine, where 355 and 368 were seen; memory of launcher, indexing and serving process. */
const BOUNDS = { p99Ms: 500, slowestMs: 1_000, megabytes: 600 };
/** A p99 of 2,700 was seen: connections already closed queue while the code is still being compiled. */
const BOUNDS_OF_HANGING_UP = { ...BOUNDS, p99Ms: 3_000, slowestMs: 4_000 };
/** The demo ledger makes its history in the indexing process: up to 585 MB were seen. */
const BOUNDS_OF_INDEXING = { ...BOUNDS, megabytes: 800 };
/** A machine whose p99 without an attack is longer gets as much more time. */
const QUIET_P99_MS = 20;
/** A service that is slower than this without an attack must not loosen its own bounds further. */
const SLOWEST_QUIET = 5;
const QUIET_ROUNDS = 10;
/** The machine, too, can lie still for a second. A service that is held up is so in each of these rounds. */
const ATTACK_ROUNDS = 3;
const CHECKPOINTS_BEHIND = 5;

/** So many lists, of two coin types in turn. */
const lists = (count: number, limit: number) => {
  const list = (_: unknown, n: number) =>
    `a${n}: tokenActivity(coinType: $${n % 2 === 0 ? "first" : "second"}, limit: ${limit}) {
      activityType txDigest eventSeq eventId position checkpoint checkpointTimestamp amount coinType decimals
      fromAddress toAddress signer tokenObjectId }`;
  return `query ($first: String!, $second: String!) { ${Array.from({ length: count }, list).join(" ")} }`;
};

const QUERY = `query ($first: String!) {
  tokenHolders(coinType: $first, limit: 5) { owner balance timelockBalance timelocksIncluded } }`;

const queries = { kind: "queries", callers: 20, query: getIntrospectionQuery() } as const;

const ATTACKS: Readonly<Record<string, Attack>> = {
  "1,500 pages on one connection": {
    kind: "pages",
    connections: 1,
    requests: 1_500,
    allRead: true,
  },
  "40 pages on each of 400 connections": {
    kind: "pages",
    connections: 400,
    requests: 40,
    allRead: false,
  },
  "as many pages as may wait on each of 400 connections": {
    kind: "pages",
    connections: 400,
    requests: 16,
    allRead: false,
  },
  "150 callers of 3,000 rows": { ...queries, query: lists(3, 1_000), callers: 150 },
  "20 callers of 30 lists": { ...queries, query: lists(30, 100) },
  "20 callers of the schema": queries,
  "20 callers of the schema, by another document each time": { ...queries, isUnique: true },
  "200 callers that hang up after 50 ms and come back": {
    ...queries,
    query: lists(3, 1_000),
    callers: 200,
    hangUpAfterMs: 50,
  },
};

/** One answer to a caller. */
type Answer = {
  readonly tookMs: number;
  /** Status, error or GraphQL errors in place of an answer. */
  readonly refusal: string | null;
  /** As health says, checkpoints. */
  readonly behind: number;
};

/** The service while something else goes on. */
type Seen = {
  readonly answers: readonly Answer[];
  readonly megabytes: readonly number[];
  readonly isRestarted: boolean;
};

type Service = {
  readonly pid: number;
  readonly port: number;
  readonly key: string;
  readonly attackersKey: string;
  readonly variables: Order["variables"];
};

const opened = new AsyncDisposableStack();
let service: Service;
let whileIndexing: Seen;
/** How many times slower than a quiet machine this one is, at least 1. */
let slowness = Number.NaN;

beforeAll(async () => {
  const folder = opened.use(await temporaryFolder());
  const database = opened.use(await freshDatabase());
  const program = opened.use(
    startProgram(["start"], {
      DATABASE_URL: database.url,
      DATA_DIR: join(folder.path, "data"),
      DEMO_STORY: "chance",
      DEMO_HISTORY: String(HISTORY),
      LOG_LEVEL: "warn",
      RATE_LIMIT_PER_MINUTE: "10000000",
    }),
  );
  const [, port] = await program.sees(/ {2}GraphQL\s+http:\/\/[^:]+:(\d+)/);
  const [, first = "", second = ""] = await program.sees(/ {2}Tokens\s+(\S+)\n\s+(\S+)\n/);
  const { secret: key } = await createKey(database, { kind: "graphql" });
  const { secret: attackersKey } = await createKey(database, { kind: "graphql" });
  const variables = { first, second };
  service = { pid: program.pid, port: Number(port), key, attackersKey, variables };
  const isBehind = async () => {
    const { refusal, behind } = await askForHealth(performance.now(), {});
    return refusal !== null || behind > 1;
  };
  whileIndexing = await seenDuring(async () => {
    while (await isBehind()) await delay(100);
  });
  // Again while the machine is busy with something else, such as what ran before.
  for (let round = 0; round < QUIET_ROUNDS && !(slowness < SLOWEST_QUIET); round += 1) {
    const quiet = await seenDuring(() => delay(ROUND_MS));
    slowness = Math.max(1, quantile(quiet, 0.99) / QUIET_P99_MS);
  }
}, 240_000);
afterAll(() => opened.disposeAsync());

const part = z.object({ lagCheckpoints: z.coerce.number().nullable() });
const health = z.object({ reader: part, pipelines: z.array(part) });

const askForHealth = async (dueMs: number, headers: HeadersInit): Promise<Answer> => {
  const { text, ...answer } = await ask("/health", dueMs, { headers });
  if (answer.refusal !== null) return { ...answer, behind: 0 };
  const { reader, pipelines } = health.parse(JSON.parse(text));
  const behind = [reader, ...pipelines].map((each) => each.lagCheckpoints ?? HISTORY);
  return { ...answer, behind: Math.max(...behind) };
};

const askQuery = async (dueMs: number, headers: HeadersInit): Promise<Answer> => {
  const { text, ...answer } = await ask("/graphql", dueMs, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", "x-api-key": service.key },
    body: JSON.stringify({ query: QUERY, variables: service.variables }),
  });
  const refusal = answer.refusal ?? (text.includes('"errors":') ? text : null);
  return { ...answer, refusal, behind: 0 };
};

const ask = async (path: string, dueMs: number, init: RequestInit) => {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const [refusal, text] = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    ...init,
    signal,
  })
    .then(async (response) => {
      const text = await response.text();
      return [response.ok ? null : `${response.status} ${text}`, text] as const;
    })
    .catch((error: unknown) => [String(error), ""] as const);
  return { tookMs: performance.now() - dueMs, refusal, text };
};

/**
 * Asks for health and a small query every 50 ms, on new and on kept connections in turn, whether or not earlier
 * questions are answered. An answer's time counts from when its question was due.
 */
const seenDuring = async (work: () => Promise<void>): Promise<Seen> => {
  const { serving } = await serviceBelow(service.pid);
  let isOver = false;
  const worked = work()
    .then(() => delay(AFTER_MS))
    .finally(() => {
      isOver = true;
    });
  const answers: Promise<Answer>[] = [];
  const megabytes: Promise<number>[] = [];
  const began = performance.now();
  for (let n = 0; !isOver; n += 1) {
    const dueMs = began + n * ASK_EVERY_MS;
    await delay(Math.max(0, dueMs - performance.now()));
    const headers = n % 2 === 0 ? { connection: "close" } : {};
    answers.push(askForHealth(dueMs, headers), askQuery(dueMs, headers));
    if (n % 10 === 0) megabytes.push(residentMegabytes());
  }
  await worked;
  return {
    answers: await Promise.all(answers),
    megabytes: await Promise.all(megabytes),
    isRestarted: (await serviceBelow(service.pid)).serving.pid !== serving.pid,
  };
};

const residentMegabytes = async () => {
  const processes = await processesOf(service.pid);
  return processes.reduce((sum, { residentBytes }) => sum + residentBytes, 0) / 1e6;
};

const quantile = ({ answers }: Seen, share: number) => {
  const sorted = answers.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};

const isInTime = (seen: Seen, bounds: typeof BOUNDS) =>
  quantile(seen, 0.99) < bounds.p99Ms * slowness && quantile(seen, 1) < bounds.slowestMs * slowness;

const expectServed = (seen: Seen, bounds: typeof BOUNDS) => {
  const megabytes = Math.round(Math.max(...seen.megabytes));
  tally({ "MB at most": megabytes });
  expect(seen.answers.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  expect(seen.isRestarted, "another process serves").toBe(false);
  expect(megabytes, "MB of our Node processes").toBeLessThan(bounds.megabytes);
};

const expectInTime = (seen: Seen, bounds: typeof BOUNDS) => {
  const ms = (share: number) => Math.round(quantile(seen, share));
  const [p99, slowest] = [ms(0.99), ms(1)];
  tally({ "ms p50": ms(0.5), "ms p99": p99, "ms at most": slowest });
  expect(p99, "ms, p99").toBeLessThan(bounds.p99Ms * slowness);
  expect(slowest, "ms, slowest answer").toBeLessThan(bounds.slowestMs * slowness);
};

test(`while ${HISTORY} checkpoints are indexed, every caller is answered in time`, () => {
  tally({ "times as slow as a quiet machine": Number(slowness.toFixed(1)) });
  expect(slowness, "times as slow without an attack").toBeLessThan(SLOWEST_QUIET);
  expectServed(whileIndexing, BOUNDS_OF_INDEXING);
  expectInTime(whileIndexing, BOUNDS_OF_INDEXING);
});

/** What other callers see of one attack, and how often it got which answer. */
const seenUnder = async (attack: Attack) => {
  const { port, attackersKey: key, variables } = service;
  const workerData: Order = { attack, port, key, variables, forMs: ROUND_MS };
  const answered = new Map<string, number>();
  const seen = await seenDuring(async () => {
    for (const _round of rounds(1)) {
      const worker = new Worker(new URL("./attackers.ts", import.meta.url), { workerData });
      const [answers]: ReadonlyMap<string, number>[] = await once(worker, "message");
      for (const [answer, count] of answers ?? [])
        answered.set(answer, (answered.get(answer) ?? 0) + count);
    }
  });
  return { seen, answered };
};

test.each(Object.entries(ATTACKS))("%s hold up no other caller", async (_, attack) => {
  const hangsUp = attack.kind === "queries" && attack.hangUpAfterMs !== undefined;
  const bounds = hangsUp ? BOUNDS_OF_HANGING_UP : BOUNDS;
  for (let round = 1; ; round += 1) {
    const { seen, answered } = await seenUnder(attack);
    const behind = Math.max(...seen.answers.map((answer) => answer.behind));
    const times = ([answer, n]: [string, number]) => [`times ${answer} to the attackers`, n];
    tally(Object.fromEntries([...answered].map(times)));
    tally({ "checkpoints behind at most": behind });
    const reached = [...answered.values()].reduce((sum, n) => sum + n, 0);
    expect(reached, "requests of the attackers").toBeGreaterThan(0);
    // Otherwise only refusals were measured.
    if (attack.kind === "queries" && !hangsUp)
      expect(answered.get("200") ?? 0, "answers to the attackers").toBeGreaterThan(0);
    expectServed(seen, bounds);
    const isHeldUp = behind > CHECKPOINTS_BEHIND * slowness || !isInTime(seen, bounds);
    if (isHeldUp && round < ATTACK_ROUNDS) continue;
    expect(behind, "checkpoints behind").toBeLessThanOrEqual(CHECKPOINTS_BEHIND * slowness);
    expectInTime(seen, bounds);
    return;
  }
});
