/**
 * Each table of the log altered, as one who can write it would: `verify --log` finds it, with or without the source,
 * and so does the watch.
 */
import { randomBytes } from "node:crypto";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { verifyLog } from "../../src/audit/verify/verify-log.ts";
import { logCheck } from "../../src/audit/watch/log-check.ts";
import { completeChains } from "../../src/log/chain.ts";
import { openLog } from "../../src/log/log.ts";
import { integrityDetails } from "../../src/service/health/integrity-health.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterLog } from "../log/damage.ts";
import { batch, fact, PACKAGE } from "../log/facts.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let ledger: string;
let settings: Readonly<Record<string, string>>;

const TABLES = [
  "log_facts",
  "log_checkpoints",
  "log_blocks",
  "log_block_chain",
  "log_chain",
  "log_coin_chain",
  "log_inputs",
  "log_input_chain",
  "log_packages",
  "log_proofs",
  "log_committees",
  "log_high_water",
] as const;

beforeAll(async () => {
  [folder, database] = await Promise.all([temporaryFolder(), freshDatabase()]);
  ledger = join(folder.path, "ledger");
  const options = { checkpoints: 90, seed: 7, format: "chk", epochLength: 40 } as const;
  await writeDemoLedger({ dir: ledger, ...options });
  settings = {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: `dir:${ledger}`,
    VERIFY: "signatures",
    COMMITTEE_FILE: join(ledger, "ledger.json"),
  };
  for (const last of ["20", "59", "89"]) {
    const { code, stderr } = await runCommand(["index", "--last", last], settings);
    expect(code, stderr).toBe(0);
  }
  await signHead(database.sql, await openDeploymentKey(database, randomBytes(32)));
  for (const table of TABLES) {
    await database.sql.unsafe(`create table kept_${table} as table ${table}`);
  }
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const verify = (...args: readonly string[]) => runCommand(["verify", "--log", ...args], settings);

/** Runs with a changed log, which is put right again. */
const withLog = async (statement: string, work: () => Promise<void>) => {
  await alterLog(database, statement);
  try {
    await work();
  } finally {
    const again = TABLES.map(
      (table) => `delete from ${table}; insert into ${table} table kept_${table}`,
    );
    await alterLog(database, again.join(";"));
  }
};

test("an untouched log is whole, the report says what it takes on faith, and the source confirms the rest", async () => {
  const alone = await verify();
  expect(alone, alone.stdout).toMatchObject({ code: 0 });
  expect(alone.stdout).toMatch(
    /times and digests of 90 checkpoints fit their chain; \d+ signatures/,
  );
  expect(alone.stdout).toMatch(/^taken on faith: packages 0x.+: the log was begun with them/m);
  expect(alone.stdout).toMatch(/^taken on faith: the ledger: /m);
  const compared = await verify("--source", `dir:${ledger}`);
  expect(compared, compared.stdout).toMatchObject({ code: 0 });
  expect(compared.stdout).toMatch(/^compared with dir:\S+: 90 checkpoints, \d+ facts$/m);
  expect(compared.stdout).toMatch(/^taken on faith: what dir:\S+ says/m);
  expect(compared.stdout).not.toMatch(/the ledger: |--source shows it/);
  // No source shows whose packages they are, nor that Postgres answers everybody alike.
  expect(compared.stdout).toMatch(/^taken on faith: packages 0x.+: the log was begun with them/m);
  expect(compared.stdout).toMatch(/^taken on faith: that Postgres shows other sessions/m);
});

test("proofs and committees that arrive during a check are no fault", async () => {
  await using own = await freshDatabase();
  const index = async (last: string, more: object) => {
    const { code, stderr } = await runCommand(["index", "--last", last], {
      DATABASE_URL: own.url,
      LEDGER_SOURCE: `dir:${ledger}`,
      ...more,
    });
    expect(code, stderr).toBe(0);
  };
  await index("20", { VERIFY: "links" });
  const check = logCheck();
  // Its facts, then its blocks.
  for (let step = 0; step < 2; step += 1) {
    expect(await check.next(own)).toEqual({ ended: false });
  }
  await index("59", { VERIFY: "signatures", COMMITTEE_FILE: join(ledger, "ledger.json") });
  while (!(await check.next(own)).ended);
  expect(await own.sql`select fault from log_check`).toEqual([{ fault: null }]);
}, 60_000);

test("a partly read source proves that part only", async () => {
  await using own = await copyOf(database);
  await alterLog(
    own,
    `update log_facts set sender = '0x${"9".repeat(64)}'
     where ctid = (select ctid from log_facts where checkpoint < 60 order by checkpoint desc limit 1);
     truncate log_chain, log_coin_chain, log_block_chain, log_heads, log_sequence, log_sequence_head`,
  );
  await completeChains(own);
  const compare = (...args: readonly string[]) =>
    runCommand(["verify", "--log", "--source", `dir:${ledger}`, ...args], {
      ...settings,
      DATABASE_URL: own.url,
    });
  expect((await compare()).code).toBe(1);
  const { code, stdout } = await compare("--from", "60");
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^not compared this time: checkpoints 0 to 59$/m),
  });
  expect(stdout).toMatch(/^taken on faith: the ledger: .*\(--source shows it\)$/m);
  expect(await compare("--from", "90")).toMatchObject({ code: 2, stdout: "" });
});

