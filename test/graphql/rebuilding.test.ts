// @module-tag thorough
/** What callers are told while a pipeline is rebuilt: that it is, and never what is there of it so far. */
import { getTableName } from "drizzle-orm";
import {
  type GraphQLField,
  GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
} from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { createReaders, type Readers, read } from "../../src/database/readers.ts";
import { schema } from "../../src/graphql/schema.ts";
import { openLog } from "../../src/log/log.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { type Pipeline, tablesOf } from "../../src/pipelines/pipeline.ts";
import { resetPipeline } from "../../src/pipelines/register.ts";
import { noteComparison, noteReplay } from "../../src/pipelines/replay/progress.ts";
import { guardedReads } from "../../src/projections/guarded-reads.ts";
import { ALL, FOR_BALANCES } from "../../src/projections/needed.ts";
import { STATE_KINDS } from "../../src/projections/range-lists.ts";
import type { Values } from "../../src/projections/replays.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { setRebuilding } from "../projections/set-watermark.ts";
import { follow } from "../service/following.ts";
import { type Api, startApi } from "./api.ts";
import { askCounted } from "./statements.ts";
import { subscribe, until } from "./streams.ts";

const LAST = 79n;

let database: TestDatabase;
let readers: Readers;
let coinType: string;
let owner: string;
const packages: string[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  const ledger = createDemoLedger({ seed: 11, investors: 10 });
  packages.push(...ledger.packages);
  const feed = await follow(database, ledger);
  const raws = Array.from({ length: Number(LAST) + 1 }, () => {
    const { sequence, raw } = ledger.next();
    return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
  });
  await feed.append(raws);
  await feed.project(100);
  readers = createReaders({ url: database.url, max: 4, applicationName: "test", readOnly: true });
  const [row] = await database.sql<{ coin_type: string; owner: string }[]>`
    select coin_type, owner from token_changes group by 1, 2 order by count(*) desc limit 1`;
  coinType = row?.coin_type ?? "";
  owner = row?.owner ?? "";
}, 120_000);
afterAll(async () => {
  await readers.close();
  await database.close();
});

/** Runs the pipeline from where it is to the log's end, in batches of few facts. */
const catchUp = async (
  pipeline: Pipeline,
  between: () => Promise<void> = async () => undefined,
) => {
  const log = await openLog(database, { chainId: null, packages, firstCheckpoint: 0n });
  for (let from = 0n; from <= LAST; ) {
    const most = { maxFacts: 20, maxBytes: 1_000_000 };
    const batch = await log.readFacts({ from, names: pipeline.facts, ...most });
    if (batch === null) return;
    await applyBatch(database, pipeline, batch);
    from = batch.last.sequence + 1n;
    await between();
  }
};

/** All that can be selected of a type. */
const selectionOf = (type: GraphQLOutputType): string => {
  const named = getNamedType(type);
  if (!(named instanceof GraphQLObjectType)) return "";
  const fields = Object.values(named.getFields());
  return `{ ${fields.map(({ name, type: inner }) => `${name} ${selectionOf(inner)}`).join(" ")} }`;
};

/** Arguments that a field cannot be without, or that are among `more`. */
const argumentsOf = ({ args }: GraphQLField<unknown, unknown>, more: object = {}): string => {
  const known = {
    ...{ coinType, owner, address: owner, holderId: "1", digest: "unseen", text: owner },
    ...{ pipeline: "role_changes", atCheckpoint: "40", ...more },
  };
  const given = args.filter(({ name, type }) => String(type).endsWith("!") || name in more);
  const texts = given.map(({ name }) => {
    const value = Object.entries(known).find(([key]) => key === name)?.[1];
    if (value === undefined) throw new Error(`say what to ask for as ${name}`);
    // Names of an enumeration have no quotes.
    return `${name}: ${name === "kind" ? value : JSON.stringify(value)}`;
  });
  return texts.length === 0 ? "" : `(${texts.join(", ")})`;
};

const queries = Object.values(schema.getQueryType()?.getFields() ?? {});

