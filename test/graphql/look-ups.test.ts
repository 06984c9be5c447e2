import { graphql } from "graphql";
import { expect, test } from "vitest";
import type { Db } from "../../src/database/connect.ts";
import type { Reads } from "../../src/database/readers.ts";
import { createContexts } from "../../src/graphql/context.ts";
import { schema } from "../../src/graphql/schema.ts";
import { freshDatabase } from "../postgres.ts";
import { PACKAGE, PIPELINES } from "./api.ts";
import { ACME, activity, addActivity, address, knowCoin } from "./rows.ts";

/** One and the same for whatever a request needs. */
const readersOver = (reads: Reads) => ({
  for: () => reads,
  snapshot: () => ({ ...reads, end: () => undefined }),
});

/** The same database, the texts of its prepared statements gathered. */
const counting = (db: Db) => {
  const statements: string[] = [];
  const sql = new Proxy(db.sql, {
    get: (target, name) => {
      if (name !== "unsafe") return Reflect.get(target, name);
      return (...args: Parameters<typeof target.unsafe>) => {
        statements.push(args[0]);
        return target.unsafe(...args);
      };
    },
  });
  const counted: Db = new Proxy(db, {
    get: (target, name) => (name === "sql" ? sql : Reflect.get(target, name)),
  });
  return { counted, statements };
};

test("a coin type and its decimals are looked up once, whatever its spelling and however many ask", async () => {
  await using database = await freshDatabase();
  await knowCoin(database, ACME, 6);
  const other = `${address("07")}::other::OTHER`;
  await knowCoin(database, other, 2);
  await addActivity(
    database,
    [ACME, other].flatMap((coinType) =>
      Array.from({ length: 500 }, (_, i) => activity(BigInt(i), { coinType })),
    ),
  );
  const { counted, statements } = counting(database.db);
  const query = `query ($other: String!) {
    a: tokenActivity(coinType: "0xACCE::acme::ACME", limit: 500) { decimals }
    b: tokenActivity(coinType: "0x0acce::acme::ACME", limit: 500, offset: 1) { decimals }
    c: tokenBalance(coinType: "0xACCE::acme::ACME", owner: "0x1") { decimals }
    d: tokenActivity(coinType: $other, limit: 500) { decimals }
  }`;
  const { openQuery: contextOf } = createContexts({
    readers: readersOver(counted),
    packages: () => [PACKAGE],
    pipelines: PIPELINES,
    now: Date.now,
  });
  const { context: contextValue } = await contextOf({});
  const variableValues = { other };
  const { data, errors } = await graphql({ schema, source: query, variableValues, contextValue });
  expect(errors).toBeUndefined();
  expect(data?.c).toEqual({ decimals: 6 });
  expect(data?.d).toEqual(Array.from({ length: 500 }, () => ({ decimals: 2 })));
  expect(statements.filter((text) => text.includes("log_coins"))).toHaveLength(2);
});

test("a list of unknown length is read alone the first time, a short one beside others afterwards", async () => {
  await using database = await freshDatabase();
  await knowCoin(database, ACME, 6);
  const under = { now: 0, most: 0 };
  const watched: Reads = {
    sql: {
      unsafe: async <Rows extends object[]>(
        ...statement: Parameters<Reads["sql"]["unsafe"]>
      ): Promise<Rows> => {
        under.now += 1;
        under.most = Math.max(under.most, under.now);
        try {
          return await database.db.sql.unsafe<Rows>(...statement);
        } finally {
          under.now -= 1;
        }
      },
    },
  };
  const { openQuery: contextOf } = createContexts({
    readers: readersOver(watched),
    packages: () => [PACKAGE],
    pipelines: PIPELINES,
    now: Date.now,
  });
  const source = `{ walletRoles(coinType: "${ACME}") { owner } }`;
  const ask = async (asked = source) => {
    const { context: contextValue } = await contextOf({});
    return graphql({ schema, source: asked, contextValue });
  };
  // The coin type is known from here on, and nothing but the lists is read.
  await ask(`{ tokenBalance(coinType: "${ACME}", owner: "0x1") { decimals } }`);
  const most = async () => {
    under.most = 0;
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask()));
    expect(answers.map(({ errors }) => errors)).toEqual(Array(5).fill(undefined));
    return under.most;
  };
  expect(await most()).toBe(1);
  expect(await most()).toBeGreaterThan(1);
});