test("a log whose beginning was cut off together with its signatures says where it begins", async () => {
  await using own = await freshDatabase();
  const log = await openLog(own, { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 5n });
  await log.append(batch(5n, 9n, [fact(6n)]), []);
  const signal = new AbortController().signal;
  const { faults, beyond } = await verifyLog(own, { asked: false, trusted: null }, signal);
  expect(faults).toEqual([]);
  expect(beyond).toContain("what was before checkpoint 5, with which the log begins");
});

const SECONDS_20 = `
  update log_blocks b set times = (
    select string_agg(int8send(('x' || encode(substring(b.times from n * 8 + 1 for 8), 'hex'))::bit(64)::int8 + 20000), ''::bytea order by n)
    from generate_series(0, b.count - 1) n), reached_ms = reached_ms + 20000`;

test.each([
  ["times of blocks shifted by 20 s", SECONDS_20, /not the one in log_block_chain/],
  [
    "times shifted by 20 s, with the marks of facts, the high-water mark and all chains emptied",
    `${SECONDS_20}; update log_checkpoints set timestamp_ms = timestamp_ms + 20000; update log_facts set timestamp_ms = timestamp_ms + 20000;
     update log_high_water set last_timestamp_ms = last_timestamp_ms + 20000, reached_ms = reached_ms + 20000; truncate log_chain, log_coin_chain, log_block_chain`,
    /signed summary has digest \S+ and time \d+, but log_blocks/,
  ],
  [
    "a digest of a block",
    "update log_blocks set digests = set_byte(digests, 5, get_byte(digests, 5) # 1) where first_checkpoint = 21",
    /not the one in log_block_chain/,
  ],
  [
    "a reached time",
    "update log_blocks set reached_ms = reached_ms + 1 where first_checkpoint = 21",
    /time \d+ was reached here instead of/,
  ],
  [
    "a deleted block",
    "delete from log_blocks where first_checkpoint = 21",
    /log_blocks lacks|was deleted/,
  ],
  [
    "a deleted block with its link",
    "delete from log_blocks where first_checkpoint = 21; delete from log_block_chain where first_checkpoint = 21",
    /log_blocks lacks checkpoints 21 to/,
  ],
  [
    "a block said to be filled in",
    "update log_blocks set filled = true where first_checkpoint = 60",
    /filled in lies behind one that was appended/,
  ],
  ["emptied proofs", "truncate log_proofs", /log_proofs is empty/],
  ["emptied proofs and committees", "truncate log_proofs, log_committees", /log_proofs is empty/],
  [
    "the last proof deleted",
    "delete from log_proofs where first_checkpoint = (select max(first_checkpoint) from log_proofs)",
    /log_proofs ends at checkpoint \d+, before the log does/,
  ],
  [
    "the proof that ended an epoch deleted",
    "delete from log_proofs where last_checkpoint = (select max(named_by) from log_committees)",
    /log_proofs|log_committees/,
  ],
  [
    "a signature altered",
    "update log_proofs set signature = set_byte(signature, 20, get_byte(signature, 20) # 1) where first_checkpoint = 0",
    /the signature is not that of/,
  ],
  [
    "a summary altered",
    "update log_proofs set summary = set_byte(summary, 16, get_byte(summary, 16) # 1) where first_checkpoint = 0",
    /log_proofs: /,
  ],
  [
    "stake of a committee that a checkpoint named",
    "update log_committees set members = set_byte(set_byte(members, 103, get_byte(members, 103) - 1), 207, get_byte(members, 207) + 1) where named_by is not null",
    /committee of epoch \d+ is not the one that checkpoint \d+ names/,
  ],
  [
    "stake of the committee that was trusted",
    "update log_committees set members = set_byte(set_byte(members, 103, get_byte(members, 103) - 1), 207, get_byte(members, 207) + 1) where epoch = 0",
    /committee of epoch 0 is not the one that the settings trust/,
  ],
  [
    "a package joined outside the log",
    `insert into log_packages values ('0x${"99".repeat(32)}', 4000, 0)`,
    /joined at a checkpoint that the log does not have/,
  ],
  [
    "a later first checkpoint",
    "update log_high_water set first_checkpoint = 3",
    /log begins|but the log/,
  ],
  [
    "the time reached",
    "update log_high_water set reached_ms = reached_ms + 1",
    /the time \d+ was reached/,
  ],
  [
    "the last digest",
    "update log_high_water set last_digest = 'x'",
    /last checkpoint, but log_blocks/,
  ],
  [
    "the count of facts",
    "update log_high_water set facts_total = facts_total - 1",
    /log_high_water counts/,
  ],
  [
    "the count of bytes",
    "update log_high_water set bytes_total = bytes_total - 1",
    /log_high_water counts/,
  ],
  [
    "the bytes of a checkpoint",
    "update log_checkpoints set bytes_total = bytes_total + 1 where checkpoint = (select min(checkpoint) from log_checkpoints)",
    /log_checkpoints counts \d+ bytes/,
  ],
])("%s: found without a source", async (what, statement, words) => {
  await withLog(statement, async () => {
    const { code, stdout } = await verify();
    expect(stdout).toMatch(words);
    expect(code).toBe(1);
    const { integrity } = (await watched()).members;
    const isFound = !BY_SETTINGS.includes(what);
    expect(integrity).toMatchObject({ state: isFound ? "stalled" : "ok" });
    if (isFound) expect(integrity.reason).toMatch(/^the log was changed: checkpoint \d+: /);
  });
});

