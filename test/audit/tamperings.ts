/**
 * Changes that the database's owner can make with triggers off, and the command that finds each. tampering.test.ts
 * performs them; `npm run docs` generates docs/reference/tampering.md from them.
 */

/** The command that finds a change; `FILE` has entries of the sequence that were kept elsewhere. */
export type Finder =
  | "reconcile"
  | "verify --log"
  | "verify --log --head FILE"
  | "verify --log --source SOURCE";

export type Tampering = {
  readonly table: string;
  readonly what: string;
  /** Statements by the owner, triggers off. */
  readonly sql: string;
  /** What is recomputed afterwards, to match the change. */
  readonly recomputed?: "digests" | "chains";
  /** It hides other changes, or is named as they are: it is not made together with others. */
  readonly isAlone?: boolean;
  readonly by: Finder;
  /** Matches the command's output. */
  readonly says: RegExp;
};

/** A row in the middle of a table. */
const some = (table: string, order: string, where = "true") =>
  `ctid = (select ctid from ${table} where ${where} order by ${order} limit 1 offset 3)`;

const rows = (
  table: string,
  what: string,
  sql: string,
  says: RegExp,
  recomputed?: "digests",
): Tampering => ({ table, what, sql, by: "reconcile", says, ...(recomputed && { recomputed }) });

/** Of a change that has more findings than a command lists, or findings of other changes. */
const alone = (tampering: Tampering): Tampering => ({ ...tampering, isAlone: true });

const log = (
  table: string,
  what: string,
  sql: string,
  says: RegExp,
  { by = "verify --log", recomputed }: { by?: Finder; recomputed?: "chains" } = {},
): Tampering => ({ table, what, sql, by, says, ...(recomputed && { recomputed }) });

