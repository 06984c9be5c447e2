// @module-tag thorough
import { expect, test } from "vitest";
import type { Sql, Tx } from "../../src/database/connect.ts";
import { writeNow } from "../../src/database/writing.ts";
import { asParts, writeAll } from "../../src/projections/batch-write.ts";
import { keepRegister } from "../../src/projections/holder-events.ts";
import { currentMemberships } from "../../src/projections/memberships.ts";
import { PLANS_BY_KEY } from "../../src/projections/plans.ts";
import { STILL_OPEN } from "../../src/projections/ranges.ts";
import { currentRoles, foldRoles } from "../../src/projections/roles.ts";
import { foldSharedTokens } from "../../src/projections/shared-token-objects.ts";
import { ACME, address } from "../pipelines/token-facts.ts";
import { freshDatabase } from "../postgres.ts";
import { tokenRows } from "./object-rows.ts";

/** Rows that Postgres knew of when it made its plans: of none, or of one, everything is cheap. */
const KNOWN = [0, 1, 2, 4, 8];
const MANY = 50_000;

/** Of an owner or an object, by its number. */
const nth = (n: number) => address(n.toString(16).padStart(6, "0"));

/** Roles of an owner each, that checkpoint 1 grants or checkpoint 2 revokes. */
const roles = (owners: readonly number[], granted: boolean) => ({
  events: owners.map((n) => ({
    coinType: ACME,
    position: BigInt(n + (granted ? 0 : 1_000_000)),
    txDigest: "digest",
    owner: nth(n),
    role: "role",
    granted,
    signer: nth(1),
    timestampMs: 1n,
  })),
  ranges: owners.map((n) => ({
    coinType: ACME,
    owner: nth(n),
    role: "role",
    checkpoint: 1n,
    until: granted ? STILL_OPEN : 2n,
  })),
});

/** Objects of an owner each, as they stand or gone. */
const objects = (numbers: readonly number[], stand: boolean) =>
  numbers.map((n) => ({
    objectId: nth(n),
    state: stand
      ? { coinType: ACME, owner: nth(n), balance: 7n, version: 1n, checkpoint: 1n }
      : null,
  }));

const frozen = (n: number) => ({ coinType: ACME, address: nth(n), aspect: "freeze" as const });

/** Events by number, and wallets that checkpoint 1 freezes or checkpoint 2 frees. */
const register = (numbers: readonly number[], wallets: readonly number[], isFrozen: boolean) => ({
  events: numbers.map((n) => ({
    coinType: ACME,
    position: BigInt(n),
    eventType: "holder_added" as const,
    txDigest: "digest",
    holderId: BigInt(n),
    address: null,
    groupId: null,
    isFrozen: null,
    timestampMs: 1n,
  })),
  memberships: wallets.map((n) => ({
    ...frozen(n),
    value: 1n,
    checkpoint: 1n,
    until: isFrozen ? STILL_OPEN : 2n,
  })),
});

/** Everything that small batches do, to rows of these numbers. */
const smallBatches = async (sql: Sql, numbers: readonly number[]) => {
  const newNumbers = numbers.map((n) => n + 1_000_000);
  await currentMemberships(sql, numbers.map(frozen));
  await currentRoles(sql, roles(numbers, true).ranges);
  for (const batch of [
    foldRoles(roles(numbers, false)),
    foldSharedTokens(tokenRows(objects(numbers, false))),
    keepRegister(register(newNumbers, numbers, false)),
  ]) {
    const writing = asParts(batch, 1);
    if (writing === undefined) throw new Error("the batch is too large for one statement");
    await writeNow(sql, writing);
  }
};

/** Entries of tables and their indexes that this transaction has read so far, by table, in whatever way. */
const entriesRead = async ({ sql }: Tx) => {
  const rows = await sql<{ table: string; count: bigint }[]>`
    select relname as table, seq_tup_read + (
      select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int8 from pg_index where indrelid = relid
    ) as count
    from pg_stat_xact_user_tables
    where relname in ('wallet_roles', 'shared_token_objects', 'balances', 'holder_events',
                      'role_ranges', 'membership_ranges')`;
  return new Map(rows.map(({ table, count }) => [table, Number(count)]));
};