test("once all of these changes are put right, the watch finds nothing", async () => {
  expect(await watched()).toMatchObject({ state: "ok" });
});

/** What follows from VERIFY and the trusted committee alone, which the command knows. */
const BY_SETTINGS: readonly string[] = [
  "emptied proofs and committees",
  "the last proof deleted",
  "stake of the committee that was trusted",
];

/** Health after a round of the watch. */
const watched = async () => {
  const check = logCheck();
  while (!(await check.next(database)).ended);
  return integrityDetails(database)();
};

/** All chains made anew over what the log then has, as one who can write it all would. */
const CHAINS = "truncate log_chain, log_coin_chain, log_block_chain";

/** Those of checkpoints with facts would contradict log_checkpoints. */
const LATER_WITHOUT_FACTS = `
  update log_blocks b set times = (
    select string_agg(case when c.checkpoint is null
        then int8send(('x' || encode(substring(b.times from n * 8 + 1 for 8), 'hex'))::bit(64)::int8 - 1)
        else substring(b.times from n * 8 + 1 for 8) end, ''::bytea order by n)
    from generate_series(0, b.count - 1) n
    left join log_checkpoints c on c.checkpoint = b.first_checkpoint + n)`;

test.each([
  [
    "an invented package",
    `insert into log_packages values ('0x${"99".repeat(32)}', 30, 0)`,
    /package 0x(99)+ of transaction 0 was added, the ledger publishes none there/,
    new RegExp(`taken on faith: package 0x${"99".repeat(32)}: that checkpoint 30 published it`),
  ],
  [
    "times of blocks without facts",
    `${LATER_WITHOUT_FACTS}; ${CHAINS}`,
    /log_blocks: timestamp_ms is \d+, the ledger has \d+/,
    /log_chain is empty/,
  ],
])(
  "%s: the source shows it, and without one it is named",
  async (_what, statement, shown, alone) => {
    await withLog(statement, async () => {
      expect((await verify()).stdout).toMatch(alone);
      const { code, stdout } = await verify("--source", `dir:${ledger}`);
      expect(stdout).toMatch(shown);
      expect(code).toBe(1);
    });
  },
);

test("a log that claims to begin earlier than it does is detected", async () => {
  await using own = await freshDatabase();
  const log = await openLog(own, { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 5n });
  await log.append(batch(5n, 9n, [fact(6n)]), []);
  const signal = new AbortController().signal;
  const asked = { asked: false, trusted: null };
  expect(await verifyLog(own, asked, signal)).toMatchObject({ faults: [] });
  await alterLog(own, "update log_high_water set first_checkpoint = 3");
  const { faults } = await verifyLog(own, asked, signal);
  expect(faults).toMatchObject([
    { checkpoint: 3n, what: expect.stringMatching(/log_blocks lacks checkpoints 3 to 4/) },
  ]);
});

test("checkpoints missing at the source are named, and the ones behind them are compared", async () => {
  const gapped = join(folder.path, "gapped");
  await mkdir(gapped);
  const present = [...Array(90).keys()].filter((n) => n < 30 || (n > 33 && n < 80));
  await Promise.all(
    ["ledger.json", ...present.map((n) => `${n}.chk`)].map((name) =>
      copyFile(join(ledger, name), join(gapped, name)),
    ),
  );
  const source = `dir:${gapped}`;
  const { code, stdout } = await verify("--source", source);
  expect(stdout).toMatch(/^not shown: checkpoints 30 to 33 /m);
  expect(stdout).toMatch(/^not shown: checkpoints 80 to 89 /m);
  expect(stdout).toMatch(/76 checkpoints/);
  expect(code).toBe(3);
  const later = await verify("--source", source, "--from", "34", "--json");
  expect(JSON.parse(later.stdout).source.gaps).toMatchObject([{ from: "80", to: "89" }]);
});