const OF_ROWS: readonly Tampering[] = [
  rows(
    "token_activity",
    "a deleted movement",
    `delete from token_activity where ${some("token_activity", "position", "activity_type = 'transfer'")}`,
    /^token_activity, .*: the row is missing/m,
  ),
  rows(
    "token_activity",
    "an invented movement, with its digests recomputed",
    `insert into token_activity select coin_type, position + 7, activity_type, tx_digest, timestamp_ms, amount, from_address, to_address, signer, token_object_id
     from token_activity where ${some("token_activity", "position", "activity_type = 'transfer'")}`,
    /^token_activity, .*: the row is stored, but the log gives none/m,
    "digests",
  ),
  rows(
    "token_activity",
    "another recipient, with its digests recomputed",
    `update token_activity set to_address = '0xbad' where ${some("token_activity", "position", "activity_type = 'transfer'")}`,
    /^token_activity, .*: toAddress is 0xbad, the log gives 0x/m,
    "digests",
  ),
  alone(
    rows(
      "token_changes",
      "another cause, with its digests recomputed",
      `update token_changes set cause = 'UNKNOWN' where ${some("token_changes", "position")}`,
      /^token_changes, .*: cause is UNKNOWN, the log gives/m,
      "digests",
    ),
  ),
  rows(
    "token_changes",
    "another time",
    `update token_changes set timestamp_ms = timestamp_ms - 20000 where ${some("token_changes", "position")}`,
    /^token_changes, .*: timestampMs is \d+, the log gives/m,
  ),
  rows(
    "grant_changes",
    "a deleted movement of a grant",
    `delete from grant_changes where ${some("grant_changes", "position")}`,
    /^grant_changes, .*: the row is missing/m,
  ),
  rows(
    "grant_changes",
    "another balance after a movement",
    `update grant_changes set balance_after = balance_after + 1 where ${some("grant_changes", "position")}`,
    /^grant_changes, .*: balanceAfter is \d+, the log gives/m,
  ),
  alone(
    rows(
      "shared_token_objects",
      "exchanged owners of objects, with their digests recomputed",
      `with two as (select owner, row_number() over (order by owner) as n from (
       select distinct owner from shared_token_objects order by owner limit 2) o)
     update shared_token_objects s set owner = (select o.owner from two o where o.n <> (select n from two where owner = s.owner) )
     where owner in (select owner from two)`,
      /^shared_token_objects, .*: owner is 0x\w+, the log gives 0x/m,
      "digests",
    ),
  ),
  alone(
    rows(
      "shared_token_ranges",
      "another past balance, with its digests recomputed",
      `update shared_token_ranges set balance = balance + 1 where ${some("shared_token_ranges", "checkpoint")}`,
      /^shared_token_ranges, .*: balance is \d+, the log gives/m,
      "digests",
    ),
  ),
  rows(
    "timelock_objects",
    "another funder of a grant, with its digests recomputed",
    "update timelock_objects set funder = '0xbad'",
    /^timelock_objects, .*: funder is 0xbad, the log gives 0x/m,
    "digests",
  ),
  rows(
    "timelock_ranges",
    "a deleted past state of a grant",
    `delete from timelock_ranges where ctid = (select min(ctid) from timelock_ranges)`,
    /^timelock_ranges, .*: the row is missing/m,
  ),
  rows(
    "token_grants",
    "the amount left in a grant, from which later causes are derived",
    "update token_grants set left_balance = left_balance + 1",
    /^token_grants, .*: leftBalance is \d+, the log gives/m,
  ),
  rows(
    "token_grants",
    "an invented grant",
    "insert into token_grants values ('0xbad', 1, 1, '0xbad::coin::COIN')",
    /^token_grants, objectId 0xbad, coinType 0xbad::coin::COIN: the row is stored, but the log gives none/m,
  ),
  rows(
    "tokens",
    "a token's name",
    "update tokens set name = 'Other'",
    /^tokens, .*: name is Other/m,
  ),
  rows(
    "tokens",
    "a token's symbol",
    "update tokens set symbol = 'OTH'",
    /^tokens, .*: symbol is OTH/m,
  ),
  rows(
    "tokens",
    "a token's first checkpoint",
    "update tokens set first_checkpoint = first_checkpoint + 1",
    /^tokens, .*: firstCheckpoint is \d+, the log gives/m,
  ),
  rows(
    "tokens",
    "an invented token",
    "insert into tokens values ('0x1::no::NO', 1, 'NO', 'No')",
    /^tokens, .*0x1::no::NO: the row is stored, but the log gives none/m,
  ),
  rows(
    "token_supplies",
    "another supply, with its digests recomputed",
    `update token_supplies set supply = supply + 1 where ${some("token_supplies", "checkpoint desc")}`,
    /^token_supplies, .*: supply is \d+, the log gives/m,
    "digests",
  ),
  rows(
    "balances",
    "a raised balance",
    `update balances set token_balance = token_balance + 1 where ${some("balances", "coin_type, owner", "token_count > 0")}`,
    /^balances, .*tokenBalance is \d+, the log gives/m,
  ),
  rows(
    "balances",
    "a holder with a zero balance",
    "insert into balances (coin_type, owner) select coin_type, '0xbad' from balances limit 1",
    /^balances, .*owner 0xbad: the row is stored, but the log gives none/m,
  ),
  rows(
    "balances",
    "a deleted holder",
    `delete from balances where ${some("balances", "coin_type, owner")}`,
    /^balances, .*: the row is missing/m,
  ),
  alone(
    rows(
      "holder_events",
      "another group in an event, with its digests recomputed",
      "update holder_events set group_id = 4711 where event_type = 'address_joined_group'",
      /^holder_events, .*: groupId is 4711, the log gives/m,
      "digests",
    ),
  ),
  rows(
    "holder_events",
    "a deleted event",
    `delete from holder_events where ${some("holder_events", "position")}`,
    /^holder_events, .*: the row is missing/m,
  ),
  alone(
    rows(
      "membership_ranges",
      "another holder of a wallet, with its digests recomputed",
      `update membership_ranges set value = 4711 where ${some("membership_ranges", "checkpoint, address", "aspect = 'holder'")}`,
      /^membership_ranges, .*: value is 4711, the log gives/m,
      "digests",
    ),
  ),
  rows(
    "membership_ranges",
    "a deleted freeze",
    "delete from membership_ranges where aspect = 'freeze'",
    /^membership_ranges, .*aspect freeze.*: (the row is missing|it has nothing)/m,
  ),
  rows(
    "role_events",
    "another granter of a role",
    `update role_events set signer = '0xbad' where ${some("role_events", "position")}`,
    /^role_events, .*: signer is 0xbad, the log gives/m,
  ),
  rows(
    "role_ranges",
    "an invented past role",
    `insert into role_ranges select coin_type, '0xbad', role, checkpoint, until from role_ranges where ${some("role_ranges", "checkpoint")}`,
    /^role_ranges, .*owner 0xbad.*: the row is stored, but the log gives none/m,
  ),
  rows(
    "wallet_roles",
    "an invented role",
    "insert into wallet_roles select coin_type, '0xbad', role, position from wallet_roles limit 1",
    /^wallet_roles, .*owner 0xbad/m,
  ),
  ...[
    "token_activity",
    "shared_token_objects",
    "timelock_objects",
    "holder_lifecycle",
    "role_changes",
  ].flatMap((name) => [
    rows(
      `${name}_digests`,
      "another digest",
      `update ${name}_digests set digest = sha256(digest) where checkpoint = (select min(checkpoint) from ${name}_digests)`,
      new RegExp(`^${name}_digests, checkpoint \\d+: digest is \\w{64}, the log gives`, "m"),
    ),
    rows(
      `${name}_watermark`,
      "another digest of the last checkpoint",
      `update ${name}_watermark set last_digest = 'x'`,
      new RegExp(`^${name}_watermark: last_digest is x, but`, "m"),
    ),
  ]),
  alone(
    rows(
      "token_activity_watermark",
      "an earlier checkpoint of a pipeline",
      "update token_activity_watermark set next_checkpoint = 100, last_checkpoint = 99",
      /^token_activity: \d+ rows of checkpoint \d+ and later, beyond token_activity_watermark/m,
    ),
  ),
  rows(
    "role_changes_watermark",
    "another chain of a pipeline",
    "update role_changes_watermark set chain_id = 'x'",
    /^role_changes_watermark: chain_id is x, but the log is of chain/m,
  ),
  rows(
    "quarantines",
    "a fact left out of the rows, without an operator's act",
    `insert into quarantines (pipeline, coin_type, event, checkpoint, transaction, kind, index, type, tx_digest, reason, by)
     values ('token_activity', '0x1::no::NO', 'resolved', 7, 0, 'event', 0, 'T', 'D', 'x', 'y')`,
    /^quarantines: 0x1::no::NO, token_activity: the event of checkpoint 7, .* is left out, but no act says so/m,
  ),
  rows(
    "log_coins",
    "a token's decimals",
    "update log_coins set decimals = decimals + 1",
    /^log_coins, .*: decimals is \d+, the log gives/m,
  ),
  rows(
    "log_coins",
    "decimals falsely attributed to the network",
    "update log_coins set decimals = 3, decimals_source = 'network'",
    /^log_coins, .*: decimals is 3, the log gives .*decimalsSource is network/m,
  ),
];

