import { graphql } from "graphql";
import { expect, test } from "vitest";
import type { Db } from "../../src/database/connect.ts";
import { createContext } from "../../src/graphql/context.ts";
import { schema } from "../../src/graphql/schema.ts";
import { freshDatabase } from "../postgres.ts";
import { PACKAGE, PIPELINES } from "./api.ts";
import { ACME, activity, addActivity, address, knowCoin } from "./rows.ts";

/** The same database, its statements through `sql` counted. */
const counting = (db: Db) => {
  const statements: string[] = [];
  const sql = new Proxy(db.sql, {
    apply: (target, self, args: [unknown, ...unknown[]]) => {
      const [template] = args;
      if (Array.isArray(template)) statements.push(template.join("?"));
      return Reflect.apply(target, self, args);
    },
  });
  const counted: Db = new Proxy(db, {
    get: (target, name) => (name === "sql" ? sql : Reflect.get(target, name)),
  });
  return { counted, statements };
};

test("decimals are looked up once for all rows, and a coin type's spelling once per request", async () => {
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
    b: tokenActivity(coinType: "0xACCE::acme::ACME", limit: 500, offset: 1) { decimals }
    c: tokenBalance(coinType: "0xACCE::acme::ACME", owner: "0x1") { decimals }
    d: tokenActivity(coinType: $other, limit: 500) { decimals }
  }`;
  const { data, errors } = await graphql({
    schema,
    source: query,
    variableValues: { other },
    contextValue: createContext({
      db: counted,
      packages: [PACKAGE],
      pipelines: PIPELINES,
      now: Date.now,
    }),
  });
  expect(errors).toBeUndefined();
  expect(data?.c).toEqual({ decimals: 6 });
  expect(data?.d).toEqual(Array.from({ length: 500 }, () => ({ decimals: 2 })));
  const spellings = statements.filter((text) => text.includes("folded"));
  const decimals = statements.filter((text) => text.includes("decimals is not null"));
  expect(spellings).toHaveLength(2);
  // Once per coin type at the most: the answers of the four queries come when they come.
  expect(decimals.length).toBeLessThanOrEqual(2);
  expect(decimals.length).toBeGreaterThan(0);
});