/** Each query of the present, and of the past where it has one. */
const questions = () =>
  queries.flatMap((field) =>
    [{}, { atCheckpoint: "40" }, ...STATE_KINDS.map((kind) => ({ kind }))]
      .filter((more) => "kind" in more === field.args.some(({ name }) => name === "kind"))
      .filter((more) =>
        Object.keys(more).every((name) => field.args.some((arg) => arg.name === name)),
      )
      .map((more) => ({
        name: `${field.name}${argumentsOf(field, more)}`,
        query: `{ ${field.name}${argumentsOf(field, more)} ${selectionOf(field.type)} }`,
      })),
  );

const asked = (query: string) => askCounted(readers, packages, query);

/** Tables that a pipeline writes; `balances` is of two. */
const writtenBy = (pipeline: Pipeline): readonly string[] =>
  [...tablesOf(pipeline), ...(pipeline.sharedTables ?? []).map(({ table }) => table)].map(
    getTableName,
  );

const readsOf = (statements: readonly string[], pipeline: Pipeline): boolean =>
  writtenBy(pipeline).some((table) =>
    statements.some((text) => new RegExp(`\\b(?:from|join)\\s+${table}\\b`).test(text)),
  );

test("a query is refused only while a pipeline whose tables it reads is rebuilt", async () => {
  const found: string[] = [];
  const expected: string[] = [];
  for (const { name, query } of questions()) {
    const { answer, statements } = await asked(query);
    expect([name, answer.errors]).toEqual([name, undefined]);
    for (const pipeline of ledgerPipelines) {
      await setRebuilding(database, pipeline.watermark, 100n);
      const { errors = [] } = (await asked(query)).answer;
      await setRebuilding(database, pipeline.watermark, null);
      const [error] = errors;
      if (error !== undefined) {
        expect(error).toMatchObject({
          message: `${pipeline.name} is being rebuilt from the log: at checkpoint 79, of 100; ask again later`,
          extensions: {
            code: "REBUILDING",
            pipeline: pipeline.name,
            checkpoint: "79",
            target: "100",
          },
        });
        found.push(`${name} by ${pipeline.name}`);
      }
      // It needs the checkpoint to be committed by the pipelines that it covers, and reads none of their tables.
      const isCovered = name.startsWith("_meta(") && ALL.some((one) => one.name === pipeline.name);
      if (isCovered || readsOf(statements, pipeline)) expected.push(`${name} by ${pipeline.name}`);
    }
  }
  expect(expected.length).toBeGreaterThan(20);
  // A past answer waits for all that its counts need, even where they are not asked for.
  expect(found).toEqual(expect.arrayContaining(expected));
  expect(found.filter((each) => !expected.includes(each))).toEqual([]);
}, 120_000);

test("every subscription is refused while its pipeline is rebuilt, and opens afterwards", async () => {
  await using api = await startApi({ database });
  const logs = Object.values(schema.getSubscriptionType()?.getFields() ?? {});
  const refusals: string[] = [];
  for (const { name, type, args } of logs) {
    const after = name === "balanceChanges" ? "0:0x0:TOKENS" : "0";
    const given = args.some((arg) => arg.name === "coinType")
      ? `(coinType: ${JSON.stringify(coinType)}, after: "${after}")`
      : "";
    const document = `subscription { ${name}${given} ${selectionOf(type)} }`;
    for (const pipeline of ledgerPipelines) {
      await setRebuilding(database, pipeline.watermark, 100n);
      using refused = subscribe(api, document);
      await refused.atLeast(1);
      await setRebuilding(database, pipeline.watermark, null);
      const { errors } = refused.results[0] ?? {};
      if (errors === undefined) continue;
      expect(errors).toMatchObject([{ extensions: { code: "REBUILDING" } }]);
      refusals.push(`${name} by ${pipeline.name}`);
    }
    using opened = subscribe(api, document);
    await opened.atLeast(1);
    expect([name, opened.results[0]?.errors]).toEqual([name, undefined]);
  }
  expect(refusals.toSorted()).toEqual([
    // For the holders that its rows show.
    "balanceChanges by holder_lifecycle",
    "balanceChanges by shared_token_objects",
    "balanceChanges by timelock_objects",
    "holderEvents by holder_lifecycle",
    "roleEvents by role_changes",
    "tokenActivity by holder_lifecycle",
    "tokenActivity by token_activity",
  ]);
}, 120_000);