const OF_ROOTS: readonly Tampering[] = [
  rows(
    "published_roots",
    "a root of other balances, with any signature",
    "update published_roots set root = repeat('ab', 32)",
    /^published_roots, .*: the published root is (ab){32}, .* but the cap table gives/m,
  ),
  rows(
    "log_sequence",
    "a root of other balances, with any signature",
    `update log_sequence set body = replace(body, body::jsonb ->> 'root', repeat('ab', 32))
     where kind = 'root' and number = (select number from coin_entries where kind = 'root')`,
    /^log_sequence, .*: the published root is (ab){32}, .* but the cap table gives/m,
  ),
];

const SECONDS_20 = `
  update log_blocks b set times = (
    select string_agg(int8send(('x' || encode(substring(b.times from n * 8 + 1 for 8), 'hex'))::bit(64)::int8 + 20000), ''::bytea order by n)
    from generate_series(0, b.count - 1) n), reached_ms = reached_ms + 20000`;

const FACT =
  "ctid = (select ctid from log_facts where checkpoint > 50 order by checkpoint limit 1)";

/** Deletes facts, with all that counts or covers them. */
const SHORTER = `
  create temporary table gone as select checkpoint, count(*) as facts,
    (select bytes_total from log_checkpoints l where l.checkpoint = f.checkpoint)
    - coalesce((select max(bytes_total) from log_checkpoints l where l.checkpoint < f.checkpoint), 0) as bytes
  from log_facts f where checkpoint = (select max(checkpoint) from log_checkpoints where checkpoint < 60) group by 1;
  delete from log_facts where checkpoint in (select checkpoint from gone);
  update log_checkpoints set facts_total = facts_total - gone.facts, bytes_total = bytes_total - gone.bytes from gone where log_checkpoints.checkpoint > gone.checkpoint;
  delete from log_checkpoints where checkpoint in (select checkpoint from gone);
  update log_high_water set facts_total = facts_total - gone.facts, bytes_total = bytes_total - gone.bytes from gone;
  delete from log_inputs where checkpoint in (select checkpoint from gone);
  truncate log_chain, log_coin_chain, log_block_chain, log_input_chain, log_heads, log_sequence, log_sequence_head`;

