import { createSourceEventStream, parse, validateSubscriptionArgs } from "graphql";
import { expect, test } from "vitest";
import type { Reads } from "../../src/database/readers.ts";
import { createContexts, type GraphSources } from "../../src/graphql/context.ts";
import { createEngine } from "../../src/graphql/engine.ts";
import { schema } from "../../src/graphql/schema.ts";
import { Live } from "../../src/graphql/streams/watcher.ts";
import { LOG_CHANNEL } from "../../src/log/append.ts";
import { writeAll } from "../../src/projections/batch-write.ts";
import { foldSharedTokens } from "../../src/projections/shared-token-objects.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { emptyActivity, emptyChanges } from "../projections/damage.ts";
import { tokenRows } from "../projections/object-rows.ts";
import { PACKAGE, PIPELINES } from "./api.ts";
import {
  ACME,
  activity,
  addActivity,
  address,
  BOB,
  knowCoin,
  setHighWater,
  setWatermarks,
} from "./rows.ts";
import { ACTIVITY, commit, until } from "./streams.ts";

/** Follows logs over a database whose statements are counted; `before` is called with each. */
const counted = async (
  before: (text: string, database: TestDatabase) => Promise<void> = async () => undefined,
) => {
  const database = await freshDatabase();
  const statements: string[] = [];
  const reads: Reads = {
    sql: {
      unsafe: async <Rows extends object[]>(
        ...statement: Parameters<Reads["sql"]["unsafe"]>
      ): Promise<Rows> => {
        statements.push(statement[0]);
        await before(statement[0], database);
        return await database.db.sql.unsafe<Rows>(...statement);
      },
    },
  };
  const sources: GraphSources = {
    readers: { for: () => reads, snapshot: () => ({ ...reads, end: () => undefined }) },
    packages: () => [PACKAGE],
    pipelines: PIPELINES,
    now: Date.now,
    onAppend: (heard, signal) => database.listen(LOG_CHANNEL, heard, signal),
  };
  const { ofSubscription } = createContexts(sources);
  const over = new AbortController();
  /** Positions, as they come. */
  const follow = async (
    coin: string,
    after?: string,
    selection = "tokenActivity(coinType: $coin, after: $after) { position }",
  ): Promise<readonly (string | undefined)[]> => {
    const args = validateSubscriptionArgs({
      schema,
      document: parse(`subscription ($coin: String!, $after: String) { ${selection} }`),
      variableValues: { coin, after },
      contextValue: ofSubscription({
        pace: (read) => read(),
        signal: over.signal,
        lastEventId: undefined,
        beganAt: () => undefined,
      }),
    });
    if (!("schema" in args)) throw new Error("not a subscription");
    const source = await createSourceEventStream(args);
    if (!(Symbol.asyncIterator in source)) throw new Error("no events");
    const got: (string | undefined)[] = [];
    void (async () => {
      for await (const live of source) if (live instanceof Live) got.push(live.at);
    })();
    return got;
  };
  return {
    database,
    sources,
    over: over.signal,
    follow,
    /** How often movements were read, or looked for, since it was last asked. */
    readings: () =>
      statements.splice(0).filter((text) => /activity_type|given\.position/.test(text)).length,
    statements,
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await database.close();
    },
  };
};

test("a change is read once for any number of followers, and other coins' changes are not read", async () => {
  await using service = await counted();
  const { database } = service;
  await commit(database, 1n, 2);
  const all = await Promise.all(Array.from({ length: 200 }, () => service.follow(ACME, "0")));
  await until("all are there", () => all.every((got) => got.length === 2));
  service.readings();
  await commit(database, 2n, 3);
  await until("the change", () => all.every((got) => got.length === 5));
  expect(service.readings()).toBeLessThanOrEqual(2);
  // Of another coin type: the pipeline has moved, and nobody knows for whom.
  await commit(database, 3n, 1, `${address("07")}::o::O`);
  await commit(database, 4n, 1);
  await until("the next change", () => all.every((got) => got.length === 6));
  expect(service.readings()).toBeLessThanOrEqual(4);
  expect(new Set(all.map(String)).size).toBe(1);
});

test("one statement finds the coin types that have grown among many", async () => {
  await using service = await counted();
  const { database } = service;
  const coins = Array.from({ length: 50 }, (_, n) => `${address("c0")}::c${n}::C`);
  for (const coin of coins) await commit(database, BigInt(coins.indexOf(coin)), 1, coin);
  const all = await Promise.all(coins.map((coin) => service.follow(coin, "0")));
  await until("all are there", () => all.flat().length === 50);
  // Each log is read once for all who wait at its end: with the first look that sees them there. One look
  // ends before the next begins, so the second change comes when all of those are over.
  for (const [length, checkpoint] of [99n, 100n].entries()) {
    await commit(database, checkpoint, 1, coins[7]);
    await until("the first looks", () => all[7]?.length === length + 2);
  }
  service.readings();
  await commit(database, 101n, 1, coins[7]);
  await until("the change", () => all[7]?.length === 4);
  expect(service.readings()).toBeLessThanOrEqual(4);
});

