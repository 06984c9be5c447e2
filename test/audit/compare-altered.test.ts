// @module-tag thorough
/** A deployment and copies of it, each altered in some tables: `compare` names what differs. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { balancesOf } from "../../demo/model.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterLog } from "../log/damage.ts";
import { copyOf } from "../postgres.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "./demo-register.ts";

let here: DemoRegister;

beforeAll(async () => {
  here = await demoRegister();
  await here.advance(120);
  await publishRoots();
});
afterAll(() => here[Symbol.asyncDispose]());

const masterKey = randomBytes(32).toString("base64");

/** Publishes roots of both versions: a statement leads up to one. */
const publishRoots = async () => {
  const [coinType = ""] = here.model.coins.keys();
  const [owner = ""] = [...balancesOf(here.model, coinType)]
    .filter(([, { tokens, grants }]) => tokens + grants > 0n)
    .map(([address]) => address);
  for (const at of ["110", "119"]) {
    const args = ["statement", "--coin", coinType, "--owner", owner, "--at", at];
    const ran = await runCommand(args, {
      DATABASE_URL: here.database.url,
      CALLBACK_MASTER_KEY: masterKey,
    });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
  }
};

const compared = z.object({
  identical: z.boolean(),
  missing: z.array(z.string()),
  compared: z.array(z.object({ what: z.string(), rows: z.number() })),
  differences: z.array(
    z.object({
      what: z.string(),
      row: z.string(),
      here: z.record(z.string(), z.unknown()).nullable(),
      there: z.record(z.string(), z.unknown()).nullable(),
    }),
  ),
});

/** Compares with a copy, after these statements of whoever owns it: no trigger holds them back. */
const compareWith = async (statements: readonly string[], ...args: readonly string[]) => {
  await using there = await copyOf(here.database);
  for (const statement of statements) await alterLog(there, statement);
  await using other = await serveGraphql(there);
  const { code, stdout, stderr } = await runCommand(["compare", other.url, "--json", ...args], {
    DATABASE_URL: here.database.url,
    HOLDERBOOK_COMPARE_KEY: other.key,
  });
  expect(stderr).toBe("");
  return { code, ...compared.parse(JSON.parse(stdout)) };
};

const ANY = "where ctid = (select ctid from";
/** Of one row; `which` is what is behind `from`. */
const one = (table: string, change: string, which = table) =>
  `update ${table} set ${change} ${ANY} ${which} limit 1)`;

const swap = (table: string, column: string, key: string, where: string) => `
  with two as (select ${key} as key, ${column} as value, row_number() over (order by ${key}) as number
               from (select distinct on (${column}) ${key}, ${column} from ${table} where ${where}) as d limit 2)
  update ${table} t set ${column} = (select value from two o where o.key <> t.${key})
  from two where two.key = t.${key} and ${where}`;

const RANGES = "token objects, past and present";
const GRANTS = "grants, past and present";
const MEMBERSHIPS = "holders, groups and freezes of wallets, past and present";
const ROLES = "roles, past and present";
const open = "until = 9223372036854775807";

type Alteration = readonly [about: string, table: string, how: string, what: string];

/**
 * What is altered, where, how, and what names it. Those of one run are made at once, in one deployment: each is
 * named by something else, which no other of its run alters.
 */