const INPUT = some("log_inputs", "checkpoint, transaction, index", "version is not null");

/** Changes an input version, and deletes all that covers it. */
const OTHER_INPUT = `
  update log_inputs set version = version - 1 where ${INPUT};
  truncate log_input_chain, log_heads, log_sequence, log_sequence_head`;

const OF_LOG: readonly Tampering[] = [
  alone(
    log(
      "log_blocks",
      "times of checkpoints shifted by 20 s",
      SECONDS_20,
      /not the one in log_block_chain/,
    ),
  ),
  log(
    "log_blocks",
    "a digest of a checkpoint",
    "update log_blocks set digests = set_byte(digests, 5, get_byte(digests, 5) # 1) where first_checkpoint = 0",
    /not the one in log_block_chain/,
  ),
  log(
    "log_blocks",
    "a deleted block",
    "delete from log_blocks where first_checkpoint = 0",
    /log_block_chain has a row of checkpoint \d+, but log_blocks has none: it was deleted/,
  ),
  log(
    "log_blocks",
    "the time reached (reached_ms)",
    "update log_blocks set reached_ms = reached_ms + 1 where first_checkpoint = 0",
    /time \d+ was reached here instead of/,
  ),
  alone(
    log(
      "log_block_chain",
      "a chain emptied",
      "truncate log_block_chain",
      /log_block_chain is empty, before the log does/,
    ),
  ),
  alone(log("log_proofs", "emptied proofs", "truncate log_proofs", /log_proofs is empty/)),
  log(
    "log_committees",
    "the stake of a committee",
    "update log_committees set members = set_byte(set_byte(members, 103, get_byte(members, 103) - 1), 207, get_byte(members, 207) + 1) where epoch = 0",
    /committee of epoch 0 is not the one/,
  ),
  alone(
    log(
      "log_high_water",
      "the log's first checkpoint",
      "update log_high_water set first_checkpoint = 3",
      /log begins|but the log/,
    ),
  ),
  log(
    "log_high_water",
    "the time reached (reached_ms)",
    "update log_high_water set reached_ms = reached_ms + 1",
    /the time \d+ was reached/,
  ),
  alone(
    log(
      "log_checkpoints",
      "the time of a checkpoint with facts",
      "update log_checkpoints set timestamp_ms = timestamp_ms - 20000 where checkpoint = (select min(checkpoint) from log_checkpoints)",
      /log_blocks has time \d+ instead of \d+, which log_checkpoints has/,
    ),
  ),
  alone(
    log(
      "log_facts",
      "an altered fact",
      `update log_facts set sender = '0xbad' where ${FACT}`,
      /the hash of its \d+ facts is not the one in log_chain/,
    ),
  ),
  alone(
    log(
      "log_facts",
      "a fact added after the log's end",
      `insert into log_facts select checkpoint + 1000, transaction, kind, index, timestamp_ms, type, name, null,
       tx_digest, sender, object_id, version, contents from log_facts where ${FACT}`,
      /the log continues to 1\d\d\d, unless rows were added after its end/,
    ),
  ),
  alone(
    log(
      "log_coin_chain",
      "a link added after the log's end",
      "insert into log_coin_chain select coin_type, 100000, facts, hash from log_coin_chain limit 1",
      /the log continues to 100000, unless rows were added after its end/,
    ),
  ),
  alone(
    log("log_facts", "a deleted fact", `delete from log_facts where ${FACT}`, /some were deleted/),
  ),
  alone(
    log(
      "log_chain",
      "an emptied chain and a deleted fact",
      `truncate log_chain; delete from log_facts where ${FACT}`,
      /log_chain is empty, before the log does/,
    ),
  ),
  log(
    "log_coin_chain",
    "a token's chain emptied",
    "truncate log_coin_chain",
    /log_coin_chain ends at checkpoint \d+, before the log does/,
  ),
  log(
    "log_inputs",
    "another input version",
    `update log_inputs set version = version - 1 where ${INPUT}`,
    /the hash of its \d+ inputs is not the one in log_input_chain/,
  ),
  log(
    "log_inputs",
    "a deleted input version",
    `delete from log_inputs where ${INPUT}`,
    /log_inputs has \d+ rows, .*: some were deleted/,
  ),
  log(
    "log_inputs",
    "an invented input version",
    `insert into log_inputs select checkpoint, transaction, index + 100, version from log_inputs where ${INPUT}`,
    /log_inputs has \d+ rows, .*: some were deleted or added/,
  ),
  alone(
    log(
      "log_input_chain",
      "an emptied chain",
      "truncate log_input_chain",
      /log_inputs has \d+ rows that log_input_chain does not know/,
    ),
  ),
  alone(
    log(
      "log_input_chain",
      "a chain emptied together with the input versions",
      "truncate log_inputs, log_input_chain",
      /log_inputs and log_input_chain have nothing of \d+ changes of objects/,
    ),
  ),
  alone(
    log(
      "log_input_chain",
      "the same, with the log marked as of a version without them",
      "truncate log_inputs, log_input_chain; update log_high_water set inputs_from = null",
      /entry \d+ of the sequence \(inputs\) has another hash of the inputs/,
    ),
  ),
  log(
    "log_inputs",
    "another input version, with its chain recomputed and everything signed deleted",
    OTHER_INPUT,
    /has another hash of the inputs of checkpoints/,
    { by: "verify --log --head FILE", recomputed: "chains" },
  ),
  log(
    "log_inputs",
    "the same",
    OTHER_INPUT,
    /log_inputs: input .* is version \d+, the ledger has/,
    {
      by: "verify --log --source SOURCE",
      recomputed: "chains",
    },
  ),
  log(
    "log_chain",
    "an altered fact, with all chains recomputed",
    `update log_facts set sender = '0x${"9".repeat(64)}' where ${FACT}; truncate log_chain, log_coin_chain, log_block_chain`,
    /another hash than the one that was signed in log_heads/,
    { recomputed: "chains" },
  ),
  log(
    "log_facts",
    "deleted facts, with all counts changed, all chains recomputed and everything signed deleted",
    SHORTER,
    /has another (hash|end)|which has none/,
    { by: "verify --log --head FILE", recomputed: "chains" },
  ),
  log("log_facts", "the same", SHORTER, /missing in log_facts|lacks facts|the ledger has/, {
    by: "verify --log --source SOURCE",
    recomputed: "chains",
  }),
  log(
    "log_packages",
    "an invented package",
    `insert into log_packages values ('0x${"99".repeat(32)}', 30, 0)`,
    /package 0x(99)+ of transaction 0 was added, the ledger publishes none there/,
    { by: "verify --log --source SOURCE" },
  ),
  log(
    "published_roots",
    "a changed root",
    "update published_roots set root = repeat('0', 64)",
    /published_roots: the root of .* is not what the key \w+ signed: its row was changed/,
  ),
  log(
    "published_roots",
    "a deleted root",
    "delete from published_roots where checkpoint = (select max(checkpoint) from published_roots)",
    /entry \d+ of the sequence \(root\) has no row in published_roots/,
  ),
  log(
    "log_heads",
    "a deleted head",
    "delete from log_heads where checkpoint = (select min(checkpoint) from log_heads)",
    /entry \d+ of the sequence \(head\) has no row in log_heads/,
  ),
  log(
    "log_heads",
    "a backdated head",
    "update log_heads set signed_at = '2020-01-01' where checkpoint = (select max(checkpoint) from log_heads)",
    /log_heads dates the head of checkpoint \d+ 2020-01-01T00:00:00Z, but entry \d+/,
  ),
  log(
    "log_blocks",
    "a block before checkpoint 0",
    "insert into log_blocks select -10, 10, substring(times for 80), substring(digests for 320), 0, true from log_blocks where first_checkpoint = 0",
    /log_blocks begins with -10: a row was added/,
  ),
  log(
    "log_proofs",
    "a proof added after the log's end",
    `insert into log_proofs select last_checkpoint + 1, last_checkpoint + 50, epoch, summary, signature, signers
     from log_proofs order by first_checkpoint desc limit 1`,
    /log_proofs: the stretch \d+ to \d+ goes on behind the log's end/,
  ),
  log(
    "log_proofs",
    "a proof before checkpoint 0",
    "insert into log_proofs select -10, -1, epoch, summary, signature, signers from log_proofs limit 1",
    /the stretch -10 to -1 begins before the log does/,
  ),
  alone(
    log(
      "log_archived",
      "facts that are there, said to be archived",
      `insert into log_archived (event, first_checkpoint, before_checkpoint, facts, hash, root)
       select 'archived', 0, 50, 1, hash, 'x' from log_chain order by checkpoint limit 1`,
      /log_archived says that 0 to 49 are archived, but log_facts has facts of them/,
    ),
  ),
  alone(
    log(
      "log_archived",
      "a range without facts at the end, said to be archived, which would leave all before it unchecked",
      `insert into log_archived (event, first_checkpoint, before_checkpoint, facts, hash, root)
       select 'archived', next_checkpoint, next_checkpoint + 1, 0, (select hash from log_chain order by checkpoint desc limit 1), 'x'
       from log_high_water`,
      /log_archived leaves out 0 to \d+: a row was deleted or added/,
    ),
  ),
  alone(
    log(
      "log_archived",
      "facts deleted and said to be archived, in a row that fits the chain, without an operator's act",
      `insert into log_archived (event, first_checkpoint, before_checkpoint, facts, hash, root)
       select 'archived', 0, 50, facts_total, hash, 'x'
       from log_checkpoints join log_chain using (checkpoint) where checkpoint < 50 order by checkpoint desc limit 1;
       delete from log_facts where checkpoint < 50`,
      /row 1 of log_archived says that checkpoints 0 to 49 were archived, but no act in operator_acts does/,
    ),
  ),
  alone(
    log(
      "log_guided",
      "a range that was read whole, said to have been read guided",
      "insert into log_guided values (61, 119)",
      /log_proofs: a proof is said to cover \d+ to \d+, some of which were read guided/,
    ),
  ),
  log(
    "log_summaries",
    "a summary added where nothing was left out",
    `insert into log_summaries select last_checkpoint, 'x', 0, epoch, summary, signature, signers
     from log_proofs order by first_checkpoint limit 1`,
    /log_summaries: checkpoint \d+ was not read guided/,
  ),
  alone(
    log(
      "log_sequence",
      "an entry before all others",
      "insert into log_sequence select -1, kind, body, at, previous, hash, key_id, signature from log_sequence where number = 1",
      /entry -1 of the sequence comes where number 0 should/,
    ),
  ),
  log(
    "log_heads",
    "a changed head",
    "update log_heads set hash = sha256('x')",
    /another hash than the one that was signed in log_heads/,
  ),
  alone(
    log(
      "log_sequence",
      "a root deleted from the sequence",
      "delete from log_sequence where kind = 'root'",
      /the sequence ends with number \d+, but log_sequence_head says \d+/,
    ),
  ),
  alone(
    log(
      "log_sequence",
      "a backdated entry",
      "update log_sequence set at = '2020-01-01T00:00:00.000Z' where number = 1",
      /entry 1 .* signature/,
    ),
  ),
  alone(
    log(
      "log_sequence_head",
      "the end of the sequence moved back",
      "update log_sequence_head set next = next - 1",
      /the sequence ends with number \d+, but log_sequence_head says \d+/,
    ),
  ),
  log(
    "coin_entries",
    "a root that is no longer served",
    "delete from coin_entries where kind = 'root'",
    /entry \d+ of the sequence \(root\) has no row in coin_entries/,
  ),
  log(
    "coin_entries",
    "a root served for another checkpoint",
    "update coin_entries set checkpoint = checkpoint - 1 where kind = 'root'",
    /entry \d+ of the sequence \(root\) .* coin_entries/,
  ),
  log(
    "operator_acts",
    "another account",
    "update operator_acts set by = replace(by, 'user', 'other') where number = 2",
    /act 2 in operator_acts has another hash than entry \d+ of the sequence/,
  ),
  log(
    "operator_acts",
    "a backdated act",
    "update operator_acts set at = '2020-01-01T00:00:00.000Z' where number = 1",
    /act 1 in operator_acts has another hash/,
  ),
  log(
    "operator_acts",
    "an act attributed to another coin",
    "update operator_acts set scope = 'project', coin_type = null where number = 2",
    /act 2 in operator_acts has another hash/,
  ),
  log(
    "operator_acts",
    "a deleted act",
    "delete from operator_acts where number = 2",
    /act 3 in operator_acts comes where number 2 should/,
  ),
  log(
    "operator_acts",
    "a deleted act, with the later ones renumbered",
    "delete from operator_acts where number = 2; update operator_acts set number = 2 where number = 3",
    /act 2 in operator_acts has another hash/,
  ),
  log(
    "operator_acts",
    "an invented act before the published ones",
    "insert into operator_acts select 0, at, command, details, by, scope, coin_type, salt from operator_acts where number = 1",
    /act 0 in operator_acts comes where number 1 should/,
  ),
  log(
    "operator_acts",
    "the deleted last act",
    "delete from operator_acts where number = 3",
    /entry \d+ of the sequence \(act\) names act 3, which operator_acts does not have/,
  ),
  alone(
    log(
      "deployment_keys",
      "another public key",
      "update deployment_keys set public_key = encode(sha256('x'), 'base64')",
      /entry \d+ of the sequence is signed by \w+, whose public key was changed/,
    ),
  ),
];

