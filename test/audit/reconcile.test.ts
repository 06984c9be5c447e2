// @module-tag thorough
/** `reconcile`: what adds up, and which row it is when something does not. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { reconcile } from "../../src/audit/reconcile/reconcile.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterLog } from "../log/damage.ts";
import { copyOf } from "../postgres.ts";
import { alterRows } from "../projections/damage.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";

const CHECKPOINTS = 160;

let register: DemoRegister;
/** Its log is 60 checkpoints ahead of its pipelines. */
let behind: DemoRegister;
beforeAll(async () => {
  behind = await demoRegister();
  await behind.advance(CHECKPOINTS - 60);
  register = await behind.copy();
  await register.advance(60);
  await behind.advance(60, 0, { appendOnly: true });
});
afterAll(() => Promise.all([register, behind].map((each) => each[Symbol.asyncDispose]())));

const { signal } = new AbortController();

const run = (at?: bigint) =>
  reconcile(register.database, { signal, ...(at !== undefined && { at: async () => at }) });

test("an untouched register reconciles at every checkpoint", async () => {
  for (const at of [undefined, 0n, 1n, 60n, 159n]) {
    const { findings, notShown, notes, coins } = await run(at);
    const faith = at === undefined ? [] : [expect.stringContaining("taken on faith: the digests")];
    expect({ at, findings, notShown, notes }).toEqual({
      at,
      findings: [],
      notShown: [],
      notes: faith,
    });
    expect(coins).toBeGreaterThan(2);
  }
});

test("reconcile finds nothing while the register moves on in other batches", async () => {
  await using moving = await demoRegister({ seed: 11 });
  await moving.advance(60);
  const moveOn = async () => {
    for (let step = 0; step < 8; step += 1) await moving.advance(8, 30);
  };
  for (let run = 0; run < 2; run += 1) {
    const [{ findings }] = await Promise.all([reconcile(moving.database, { signal }), moveOn()]);
    expect(findings).toEqual([]);
  }
  // The log is ahead of the pipelines.
  await moving.advance(10, 0, { appendOnly: true });
  expect((await reconcile(moving.database, { signal })).findings).toEqual([]);
});

/** Runs with rows that were changed, which are put right again. */
const withChanged = async (table: string, statement: string, work: () => Promise<void>) => {
  const { database } = register;
  const [row] = await database.sql<{ columns: string }[]>`
    select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and attgenerated = ''`;
  const columns = row?.columns ?? "";
  await alterRows(database, `create table kept as select ${columns} from ${table}`);
  await alterRows(database, statement);
  try {
    await work();
  } finally {
    await alterRows(
      database,
      `delete from ${table}; insert into ${table} (${columns}) select ${columns} from kept; drop table kept`,
    );
  }
};

/** One row in the middle of a table. */
const SOME = (table: string, order: string, where = "true") =>
  `ctid = (select ctid from ${table} where ${where} order by ${order} limit 1 offset 3)`;

type Change = readonly [what: string, table: string, statement: string, lines: readonly RegExp[]];

