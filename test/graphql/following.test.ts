import { createSourceEventStream, parse, validateSubscriptionArgs } from "graphql";
import { expect, test } from "vitest";
import type { Reads } from "../../src/database/readers.ts";
import { contextsOver } from "../../src/graphql/context.ts";
import { Live } from "../../src/graphql/event-log.ts";
import { schema } from "../../src/graphql/schema.ts";
import { LOG_CHANNEL } from "../../src/log/channel.ts";
import { freshDatabase } from "../postgres.ts";
import { PACKAGE, PIPELINES } from "./api.ts";
import { ACME, address, setHighWater } from "./rows.ts";
import { commit, until } from "./streams.ts";

/** Follows logs over a database whose statements are counted. */
const counted = async () => {
  const database = await freshDatabase();
  const statements: string[] = [];
  const reads: Reads = {
    sql: {
      unsafe: async <Rows extends object[]>(
        ...statement: Parameters<Reads["sql"]["unsafe"]>
      ): Promise<Rows> => {
        statements.push(statement[0]);
        return await database.db.sql.unsafe<Rows>(...statement);
      },
    },
  };
  const { ofSubscription } = contextsOver({
    readers: { for: () => reads, snapshot: () => ({ ...reads, end: () => undefined }) },
    packages: () => [PACKAGE],
    pipelines: PIPELINES,
    now: Date.now,
    onAppend: (heard, signal) => database.listen(LOG_CHANNEL, heard, signal),
  });
  const over = new AbortController();
  /** Positions, as they come. */
  const follow = async (coin: string, after?: string): Promise<readonly (string | undefined)[]> => {
    const args = validateSubscriptionArgs({
      schema,
      document: parse(
        `subscription ($coin: String!, $after: String) {
          tokenActivity(coinType: $coin, after: $after) { position } }`,
      ),
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

test("a change is read once, however many follow it, and one of others is not read at all", async () => {
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

test("of many coin types those that have grown are found with one statement", async () => {
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

test("nothing is asked while nobody follows", async () => {
  await using service = await counted();
  await commit(service.database, 1n, 1);
  await setHighWater(service.database, 2n);
  expect(service.statements).toEqual([]);
});