const FIRST_ON_THE_PATH = (path: string) =>
  `do $$ begin execute format('alter database %I set search_path = ${path}', current_database()); end $$`;

const OTHER_TABLE = `
  create schema elsewhere; create table elsewhere.log_facts (like log_facts including all);
  ${FIRST_ON_THE_PATH("elsewhere, public")}`;

/** Other objects under a name, for all or some roles; the rows stay unchanged. */
const OF_NAMES: readonly Tampering[] = [
  rows(
    "log_facts",
    "another table of its name, first on the search path",
    OTHER_TABLE,
    /^log_facts is also in the schema elsewhere, .* set for the database$/m,
  ),
  log(
    "log_facts",
    "another table of its name, first on the search path",
    OTHER_TABLE,
    /log_facts is also in the schema elsewhere, .* set for the database$/m,
  ),
  log(
    "log_facts",
    "hashes of a function that shadows Postgres' own",
    `create schema elsewhere; create function elsewhere.sha256(bytea) returns bytea language sql immutable
       as 'select pg_catalog.sha256($1)'; ${FIRST_ON_THE_PATH("elsewhere, pg_catalog, public")}`,
    /sha256\(bytea\) in the schema elsewhere takes the place of/,
  ),
  log(
    "log_facts",
    "texts of a function whose argument types match better than those of Postgres' own",
    `create function public.convert_to(text, text) returns bytea language sql immutable
       as 'select pg_catalog.convert_to($1, ''UTF8'')'`,
    /convert_to\(text,text\) in the schema public takes the place of/,
  ),
  log(
    "log_facts",
    "an altered fact, and a function that says that all facts are archived",
    `update log_facts set sender = 'x' where ${some("log_facts", "checkpoint")};
     create or replace function log_archived_before() returns bigint language sql stable
       as 'select next_checkpoint from public.log_high_water'`,
    /the function log_archived_before\(\) is not as this version made it/,
  ),
  log(
    "log_facts",
    "a function that matches better than the one that says whether facts are archived",
    "create function log_has(from_checkpoint integer) returns boolean language sql stable as 'select true'",
    /the function log_has\(from_checkpoint integer\) is not as this version made it/,
  ),
  log(
    "log_blocks",
    "a view in its place",
    "alter table log_blocks rename to log_blocks_real; create view log_blocks as select * from log_blocks_real",
    /log_blocks is not a table, but a view/,
  ),
  rows(
    "token_activity",
    "rows hidden from some roles",
    "alter table token_activity enable row level security; create policy evens on token_activity using (position % 2 = 0)",
    /^token_activity has row security on/m,
  ),
  rows(
    "balances",
    "rows of another table that inherits from it",
    "create table more_balances () inherits (balances)",
    /^balances has another table inherit from it/m,
  ),
];

