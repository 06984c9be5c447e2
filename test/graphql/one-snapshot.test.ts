// @module-tag thorough
import pino from "pino";
import { expect, test } from "vitest";
import { createReaders } from "../../src/database/readers.ts";
import { createEngine, type GraphEngine } from "../../src/graphql/engine.ts";
import { schema } from "../../src/graphql/schema.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { registerPipeline } from "../../src/pipelines/register.ts";
import {
  ACME,
  address,
  batchOf,
  grant,
  minted,
  type SaidCheckpoint,
  token,
  wantedBy,
} from "../pipelines/token-facts.ts";
import { freshDatabase } from "../postgres.ts";
import { PACKAGE, PIPELINES } from "./api.ts";
import { addHistory } from "./history-rows.ts";
import * as rows from "./rows.ts";

const ALICE = address("a11ce");
const BOB = address("b0b");
const TOTAL = 1_000_000n;

const SOURCES = { packages: () => [PACKAGE], pipelines: PIPELINES, now: Date.now };

/** After checkpoint n ALICE has n in tokens and BOB the rest of them; BOB's grant has n, too. */
const checkpoint = (sequence: bigint): SaidCheckpoint => ({
  sequence,
  transactions: [
    [
      ...(sequence === 0n ? [minted({ tokenId: address("1"), to: BOB, amount: TOTAL })] : []),
      token({ id: address("1"), owner: ALICE, balance: sequence }),
      token({ id: address("2"), owner: BOB, balance: TOTAL - sequence }),
      grant({ id: address("3"), owner: BOB, leftBalance: sequence }),
    ],
  ],
});

const EVERYTHING = `query ($coin: String!, $owner: String!, $bob: String!) {
  indexerStatus { pipeline checkpoint }
  _meta { checkpoint checkpointTimestamp }
  tokenBalance(coinType: $coin, owner: $owner) { balance objectCount }
  tokenObjects(coinType: $coin, owner: $owner) { balance checkpoint }
  tokenHolders(coinType: $coin) { owner balance timelockBalance }
  tokenTimelocks(coinType: $coin, owner: $bob) { leftBalance }
  balanceChanges(coinType: $coin, owner: $owner, order: DESC, limit: 1) { balanceAfter }
}`;

type Row = Readonly<Record<string, string>>;
type Answer = Readonly<Record<string, readonly Row[]>> & {
  readonly _meta: Row;
  readonly tokenBalance: Row;
};

/** What one answer says of the checkpoints its parts are of; any two that differ are a contradiction. */
const contradictions = (text: string): unknown[] => {
  const { data }: { data: Answer } = JSON.parse(text);
  const marks = new Map(data.indexerStatus?.map((row) => [row.pipeline, Number(row.checkpoint)]));
  const [tokens, grants] = ["shared_token_objects", "timelock_objects"].map((n) => marks.get(n));
  const least = Math.min(...marks.values());
  const bob = data.tokenHolders?.find(({ owner }) => owner === BOB);
  const seen = {
    meta: Number(data._meta.checkpoint),
    time: Number(data._meta.checkpointTimestamp) - 1_700_000_000,
    balance: Number(data.tokenBalance.balance),
    object: Number(data.tokenObjects?.[0]?.balance),
    written: Number(data.tokenObjects?.[0]?.checkpoint),
    holder: Number(TOTAL) - Number(bob?.balance) + Number(bob?.timelockBalance),
    granted: Number(bob?.timelockBalance),
    grant: Number(data.tokenTimelocks?.[0]?.leftBalance),
    change: Number(data.balanceChanges?.[0]?.balanceAfter),
  };
  const told = {
    meta: least,
    time: least,
    balance: tokens,
    object: tokens,
    written: tokens,
    holder: tokens,
    granted: grants,
    grant: grants,
    // Up to what both have committed.
    change: Math.min(tokens ?? 0, grants ?? 0),
  };
  return JSON.stringify(seen) === JSON.stringify(told) ? [] : [{ seen, told }];
};

const ask = async (engine: GraphEngine, query: string, variables: object): Promise<string> => {
  const scope = { requestId: "1", log: pino({ level: "silent" }) };
  const { body } = await engine.read(JSON.stringify({ query, variables })).answer(undefined, scope);
  return body;
};

