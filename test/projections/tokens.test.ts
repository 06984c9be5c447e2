import { expect, test } from "vitest";
import { tokens } from "../../src/projections/tokens.ts";
import { freshDatabase } from "../postgres.ts";
import { plannedNodes } from "./query-plan.ts";

test("the list of tokens does not scan all coins of the chain", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  await sql`
    insert into tokens select '0x' || n || '::coin::COIN', null, 'COIN', 'Coin' from generate_series(1, 20000) n`;
  await sql`insert into tokens values ('0xabc::acme::ACME', 7, 'ACME', 'Acme')`;
  await sql`analyze tokens`;
  const nodes = await plannedNodes(database, (on) => tokens(on, { limit: 100 }));
  expect(nodes.find(({ relation }) => relation === "tokens")).toMatchObject({
    rows: 1,
    filtered: 0,
  });
});