export const TAMPERINGS: readonly Tampering[] = [
  ...OF_ROWS,
  ...OF_ROOTS,
  ...OF_LOG,
  ...OF_NAMES.map(alone),
];

/** Tables that no command compares with anything, and what outside shows a change of each. */
export const OUTSIDE: Readonly<Record<string, string>> = {
  log_source: "the reader's last note on its source; no answer uses it",
  status_history: "the last day's lag and rate; no answer about the register uses it",
  process_notes: "the processes' last notes on themselves; no answer uses it",
  completeness: "`holderbook prove complete`, which proves again",
  incomplete_coins: "`holderbook prove complete`, which proves again",
  log_found: "guided reading, which verifies what it appends",
  backfill_ranges: "`holderbook backfill --audit` and `verify --log --source`, which read again",
  pauses: "the acts in the sequence, which have each pause and its end",
  log_check: "the last result of the background check: its log line, and `verify --log` now",
  replays: "the last replay: its output, and `holderbook replay` now",
  reconciliations: "the last result of the background check: its log line, and `reconcile` now",
  daily_roots: "the sequence, which has each day's roots",
  daily_round: "the sequence, which has the last day published",
  root_counts: "the sequence, which has every root",
  api_keys: "`holderbook keys list`, compared with a list of your own",
  evm_chains: "the chain, read into an empty database from another node",
  evm_tokens: "the chain, read into an empty database from another node",
  evm_blocks: "the chain, read into an empty database from another node",
  evm_facts: "the chain, read into an empty database from another node",
  evm_schedules: "the chain, read into an empty database from another node",
  evm_rollbacks: "the chain, read into an empty database from another node",
  evm_chain_notes: "the processes' last notes on the chains; no answer uses it",
  transfer_events: "`/r/api/v2/transfer_events` of another deployment",
  transfer_event_groups: "`/r/api/v2/transfer_events` of another deployment",
  transfer_event_progress: "`/r/api/v2/transfer_events` of another deployment",
  transfer_event_holds: "`/r/api/v2/transfer_events` of another deployment",
  transfer_event_reserved_ids: "`/r/api/v2/transfer_events` of another deployment",
  ta_transactions: "the ledger, which has each of them; the caller's own records",
  ta_reservations: "the ledger, once the transaction is sent; the caller's own records",
  ta_reservation_uses: "the ledger, once the transaction is sent; the caller's own records",
  ta_wallet_claims: "the caller's own records",
  ta_holders: "the caller's own records",
  ta_lanes: "which process works on what; no answer uses it",
  ta_requests: "the caller's own records, and the signed callbacks that it received",
  ta_request_history: "the caller's own records, and the signed callbacks that it received",
  ta_pii_records: "sealed: a changed row cannot be opened",
  ta_pii_accesses: "nothing: keep copies of it elsewhere",
  labels: "`holderbook labels export`, compared with a file of your own; no part of the register",
  label_words: "the same; searches alone use it",
  ta_answers: "the caller's own records",
  callback_endpoints: "the receiver, which verifies signatures",
  callback_messages: "the receiver, which verifies signatures",
  callback_attempts: "the receiver's own log",
  pruned_callbacks: "nothing: the receiver acts once per id",
  callback_arrivals: "the receiver's own log",
  callback_lanes: "which process works on what; no answer uses it",
  callback_keys: "sealed: a changed row cannot be opened",
};