const RUNS: readonly (readonly Alteration[])[] = [
  [
    ["an amount", "token_activity", one("token_activity", "amount = amount + 1"), "tokenActivity"],
    [
      "a cause",
      "token_changes",
      one("token_changes", "cause = 'BURN'", "token_changes where cause = 'FORCE_TRANSFER'"),
      "balanceChanges",
    ],
    [
      "swapped holders of events",
      "holder_events",
      swap("holder_events", "holder_id", "position", "event_type = 'holder_address_added'"),
      "holderEvents",
    ],
    [
      "a group",
      "membership_ranges",
      one("membership_ranges", "value = value + 7", "membership_ranges where aspect = 'group'"),
      MEMBERSHIPS,
    ],
    ["a role event", "role_events", one("role_events", "granted = not granted"), "roleEvents"],
    [
      "the end of a role",
      "role_ranges",
      one(
        "role_ranges",
        "until = until - 1",
        `role_ranges where not ${open} and until > checkpoint + 1`,
      ),
      ROLES,
    ],
    [
      "a role that is held now",
      "wallet_roles",
      `delete from wallet_roles ${ANY} wallet_roles limit 1)`,
      "walletRoles now",
    ],
    [
      "an object",
      "shared_token_objects",
      one("shared_token_objects", "balance = balance + 1"),
      RANGES,
    ],
    [
      "a grant",
      "timelock_objects",
      one("timelock_objects", "release_count = release_count + 1"),
      GRANTS,
    ],
    [
      "a name",
      "tokens",
      one(
        "tokens",
        "name = 'Renamed'",
        "tokens where name is not null and first_checkpoint is not null",
      ),
      "tokens",
    ],
    ["a supply", "token_supplies", one("token_supplies", "supply = supply + 1"), "supplies"],
    [
      "another root",
      "published_roots",
      "update published_roots set root = repeat('ab', 32) where checkpoint = 110",
      "roots of version 1 that are published there",
    ],
    [
      "another root of version 2",
      "log_sequence",
      `update log_sequence set body = regexp_replace(body, '"root":"[0-9a-f]+"', '"root":"' || repeat('ab', 32) || '"')
     where kind = 'root'`,
      "roots of version 2 that are published there",
    ],
    [
      "another head",
      "log_heads",
      `insert into log_heads (checkpoint, hash, signature, key_id)
    select checkpoint, sha256(hash), 'x', 'x' from log_chain order by checkpoint desc limit 1`,
      "heads of the log that are published there",
    ],
    [
      "a kept digest",
      "role_changes_digests",
      "update role_changes_digests set digest = sha256(digest)",
      "digest of role_changes",
    ],
  ],
  [
    [
      "a time, by a millisecond",
      "token_activity",
      one("token_activity", "timestamp_ms = timestamp_ms + 1"),
      "tokenActivity",
    ],
    [
      "a balance after",
      "token_changes",
      one("token_changes", "balance_after = balance_after + 1"),
      "balanceChanges",
    ],
    [
      "a freeze of events",
      "holder_events",
      one("holder_events", "is_frozen = not is_frozen", "holder_events where is_frozen"),
      "holderEvents",
    ],
    [
      "swapped holders",
      "membership_ranges",
      swap("membership_ranges", "value", "address", `aspect = 'holder' and ${open}`),
      MEMBERSHIPS,
    ],
    [
      "an owner of the past",
      "shared_token_ranges",
      one("shared_token_ranges", "owner = '0x' || repeat('cd', 32)"),
      RANGES,
    ],
    [
      "the objects of a balance",
      "balances",
      one("balances", "token_count = token_count + 1"),
      "tokenBalance now",
    ],
    [
      "a symbol",
      "tokens",
      one(
        "tokens",
        "symbol = 'OTHER'",
        "tokens where symbol is not null and first_checkpoint is not null",
      ),
      "tokens",
    ],
  ],
  [
    [
      "a signer",
      "token_activity",
      one(
        "token_activity",
        "signer = to_address",
        "token_activity where to_address is not null and to_address <> signer",
      ),
      "tokenActivity",
    ],
    [
      "a cause of grants",
      "grant_changes",
      one("grant_changes", "cause = 'UNKNOWN'"),
      "balanceChanges",
    ],
    [
      "a freeze",
      "membership_ranges",
      `delete from membership_ranges ${ANY} membership_ranges where aspect = 'freeze' limit 1)`,
      MEMBERSHIPS,
    ],
    [
      "a role left out",
      "role_ranges",
      `delete from role_ranges ${ANY} role_ranges where ${open} limit 1)`,
      ROLES,
    ],
    [
      "a version of the past",
      "shared_token_ranges",
      one("shared_token_ranges", "version = version + 1"),
      RANGES,
    ],
    [
      "a grant of the past",
      "timelock_ranges",
      one("timelock_ranges", "tokens_transferred = tokens_transferred + 1"),
      GRANTS,
    ],
    [
      "a balance",
      "balances",
      one("balances", "token_balance = token_balance + 1", "balances where token_balance > 0"),
      "tokenHolders now",
    ],
    [
      "a first checkpoint",
      "tokens",
      one(
        "tokens",
        "first_checkpoint = first_checkpoint + 1",
        "tokens where first_checkpoint is not null",
      ),
      "tokens",
    ],
    [
      "digests of checkpoints",
      "log_blocks",
      "update log_blocks set digests = overlay(digests placing sha256(digests) from length(digests) - 31 for 32)",
      "times and digests of checkpoints at random",
    ],
    [
      "a total",
      "published_roots",
      "update published_roots set total = '1' where checkpoint = 119",
      "roots of version 1 that are published there",
    ],
    [
      "decimals of a root",
      "log_sequence",
      `update log_sequence set body = regexp_replace(body, '"decimals":"[0-9]+"', '"decimals":"3"') where kind = 'root'`,
      "roots of version 2 that are published there",
    ],
  ],
  [
    [
      "a movement left out",
      "token_activity",
      `delete from token_activity ${ANY} token_activity limit 1)`,
      "tokenActivity",
    ],
    [
      "a holder with a zero balance",
      "membership_ranges",
      "insert into membership_ranges select coin_type, '0x' || repeat('ab', 32), 'holder', 1, 100, 9223372036854775807 from tokens where first_checkpoint is not null limit 1",
      MEMBERSHIPS,
    ],
    [
      "a holder with a zero balance",
      "balances",
      `insert into balances (coin_type, owner, token_count) select coin_type, owner, 1 from token_changes c
     where not exists (select from balances b where b.coin_type = c.coin_type and b.owner = c.owner) limit 1`,
      "tokenBalance now",
    ],
    [
      "the contract's packages",
      "log_high_water",
      "update log_high_water set packages = '{}'",
      "walletRoles",
    ],
  ],
  [
    [
      "decimals",
      "log_coins",
      one(
        "log_coins",
        "decimals = decimals + 1",
        "log_coins where is_security and decimals is not null",
      ),
      "tokens",
    ],
    [
      "times of checkpoints",
      "log_blocks",
      "update log_blocks set times = overlay(times placing sha256(times) from 1 for 6)",
      "times and digests of checkpoints at random",
    ],
  ],
];