test("400 concurrent requests while the ledger moves: each answer shows a single state", async () => {
  await using database = await freshDatabase();
  await using readers = createReaders({ url: database.url, max: 6, applicationName: "many" });
  const engine = createEngine(schema, { ...SOURCES, readers });
  const log = { chainId: null, packages: [], firstCheckpoint: 0n, nextCheckpoint: 0n, last: null };
  const writers = ledgerPipelines.map((pipeline) => async (sequence: bigint) => {
    await applyBatch(database, pipeline, wantedBy(pipeline, batchOf([checkpoint(sequence)])));
  });
  // From the second checkpoint on each part of each answer is there.
  for (const [index, pipeline] of ledgerPipelines.entries()) {
    await registerPipeline(database.sql, pipeline, log);
    for (const sequence of [0n, 1n]) await writers[index]?.(sequence);
  }

  const stop = new AbortController();
  const moved = writers.map(async (apply) => {
    let sequence = 2n;
    for (; !stop.signal.aborted; sequence += 1n) await apply(sequence);
    return sequence;
  });
  const variables = { coin: ACME, owner: ALICE, bob: BOB };
  const bodies = await Promise.all(
    Array.from({ length: 400 }, () => ask(engine, EVERYTHING, variables)),
  ).finally(() => stop.abort());
  expect(Math.min(...(await Promise.all(moved)).map(Number))).toBeGreaterThan(5);
  expect(bodies.flatMap(contradictions)).toEqual([]);
  // Different states were seen at all.
  expect(new Set(bodies).size).toBeGreaterThan(1);
}, 60_000);

const PAGE = `coinType: "${rows.ACME}", limit: 5`;

test("a request that needs one statement takes no snapshot; any other takes one and returns it", async () => {
  await using database = await freshDatabase();
  await addHistory(database);
  await using readers = createReaders({ url: database.url, max: 3, applicationName: "one" });
  let taken = 0;
  const counted = {
    for: readers.for,
    snapshot: (...request: Parameters<typeof readers.snapshot>) => {
      taken += 1;
      return readers.snapshot(...request);
    },
  };
  const engine = createEngine(schema, { ...SOURCES, readers: counted });
  const snapshotsOf = async (query: string, variables = {}): Promise<number> => {
    const before = taken;
    // Interpreted, and compiled.
    for (let n = 0; n < 3; n += 1) {
      const body = await ask(engine, query, variables);
      expect(body).not.toContain("errors");
    }
    return taken - before;
  };
  const HOLDERS = `query ($at: String) { tokenHolders(${PAGE}, atCheckpoint: $at) { owner } }`;
  for (const [query, variables] of [
    ["{ __typename }"],
    [`{ __typename tokenHolders(${PAGE}) { owner } }`],
    [`{ tokenActivity(${PAGE}) { amount } }`],
    [`{ walletRoles(coinType: "${rows.ACME}") { owner } }`],
    ["{ _meta { checkpoint } }"],
    ["{ indexerStatus { checkpoint } }"],
    ["{ tokens { coinType decimals } }"],
    [`{ token(coinType: "${rows.ACME}") { totalSupply } }`],
    [HOLDERS],
    [HOLDERS, { at: null }],
    [HOLDERS, { at: "20" }],
    [`{ tokenTimelocks(${PAGE}, atCheckpoint: "20") { objectId } }`],
  ] satisfies [string, object?][]) {
    expect(await snapshotsOf(query, variables), query).toBe(0);
  }
  for (const [query, variables] of [
    ["{ _meta { checkpoint } indexerStatus { checkpoint } }"],
    [`{ ...F } fragment F on Query { a: tokens { name } b: tokens { name } }`],
    [
      `query ($at: String) { walletRoles(coinType: "${rows.ACME}", atTimestamp: $at) { owner } }`,
      { at: "1700000020" },
    ],
    [`{ token(coinType: "${rows.ACME}") { ...F } } fragment F on Token { ownerCount }`],
    ["{ tokens { holderCount } }"],
    // One field, asked for twice.
    ["{ tokens { holderCount } tokens { name } }"],
    ["{ tokens { holderCount } ...F } fragment F on Query { tokens { name } }"],
    [`{ capTable(${PAGE}) { checkpoint } }`],
  ] satisfies [string, object?][]) {
    expect(await snapshotsOf(query, variables), query).toBe(3);
  }
  // With connections for one at a time, one that was not given back would hold up the next.
  expect(readers.waiting).toBe(0);
});
