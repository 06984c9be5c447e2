/**
 * Reads of the GraphQL API with one streaming replica beside the primary, beside those with the primary alone: two
 * services over the same rows, asked in turn. Both servers of Postgres share the processors here, so the ratio shows
 * what spreading costs; with a machine for each it would show what it gains.
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../src/database/connect.ts";
import { migrate } from "../src/database/migrate.ts";
import { startPrimary } from "../test/streaming-replica.ts";
import { type Figure, inTurn, ratioOf } from "./figure.ts";
import { fillTable, writeBasics } from "./graphql-fill.ts";
import { COIN, GROWING, wallet } from "./graphql-rows.ts";
import { type Question, startService } from "./graphql-servers.ts";
import { startLoad } from "./load.ts";

const ROWS = 10_000;
const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;
const ROUNDS = 3;
const ROUND_MS = 2_000;

const QUESTIONS: readonly Question[] = [
  { name: "tokenBalance", variables: { coinType: COIN, owner: wallet(5) } },
  { name: "tokenHolders", variables: { coinType: COIN, limit: 100 } },
  { name: "tokenActivity", variables: { coinType: COIN, limit: 100 } },
];

/** Takes half a minute. */
export const bench = async (): Promise<readonly Figure[]> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "holderbook-bench-"));
  await using primary = await startPrimary();
  const { url } = primary;
  await using database = connect({ url, max: 8, applicationName: "bench" });
  await migrate(database);
  await writeBasics(database, []);
  for (const table of GROWING) {
    await fillTable(database, table, ROWS);
    // A replica has none of what is unlogged.
    await database.sql`alter table ${database.sql(table)} set logged`;
  }
  const standby = await primary.standby("replica");
  await using load = startLoad();
  await using alone = await startService({ database, url, folder: join(folder.path, "alone") });
  await using spread = await startService(
    { database, url, folder: join(folder.path, "spread") },
    { DATABASE_READ_URL: standby.url },
  );
  // The keys of both, too.
  await standby.caughtUp();
  const figures: Figure[] = [];
  for (const question of QUESTIONS) {
    const { length } = Buffer.from(await alone.ask(question));
    const rates = await inTurn(
      ROUNDS,
      [alone, spread].map((service) => async (isWarmUp) => {
        const calls = [service.call(question, length)];
        const forMs = isWarmUp ? WARM_UP_MS : ROUND_MS;
        return (await load.ask({ calls, connections: CONNECTIONS, forMs })).perSecond;
      }),
    );
    const [onOne = [], onTwo = []] = rates;
    figures.push({
      name: question.name,
      what: "Replica: GraphQL requests a second with one streaming replica / with the primary alone, both on the same processors, three queries",
      ...ratioOf("/s", onTwo, onOne),
      ...{ better: "more", aim: null },
    });
    process.stderr.write(`${question.name}\n`);
  }
  const reads = await readsOf(standby.url);
  if (reads === 0) throw new Error("no read reached the replica");
  return figures;
};

/** Rows that callers' statements fetched from a server's tables. */
const readsOf = async (url: string): Promise<number> => {
  await using database = connect({ url, max: 1, applicationName: "bench" });
  const [row] = await database.sql<{ reads: number }[]>`
    select coalesce(sum(idx_scan), 0)::int4 as reads from pg_stat_user_tables
    where relname in ('balances', 'token_activity')`;
  return row?.reads ?? 0;
};