test("no process answers wrongly while pipelines are rebuilt one after the other, and all answers are as before afterwards", async () => {
  // A busy machine is slow: what is tested is what is answered.
  const patient = { database, statementTimeoutMs: 60_000 };
  await using first = await startApi(patient);
  await using second = await startApi(patient);
  const apis = [first, second];
  const single = questions().map(({ query }) => query);
  // Several in one request are read from one snapshot, which may have been taken before the rebuild began.
  const together = `{ ${questions()
    .map(({ query }, index) => query.replace(/^\{\s*(\w+)/, `each${index}: $1`).replace(/\}$/, ""))
    .filter((text) => !/indexerStatus|_meta|pipelineDigest|holderCount|Connection/.test(text))
    .join("\n")} }`;
  const all = [
    ...single.filter((query) => !/indexerStatus|_meta|pipelineDigest/.test(query)),
    together,
  ];
  const ask = async (api: Api, query: string) => {
    const { data, errors = [] } = await api.query(query);
    return { data, errors };
  };
  const before = new Map<string, Readonly<Record<string, unknown>>>();
  for (const query of all) {
    const { data, errors } = await ask(first, query);
    expect(errors).toEqual([]);
    before.set(query, data ?? {});
  }
  let refused = 0;
  let answered = 0;
  /** Members are as before, or refused because of a rebuild. */
  const check = async (api: Api, query: string) => {
    const { data, errors } = await ask(api, query);
    expect(errors.filter(({ extensions }) => extensions?.code !== "REBUILDING")).toEqual([]);
    const missing = new Set(errors.map(({ path }) => path?.[0]));
    for (const [name, value] of Object.entries(before.get(query) ?? {})) {
      if (missing.has(name)) refused += 1;
      else {
        answered += 1;
        expect([query, data?.[name]]).toEqual([query, value]);
      }
    }
  };
  for (const pipeline of ledgerPipelines) {
    let isOver = false;
    const asking = apis.map(async (api, offset) => {
      for (let n = offset; !isOver; n += 1) await check(api, all[n % all.length] ?? together);
    });
    const rebuilding = (async () => {
      await resetPipeline(database, pipeline);
      let batches = 0;
      await catchUp(pipeline, async () => {
        batches += 1;
        if (batches % 4 === 0) await Promise.all(apis.map((api) => check(api, together)));
      });
      isOver = true;
    })();
    try {
      await Promise.all([rebuilding, ...asking]);
    } finally {
      isOver = true;
      await Promise.allSettled(asking);
    }
    for (const query of all) {
      const { data, errors } = await ask(second, query);
      expect([pipeline.name, errors, data]).toEqual([pipeline.name, [], before.get(query)]);
    }
  }
  expect(refused).toBeGreaterThan(0);
  expect(answered).toBeGreaterThan(0);
}, 300_000);

test("indexerStatus tells how far a replay is, while it runs, and replays what was compared", async () => {
  await using api = await startApi({ database });
  const [pipeline] = ledgerPipelines.filter(({ name }) => name === "token_activity");
  if (pipeline === undefined) throw new Error("no such pipeline");
  const asked = async () =>
    (
      await api.query(`{
        indexerStatus { pipeline rebuildingTo rebuilding { checkpoint of ratePerSecond secondsLeft } }
        replays { pipeline reason state progress { checkpoint of }
          comparison { checkpoint rows differences { table count rows {
            onlyIn key { name served replayed } columns { name served replayed } } } } }
      }`)
    ).data;
  const rest = ledgerPipelines.filter((each) => each !== pipeline);
  const idle = (each: Pipeline) => ({ pipeline: each.name, rebuildingTo: null, rebuilding: null });
  expect(await asked()).toEqual({ indexerStatus: ledgerPipelines.map(idle), replays: [] });
  using live = subscribe(api, "subscription { indexerStatus { rebuilding { checkpoint } } }");
  await live.atLeast(1);
  {
    const begun = new Map([[pipeline, { next: 0n, of: 80n }]]);
    await using notes = await noteReplay(database, "replay", begun);
    notes.reached(pipeline, { next: 41n, of: 80n });
    await notes.enter("running");
    const data = await asked();
    expect(data).toMatchObject({
      indexerStatus: expect.arrayContaining([
        ...rest.map(idle),
        {
          pipeline: "token_activity",
          rebuildingTo: null,
          rebuilding: {
            checkpoint: "40",
            of: "79",
            ratePerSecond: expect.any(Number),
            secondsLeft: expect.any(Number),
          },
        },
      ]),
      replays: [
        {
          pipeline: "token_activity",
          reason: "replay",
          state: "running",
          progress: { checkpoint: "40", of: "79" },
          comparison: null,
        },
      ],
    });
    await until("the subscription to tell it", () =>
      live.results.some(({ data }) => JSON.stringify(data).includes('"40"')),
    );
    const long = "x".repeat(200_000);
    const row = (stored: Values | null, made: Values | null) => ({
      key: ["position"],
      stored,
      made,
    });
    await noteComparison(database.sql, [pipeline], {
      checkpoints: { token_activity: 79n },
      tables: { token_activity: 200, token_activity_digests: 80 },
      differences: [
        {
          table: "token_activity",
          count: 7,
          rows: [
            row(
              { position: "1", amount: "5", signer: "0x1" },
              { position: "1", amount: "6", signer: "0x1" },
            ),
            row(null, { position: "2", amount: long }),
            row({ position: "3", amount: long }, null),
          ],
        },
      ],
    });
  }
  expect(await asked()).toMatchObject({
    indexerStatus: ledgerPipelines.map(idle),
    replays: [
      {
        state: "compared",
        progress: { checkpoint: "79", of: "79" },
        comparison: {
          checkpoint: "79",
          rows: 280,
          differences: [
            {
              table: "token_activity",
              count: 7,
              rows: [
                {
                  onlyIn: null,
                  key: [{ name: "position", served: "1", replayed: "1" }],
                  columns: [{ name: "amount", served: "5", replayed: "6" }],
                },
                { onlyIn: "replay", columns: [{ name: "amount", served: null }] },
              ],
            },
          ],
        },
      },
    ],
  });
});