const CHANGES: readonly Change[] = [
  [
    "a deleted activity row",
    "token_activity",
    `delete from token_activity where ${SOME("token_activity", "position", "activity_type = 'transfer'")}`,
    [
      /^token_activity, checkpoint \d+, coinType 0x\w+::\w+::\w+, position \d+: the row is missing; the log gives \{"activityType":"transfer"/,
    ],
  ],
  [
    "a deleted mint",
    "token_activity",
    `delete from token_activity where ${SOME("token_activity", "position", "activity_type = 'mint'")}`,
    [
      /^token_activity, 0x\w+::.*: minted less burned is \d+, but the treasury's supply is \d+$/,
      /^token_activity, checkpoint \d+, .*the row is missing/,
    ],
  ],
  [
    "an invented activity row",
    "token_activity",
    `insert into token_activity select coin_type, position + 7, activity_type, tx_digest, timestamp_ms, amount, from_address, to_address, signer, token_object_id from token_activity where ${SOME("token_activity", "position", "activity_type = 'transfer'")}`,
    [/^token_activity, checkpoint \d+, .*: the row is stored, but the log gives none/],
  ],
  [
    "an altered recipient",
    "token_activity",
    `update token_activity set to_address = '0xbad' where ${SOME("token_activity", "position", "activity_type = 'transfer'")}`,
    [/^token_activity, checkpoint .*: toAddress is 0xbad, the log gives 0x[0-9a-f]+$/],
  ],
  [
    "a raised balance",
    "balances",
    `update balances set token_balance = token_balance + 1 where ${SOME("balances", "coin_type, owner", "token_count > 0")}`,
    [
      /^balances, 0x\S+, owner 0x\w+: token_balance is \d+, but the objects in shared_token_objects hold \d+$/,
      /^balances, 0x\S+, owner 0x\w+: token_balance is \d+, but the last of token_changes left \d+$/,
    ],
  ],
  [
    "a raised balance of grants",
    "balances",
    `update balances set grant_balance = grant_balance + 5 where ${SOME("balances", "coin_type, owner", "grant_count > 0")}`,
    [/grant_balance is \d+, but the objects in timelock_objects/, /the last of grant_changes/],
  ],
  [
    "a holder that holds nothing",
    "balances",
    `insert into balances (coin_type, owner, token_balance, token_count) select coin_type, '0xbad', 5, 1 from balances limit 1`,
    [/owner 0xbad: token_balance is 5, but .* hold 0/, /left 0/, /token_count is 1/],
  ],
  [
    "a changed holder in an event",
    "holder_events",
    `update holder_events set holder_id = 4711 where ${SOME("holder_events", "position", "event_type = 'holder_address_added'")}`,
    [
      /^membership_ranges, .* holder, checkpoint \d+: it has \d+ until .*, but holder_events make it 4711 until/,
      /^holder_events, checkpoint \d+, .*: holderId is 4711, the log gives \d+$/,
    ],
  ],
  [
    "a changed holder of a wallet",
    "membership_ranges",
    `update membership_ranges set value = 4711 where ${SOME("membership_ranges", "checkpoint, address", "aspect = 'holder'")}`,
    [
      /^membership_ranges, 0x.* 0x\w+ holder, checkpoint \d+: it has 4711 until now, but holder_events make it \d+ until now$/,
      /^membership_ranges, checkpoint \d+, coinType \S+, address 0x\w+, aspect holder: value is 4711, the log gives \d+$/,
    ],
  ],
  [
    "a membership that ended too early",
    "membership_ranges",
    `update membership_ranges set until = checkpoint + 2 where ${SOME("membership_ranges", "checkpoint, address", "aspect = 'group' and until > 1000")}`,
    [
      /^membership_ranges, .* group, .* until \d+, but holder_events make it \d+ until now$/,
      /^membership_ranges, checkpoint \d+, .*: until is \d+, the log gives \d+$/,
    ],
  ],
  [
    "a role that nobody granted",
    "role_ranges",
    `insert into role_ranges select coin_type, '0xbad', role, checkpoint, until from role_ranges where ${SOME("role_ranges", "checkpoint")}`,
    [
      /^role_ranges, .* 0xbad .*: it has 1 until .*, but role_events make it nothing$/,
      /^role_ranges, checkpoint \d+, .*owner 0xbad, .*: the row is stored, but the log gives none/,
    ],
  ],
  [
    "a role that is held in the present alone",
    "wallet_roles",
    `insert into wallet_roles select coin_type, '0xbad', role, position from wallet_roles limit 1`,
    [/^wallet_roles, .*owner 0xbad, .*by role_events it is not held$/],
  ],
  [
    "a watermark moved back",
    "token_activity_watermark",
    `update token_activity_watermark set next_checkpoint = 120`,
    [
      /^token_activity_watermark: next_checkpoint is 120, but last_checkpoint 159 makes it 160$/,
      /^token_activity_digests: \d+ rows of checkpoint 1\d\d and later, beyond token_activity_watermark$/,
      /^token_activity: \d+ rows of checkpoint 1\d\d and later/,
    ],
  ],
  [
    "a watermark moved forward beyond the log",
    "role_changes_watermark",
    `update role_changes_watermark set next_checkpoint = 170, last_checkpoint = 169`,
    [/^role_changes_watermark: next_checkpoint is 170, but the log ends before 160$/],
  ],
  [
    "a watermark with another digest",
    "timelock_objects_watermark",
    `update timelock_objects_watermark set digest = sha256(digest), last_digest = 'x'`,
    [/^timelock_objects_watermark: last_digest is x, but/, /: digest is \w+, but the last of/],
  ],
  [
    "an object's range that was altered",
    "shared_token_ranges",
    `update shared_token_ranges set balance = balance + 1 where ${SOME("shared_token_ranges", "checkpoint")}`,
    [
      /^shared_token_ranges, checkpoint \d+, objectId 0x\w+, coinType \S+: balance is \d+, the log gives \d+$/,
    ],
  ],
  [
    "an object that stands with another balance",
    "shared_token_objects",
    `update shared_token_objects set balance = balance + 1 where ${SOME("shared_token_objects", "checkpoint")}`,
    [
      /hold \d+$/,
      /^shared_token_objects, checkpoint \d+, objectId 0x\w+, coinType \S+: balance is \d+, the log/,
    ],
  ],
  [
    "an altered movement",
    "token_changes",
    `update token_changes set change = change + 1 where ${SOME("token_changes", "position")}`,
    [
      /^token_changes, 0x\S+, owner 0x\w+, position \d+: balance_after is \d+, but \d+ and a change of -?\d+ make \d+$/,
      /^token_changes, checkpoint \d+, .*: change is -?\d+, the log gives -?\d+$/,
    ],
  ],
  [
    "an altered cause",
    "grant_changes",
    `update grant_changes set cause = 'MINT' where ${SOME("grant_changes", "position")}`,
    [/^grant_changes, checkpoint \d+, .*: cause is MINT, the log gives GRANT_FUNDED$/],
  ],
  [
    "another supply",
    "token_supplies",
    `update token_supplies set supply = supply + 1 where ${SOME("token_supplies", "checkpoint desc")}`,
    [/^token_supplies, checkpoint \d+, coinType .*: supply is \d+, the log gives \d+$/],
  ],
  [
    "a deleted digest",
    "holder_lifecycle_digests",
    `delete from holder_lifecycle_digests where ${SOME("holder_lifecycle_digests", "checkpoint")}`,
    [/^holder_lifecycle_digests, checkpoint \d+: the row is missing; the log gives /],
  ],
  [
    "an altered digest",
    "role_changes_digests",
    `update role_changes_digests set digest = sha256(digest) where ${SOME("role_changes_digests", "checkpoint")}`,
    [/^role_changes_digests, checkpoint \d+: digest is \w{64}, the log gives \w{64}$/],
  ],
];

/**
 * Of a pipeline whose watermark moved there are many findings, and of objects that stand otherwise the same as of a
 * raised balance.
 */
const isAlone = ([, table]: Change) =>
  /^((token_activity|role_changes)_watermark|shared_token_objects)$/.test(table);

/** Changes that are made at once, in one copy: each in another table. */
const runsOf = (changes: readonly Change[]): readonly (readonly Change[])[] => {
  const runs: Change[][] = [];
  for (const change of changes) {
    const run = runs.find(
      (others) =>
        !isAlone(change) && others.every((other) => !isAlone(other) && other[1] !== change[1]),
    );
    if (run === undefined) runs.push([change]);
    else run.push(change);
  }
  return runs;
};

test.each(runsOf(CHANGES).map((run) => [run.map(([what]) => what).join("; "), run] as const))(
  "each of these is found, with the row: %s",
  async (_what, run) => {
    await using database = await copyOf(register.database);
    for (const [, , statement] of run) await alterRows(database, statement);
    const { findings, more } = await reconcile(database, { signal });
    for (const [what, , , lines] of run) {
      const others = run.filter(([other]) => other !== what).flatMap((other) => other[3]);
      for (const line of lines) {
        const own = findings.filter(
          (finding) => line.test(finding) && !others.some((other) => other.test(finding)),
        );
        // A line that names it alone.
        expect.soft(own, `${what}: ${line}`).not.toEqual([]);
      }
    }
    expect(more).toBe(0);
    // Nothing that has nothing to do with it: behind a watermark there are many.
    const others = findings.filter(
      (finding) => !/^token_activity(_digests)?, .* gives none/.test(finding),
    );
    const named = run.reduce((sum, [, , , lines]) => sum + lines.length, 0);
    expect(others.length).toBeLessThan(named + run.length + 3);
  },
);

test("a watermark that skipped facts is detected by the missing rows", async () => {
  await using database = await copyOf(behind.database);
  for (const name of ["token_activity", "shared_token_objects", "timelock_objects"]) {
    await alterRows(
      database,
      `update ${name}_watermark set next_checkpoint = 160, last_checkpoint = 159,
         (last_digest, last_timestamp_ms) = (select last_digest, last_timestamp_ms from log_high_water)`,
    );
  }
  const at = async () => 159n;
  const { findings, more } = await reconcile(database, { signal, at });
  expect(findings.length).toBe(100);
  expect(more).toBeGreaterThan(0);
  expect(findings.join("\n")).toMatch(
    /^token_activity, checkpoint 1\d\d, .*: the row is missing; the log gives/m,
  );
});

test.each([
  [
    "by its layout is still being filled in",
    "token_activity",
    "update token_activity_watermark set layout = 1, digest = null",
    [/^token_activity: by its watermark \(layout 1/, /^token_activity: its rows were not compared/],
  ],
  [
    "is far behind the log",
    "role_changes",
    `update role_changes_watermark set next_checkpoint = 10, last_checkpoint = 9, digest = null,
       last_digest = 'x', last_timestamp_ms = 1`,
    [/^role_changes is 150 checkpoints behind the log/],
  ],
])("nothing is said to add up where a pipeline %s", async (_what, table, statement, lines) => {
  await withChanged(`${table}_watermark`, statement, async () => {
    const { notShown } = await run();
    for (const line of lines) expect(notShown).toContainEqual(expect.stringMatching(line));
    const command = await runCommand(["reconcile"], { DATABASE_URL: register.database.url });
    expect(command.stdout).not.toContain("everything adds up");
    expect(command.stdout).toContain(`not shown: ${notShown[0]}`);
    expect(command.code).toBe(table === "role_changes" ? 1 : 3);
  });
});

test("nothing is reported as reconciled where checkpoint times and digests are gone", async () => {
  await using database = await copyOf(register.database);
  await alterLog(database, "truncate log_blocks, log_block_chain");
  for (const args of [["reconcile"], ["verify", "--log"]]) {
    const settings = { DATABASE_URL: database.url, VERIFY: "links" };
    const { code, stdout } = await runCommand(args, settings);
    expect(stdout).toMatch(/^not shown: .*(log_blocks lacks|times and digests)/m);
    expect(stdout).not.toMatch(/everything adds up|is intact/);
    expect(code).toBe(3);
  }
});

test("decimals are compared with the log while it is ahead of the pipelines", async () => {
  await using database = await copyOf(behind.database);
  await alterRows(database, "update log_coins set decimals = decimals + 1");
  const { findings } = await reconcile(database, { signal });
  const wrong = findings.filter((line) => /^log_coins, .*: decimals is/.test(line));
  expect(wrong).toHaveLength(behind.model.coins.size);
});

test("decimals reported by the network are taken on faith and listed", async () => {
  await withChanged(
    "log_coins",
    "insert into log_coins values ('0x1::other::OTHER', '0x1::other::other', true, 4, 'network')",
    async () => {
      const { notes } = await run();
      expect(notes).toEqual(["taken on faith: decimals of 0x1::other::OTHER 4 by the network"]);
    },
  );
});

test("a single token is reconciled without digests and watermarks", async () => {
  const [coinType = ""] = register.model.coins.keys();
  const { findings, notes, coins } = await reconcile(register.database, { signal, coinType });
  expect({ findings, coins }).toEqual({ findings: [], coins: 1 });
  expect(notes).toHaveLength(1);
});

test("the command prints its findings line by line or as JSON, with its exit code", async () => {
  const command = (...args: readonly string[]) =>
    runCommand(["reconcile", ...args], { DATABASE_URL: register.database.url });
  expect(await command()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^everything adds up at checkpoint 159: \d+ tokens\ntaken on faith: the log .*\n$/,
    ),
  });
  expect(await command("--at", "9999")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the last one is 159"),
  });
  await withChanged("token_supplies", "update token_supplies set supply = supply + 1", async () => {
    const { code, stdout } = await command();
    expect(code).toBe(1);
    expect(stdout).toMatch(/\nreconciled at checkpoint 159: \d+ findings\ntaken on faith: .*\n$/);
    const past = await command("--at", "100", "--json");
    expect(past.code).toBe(1);
    expect(JSON.parse(past.stdout)).toMatchObject({
      checkpoint: "100",
      findings: expect.arrayContaining([expect.stringContaining("the treasury's supply is")]),
    });
  });
});