test("two deployments with the same rows are identical", async () => {
  const found = await compareWith([]);
  expect(found).toMatchObject({ code: 0, identical: true, differences: [] });
  const rows = new Map(found.compared.map((each) => [each.what, each.rows]));
  for (const version of [1, 2]) {
    expect(rows.get(`roots of version ${version} that are published there`)).toBe(2);
  }
});

test("with --full, every row up to the checkpoint is compared and counted", async () => {
  const told = await compareWith([], "--through", "60", "--full");
  const [counts] = await here.database.sql<Record<string, number>[]>`
    select (select count(*)::int4 from token_activity where position < 61 * 1000000000::int8) as "tokenActivity",
           (select count(*)::int4 from holder_events where position < 61 * 1000000000::int8) as "holderEvents",
           (select count(*)::int4 from role_ranges where checkpoint <= 60) as "roles, past and present"`;
  const rows = new Map(told.compared.map((each) => [each.what, each.rows]));
  for (const [what, count] of Object.entries(counts ?? {})) expect(rows.get(what)).toBe(count);
});

test.each(RUNS.map((run, number) => [number + 1, RUNS.length, run] as const))(
  "the alterations of run %i of %i are each detected by name",
  async (_number, _of, run) => {
    expect(new Set(run.map(([, , , what]) => what)).size).toBe(run.length);
    const found = await compareWith(run.map(([, , how]) => how));
    expect(found.code).toBe(1);
    for (const [about, table, , what] of run) {
      const named = found.differences.filter((each) => each.what === what);
      expect(named, `${about} in ${table}`).not.toEqual([]);
      // Both values, or that one of them has no such row.
      for (const { row, here: own, there: others } of named) {
        expect(row).not.toBe("");
        expect(own).not.toEqual(others);
      }
    }
  },
);

test("a pipeline set back, and a log that begins later, reduce what the comparison shows", async () => {
  const found = await compareWith(
    [
      "update role_changes_watermark set next_checkpoint = 10",
      "update log_high_water set first_checkpoint = 5",
    ],
    "--pipeline",
    "role_changes",
  );
  expect(found).toMatchObject({
    ...{ code: 3, identical: false },
    missing: expect.arrayContaining([
      expect.stringMatching(/^digests of role_changes: .* is not indexed yet; the last one is 9$/),
      expect.stringMatching(/^the other's log begins at checkpoint 5, this one's at 0/),
    ]),
  });
});