test("without followers, no statements run", async () => {
  await using service = await counted();
  await commit(service.database, 1n, 1);
  await setHighWater(service.database, 2n);
  expect(service.statements).toEqual([]);
});

test("a coin type whose log is rebuilt causes few reads, and in the end every follower has each event once", async () => {
  await using service = await counted();
  const { database } = service;
  await commit(database, 1n, 20);
  await commit(database, 2n, 20);
  /** Waits until a follower has had what is there, and the watcher has looked whether there is more. */
  const read = async (got: readonly unknown[], count: number) => {
    let readings = 0;
    await until(`${count} movements, and a look behind them`, () => {
      readings += service.readings();
      return got.length === count && readings > 1;
    });
  };
  const before = await service.follow(ACME, "0");
  await read(before, 40);
  const rows = (checkpoint: bigint) =>
    Array.from({ length: 20 }, (_, index) => activity(checkpoint, { index }));
  await emptyActivity(database);
  await addActivity(database, rows(1n));
  const during = await service.follow(ACME, "0");
  await read(during, 20);
  const other = `${address("07")}::o::O`;
  const others = await service.follow(other, "0");
  service.readings();
  await commit(database, 3n, 1, other);
  await until("what happens elsewhere", () => others.length === 1);
  expect(service.readings()).toBeLessThan(8);
  await addActivity(database, rows(2n));
  await commit(database, 4n, 1);
  const all = [before, during];
  await until("the rest", () => all.every((got) => got.length >= 41));
  expect(all.map((got) => [got.length, new Set(got).size])).toEqual(all.map(() => [41, 41]));
});

test("a follower of an owner gets the events that a rebuild restores, even if others had them before", async () => {
  await using service = await counted();
  const { database } = service;
  await knowCoin(database, ACME);
  const add = async (...checkpoints: readonly bigint[]) => {
    const changes = checkpoints.map((checkpoint) => ({
      ...activity(checkpoint),
      owner: BOB,
      cause: "MINT" as const,
      change: 1n,
      balanceAfter: checkpoint,
    }));
    await database.transaction((tx) =>
      writeAll(tx, foldSharedTokens({ ...tokenRows([]), changes })),
    );
  };
  const committed = async (checkpoint: bigint) => {
    await setWatermarks(database, checkpoint);
    await setHighWater(database, checkpoint);
  };
  await add(1n, 2n, 3n);
  await committed(3n);
  const first = "0:0x0:TOKENS";
  const selection = (more: string) =>
    `balanceChanges(coinType: $coin, after: $after ${more}) { cursor }`;
  const all = await service.follow(ACME, first, selection(""));
  await until("all are there", () => all.length === 3);
  await emptyChanges(database);
  await add(1n);
  const bobs = await service.follow(ACME, first, selection(`owner: "${BOB}"`));
  await until("what is there", () => bobs.length === 1);
  await add(2n, 3n);
  await committed(4n);
  await until("the rest", () => bobs.length === 3);
  expect(bobs).toEqual(all);
});

test("an event during a database failure is still sent, whole and in order", async () => {
  let lookUps = 0;
  await using service = await counted(async (text, { db }) => {
    // Decimals that are not known are looked up for every event.
    if (!text.includes("log_coins")) return;
    lookUps += 1;
    if (lookUps === 3) await db.sql.unsafe("select pg_terminate_backend(pg_backend_pid())");
  });
  await knowCoin(service.database, ACME);
  await commit(service.database, 1n, 5);
  const errors: unknown[] = [];
  const { subscription } = createEngine(schema, service.sources).read(
    JSON.stringify({ query: ACTIVITY, variables: { coin: ACME, after: "0" } }),
  );
  const begun = await subscription?.open(
    { pace: (read) => read(), signal: service.over, lastEventId: undefined },
    { requestId: "r", log: { error: (said: unknown) => errors.push(said) }, signal: service.over },
  );
  if (begun?.kind !== "open") throw new Error("not a subscription");
  const sent: string[] = [];
  for await (const { bytes } of begun.frames) {
    sent.push(bytes.toString());
    if (sent.length === 5) break;
  }
  expect(lookUps).toBeGreaterThan(5);
  expect(sent.map((text) => /^id: (\d+)\n/m.exec(text)?.[1])).toEqual(
    ["0", "1", "2", "3", "4"].map((index) => `100002000${index}`),
  );
  expect(sent.filter((text) => text.includes("errors"))).toEqual([]);
  expect(errors).toEqual([]);
});
