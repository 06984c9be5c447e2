import { expect, test } from "vitest";
import { writeNow } from "../../src/database/writing.ts";
import { clearBalances, ImpossibleBalanceError } from "../../src/projections/balances.ts";
import { asParts, writeAll } from "../../src/projections/batch-write.ts";
import { foldSharedTokens } from "../../src/projections/shared-token-objects.ts";
import { foldTimelocks } from "../../src/projections/timelock-objects.ts";
import { remedyOf } from "../../src/waiting/remedy.ts";
import { ACME, address, BETA } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { grantRows, tokenRows } from "./object-rows.ts";

const OWNERS = 40;
const owner = (n: number) => address((n % OWNERS).toString(16).padStart(2, "0"));

/** Round `round` of changes: objects change hands, appear and disappear, in an order of its own. */
const changes = (round: number, salt: number) =>
  Array.from({ length: 120 }, (_, n) => {
    const object = (n * 7 + salt * 3) % 120;
    const gone = (object + round) % 5 === 0;
    const coinType = object % 2 === 0 ? ACME : BETA;
    return {
      objectId: address(object.toString(16)),
      coinType,
      state: gone
        ? null
        : {
            coinType,
            owner: owner(object * 13 + round * salt),
            version: BigInt(round),
            checkpoint: BigInt(round),
          },
    };
  });

const tokenChanges = (round: number) =>
  changes(round, 11).map(({ state, ...object }) => ({
    ...object,
    state: state && { ...state, balance: BigInt(round + 1) },
  }));

const foldTokens = (database: TestDatabase, round: number) =>
  database.transaction((tx) => writeAll(tx, foldSharedTokens(tokenRows(tokenChanges(round)))));

const foldGrants = (database: TestDatabase, round: number) =>
  database.transaction((tx) =>
    writeAll(
      tx,
      foldTimelocks(
        grantRows(
          changes(round, 17).map(({ state, ...object }) => ({
            ...object,
            state: state && {
              ...state,
              funder: owner(0),
              releaseScheduleId: 0n,
              releaseCount: 1n,
              delayUntilFirstReleaseMs: 0n,
              periodBetweenReleasesMs: 0n,
              initialReleasePortionBps: 0n,
              commencementTimestampMs: 0n,
              totalAmount: 1_000n,
              tokensTransferred: 0n,
              leftBalance: BigInt(round * 2),
            },
          })),
        ),
      ),
    ),
  );

/** Rows whose sums are not those of the live objects. */
const wrongRows = (database: TestDatabase) => database.sql`
  with tokens as (
    select coin_type, owner, sum(balance) as held, count(*) as objects
    from shared_token_objects group by 1, 2
  ), grants as (
    select coin_type, owner, sum(left_balance) as held, count(*) as objects
    from timelock_objects group by 1, 2
  )
  select * from tokens full join grants using (coin_type, owner)
  full join balances b using (coin_type, owner)
  where (b.token_balance, b.token_count, b.grant_balance, b.grant_count, b.total) is distinct from (
    coalesce(tokens.held, 0), coalesce(tokens.objects, 0),
    coalesce(grants.held, 0), coalesce(grants.objects, 0),
    coalesce(tokens.held, 0) + coalesce(grants.held, 0))`;

test("tokens and grants of the same owners, folded at the same time, lose nothing and never deadlock", async () => {
  await using database = await freshDatabase({ max: 8 });
  const rounds = Array.from({ length: 30 }, (_, round) => round);
  const deadlocksBefore = await deadlocks(database);
  await Promise.all([
    (async () => {
      for (const round of rounds) await foldTokens(database, round);
    })(),
    (async () => {
      for (const round of rounds) await foldGrants(database, round);
    })(),
  ]);
  expect(await wrongRows(database)).toEqual([]);
  const [count] = await database.sql<{ owners: bigint }[]>`
    select count(*) as owners from balances where token_count > 0 and grant_count > 0`;
  expect(count?.owners).toBeGreaterThan(10n);
  expect(await deadlocks(database)).toBe(deadlocksBefore);
});

test("one part can be rebuilt while the other goes on", async () => {
  await using database = await freshDatabase({ max: 8 });
  await foldTokens(database, 0);
  await foldGrants(database, 0);
  const grants = (async () => {
    for (let round = 1; round < 12; round += 1) await foldGrants(database, round);
  })();
  await database.transaction(async (tx) => {
    await tx.sql`truncate shared_token_objects`;
    await clearBalances(tx, "token");
  });
  for (let round = 0; round < 3; round += 1) await foldTokens(database, round);
  await grants;
  expect(await wrongRows(database)).toEqual([]);
});

test("an impossible balance stops the pipeline and is not written", async () => {
  await using database = await freshDatabase();
  await foldTokens(database, 0);
  await database.sql`update balances set token_balance = 0, token_count = 0`;
  const failed = await foldTokens(database, 1).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(ImpossibleBalanceError);
  expect(remedyOf(failed)).toBe("stop");
  expect(String(failed)).toMatch(
    /token balance of 0x0{62}\w\w in 0x\S+ would become -\d+ in -?\d+ objects/,
  );
  const atOnce = asParts(foldSharedTokens(tokenRows(tokenChanges(1))), 1);
  if (atOnce === undefined) throw new Error("the changes are too many for one statement");
  await expect(writeNow(database.sql, atOnce)).rejects.toEqual(failed);
  const [row] = await database.sql<{ changed: bigint }[]>`
    select count(*) as changed from balances where token_count <> 0`;
  expect(row?.changed).toBe(0n);
});

const deadlocks = async (database: TestDatabase) => {
  const [row] = await database.sql<{ deadlocks: bigint }[]>`
    select deadlocks from pg_stat_database where datname = current_database()`;
  return row?.deadlocks;
};