test.each(KNOWN)(
  "a batch of few rows reads few rows, also with a plan made when the tables had %i",
  async (known) => {
    await using database = await freshDatabase();
    const few = Array.from({ length: known }, (_, n) => n);
    await database.transaction(async (tx) => {
      await writeAll(tx, foldRoles(roles(few, true)));
      await writeAll(tx, foldSharedTokens(tokenRows(objects(few, true))));
      await writeAll(tx, keepRegister(register(few, few, true)));
    });
    // All that Postgres knows of the tables is that they are a page each, or empty.
    await database.sql`vacuum analyze`;
    await using session = await database.session({ runtime: PLANS_BY_KEY });
    await session.transaction(async (tx) => {
      await smallBatches(tx.sql, [0]);
      // As another writer would add them: the owner of the plan is not told.
      await tx.sql`
      insert into wallet_roles (coin_type, owner, role, position)
      select ${ACME}, '0x' || lpad(to_hex(n), 64, '0'), 'role', n
      from generate_series(${known}, ${MANY}::int4) n`;
      await tx.sql`
      insert into shared_token_objects (object_id, coin_type, owner, balance, version, checkpoint)
      select '0x' || lpad(to_hex(n), 64, '0'), ${ACME}, '0x' || lpad(to_hex(n), 64, '0'), 7, 1, 1
      from generate_series(${known}, ${MANY}::int4) n`;
      await tx.sql`
      insert into balances (coin_type, owner, token_balance, token_count)
      select ${ACME}, '0x' || lpad(to_hex(n), 64, '0'), 7, 1
      from generate_series(${known}, ${MANY}::int4) n`;
      await tx.sql`
      insert into holder_events (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms)
      select ${ACME}, n, 'holder_added', 'digest', 1, 1 from generate_series(${known}, ${MANY}::int4) n`;
      await tx.sql`
      insert into role_ranges (coin_type, owner, role, checkpoint, until)
      select ${ACME}, '0x' || lpad(to_hex(n), 64, '0'), 'role', 1, ${STILL_OPEN}
      from generate_series(${Math.max(known, 1)}, ${MANY}::int4) n`;
      await tx.sql`
      insert into membership_ranges (coin_type, address, aspect, value, checkpoint, until)
      select ${ACME}, '0x' || lpad(to_hex(n), 64, '0'), 'freeze', 1, 1, ${STILL_OPEN}
      from generate_series(${Math.max(known, 1)}, ${MANY}::int4) n`;
      const before = await entriesRead(tx);
      await smallBatches(tx.sql, [20_000, 30_000]);
      const after = await entriesRead(tx);
      expect(after.size).toBe(6);
      for (const [table, count] of after) {
        expect(count - (before.get(table) ?? 0), table).toBeLessThan(30);
      }
    });
  },
);

test("a coin's progress in the log is read at its end, whatever Postgres estimates", async () => {
  await using database = await freshDatabase();
  const grow = (coin: string, from: number, to: number) =>
    database.sql.unsafe(`
    insert into holder_events (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms)
    select ${coin}, n, 'holder_added', 'digest', 1, 1 from generate_series(${from}, ${to}) n`);
  // Most coins have one event: so it seems to be with any coin.
  await grow("'coin ' || n", 1, 20_000);
  await grow(`'${ACME}'`, 1, 5_000);
  await database.sql`vacuum analyze holder_events`;
  await using session = await database.session({ runtime: PLANS_BY_KEY });
  await session.transaction(async (tx) => {
    const before = await entriesRead(tx);
    const tenMore = Array.from({ length: 10 }, (_, n) => 10_000 + n);
    const writing = asParts(keepRegister(register(tenMore, [], true)), 1);
    if (writing === undefined) throw new Error("the batch is too large for one statement");
    await writeNow(tx.sql, writing);
    const after = await entriesRead(tx);
    expect((after.get("holder_events") ?? 0) - (before.get("holder_events") ?? 0)).toBeLessThan(30);
  });
});

test("a batch of thousands is planned for the actual table sizes, and the next small one by key", async () => {
  await using database = await freshDatabase();
  await using session = await database.session({ runtime: PLANS_BY_KEY });
  const numbers = Array.from({ length: 3_000 }, (_, n) => n);
  const planning = async (sql: Sql) => {
    const [row] = await sql<{ mode: string; seqscan: string }[]>`
      select current_setting('plan_cache_mode') as mode, current_setting('enable_seqscan') as seqscan`;
    return row;
  };
  // One row after the other by its key would take the square of their number.
  const during = await session.transaction(async (tx) => {
    await writeAll(tx, foldRoles(roles(numbers, true)));
    return planning(tx.sql);
  });
  expect(during).toEqual({ mode: "force_custom_plan", seqscan: "on" });
  expect(await planning(session.sql)).toEqual({ mode: "force_generic_plan", seqscan: "off" });
});