test("a snapshot taken before a rebuild keeps its rows to the end", async () => {
  const [pipeline] = ledgerPipelines.filter(({ name }) => name === "shared_token_objects");
  if (pipeline === undefined) throw new Error("no such pipeline");
  const snapshot = readers.snapshot(undefined);
  const reads = guardedReads(snapshot, FOR_BALANCES);
  const count = async (table: string) => {
    const [row] = await read<{ n: bigint }>(reads, `select count(*) as n from ${table}`, []);
    return row?.n;
  };
  const objects = await count("shared_token_objects");
  await resetPipeline(database, pipeline);
  try {
    expect(await count("shared_token_objects")).toBe(objects);
    expect(await count("token_changes")).toBeGreaterThan(0n);
    expect(await count("balances")).toBeGreaterThan(0n);
  } finally {
    snapshot.end();
    await catchUp(pipeline);
  }
});

test("an open subscription ends with REBUILDING when a rebuild begins, and misses nothing when it resumes after its last event", async () => {
  await using api = await startApi({ database });
  const [pipeline] = ledgerPipelines.filter(({ name }) => name === "token_activity");
  if (pipeline === undefined) throw new Error("no such pipeline");
  const document = `subscription ($coin: String!, $after: String) {
    tokenActivity(coinType: $coin, after: $after) { position } }`;
  const positionsIn = ({ results }: Pick<ReturnType<typeof subscribe>, "results">) =>
    results.flatMap(({ data }) => Object.values(data ?? {})).map((row) => JSON.stringify(row));
  using whole = subscribe(api, document, { coin: coinType, after: "0" });
  const { data } = await api.query(
    `{ tokenActivity(coinType: "${coinType}", limit: 1000) { position } }`,
  );
  const count = Array.isArray(data?.tokenActivity) ? data.tokenActivity.length : 0;
  expect(count).toBeGreaterThan(10);
  await whole.atLeast(count);
  await resetPipeline(database, pipeline);
  await until("the end of the stream", () => whole.results.at(-1)?.errors !== undefined);
  const rows = positionsIn(whole);
  const last = /\d+/.exec(rows.at(-1) ?? "")?.[0];
  expect(whole.results.at(-1)?.errors).toMatchObject([
    { extensions: { code: "REBUILDING", pipeline: "token_activity", after: last } },
  ]);
  const after = /\d+/.exec(rows[9] ?? "")?.[0];
  await catchUp(pipeline);
  using rest = subscribe(api, document, { coin: coinType, after });
  await rest.atLeast(count - 10);
  expect([...rows.slice(0, 10), ...positionsIn(rest)]).toEqual(rows);
  expect(rows).toHaveLength(count);
});
