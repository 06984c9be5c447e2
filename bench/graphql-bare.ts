/**
 * The baseline of the GraphQL API as a separate program: fastify and postgres.js handlers with the
 * same bodies, SQL and JSON, but no GraphQL, keys, limits or log. Decimals and the contract's
 * address are read once.
 * Needs DATABASE_URL and DATABASE_POOL; prints its port.
 */
import fastify from "fastify";
import postgres from "postgres";

/** int8 and numeric stay text; other values pass through. */
type Row = Readonly<Record<string, string>>;

type Variables = { readonly coinType: string; readonly owner: string; readonly limit: number };

const sql = postgres(process.env.DATABASE_URL ?? "", {
  max: Number(process.env.DATABASE_POOL),
  fetch_types: false,
});

/** Prepared once per connection. */
const run = (statement: string, values: readonly (string | number)[]) =>
  sql.unsafe<Row[]>(statement, [...values], { prepare: true });

const decimals = new Map<string, number>();
for (const row of await sql`select coin_type, decimals from log_coins`) {
  decimals.set(row.coin_type, row.decimals);
}

const [log] = await sql`select packages[1] as package from log_high_water`;

/** Whether grants are complete: see src/projections/balance-progress.ts. */
const GRANTS_INCLUDED = `(select
  coalesce((select max(w.next_checkpoint) from timelock_objects_watermark w), 0) + 1000
  >= coalesce((select max(w.next_checkpoint) from shared_token_objects_watermark w), 0))`;

const TOKEN_ACTIVITY = `
  select coin_type, position, activity_type, tx_digest, timestamp_ms, amount, from_address, to_address,
         signer, token_object_id
  from token_activity where coin_type = $1 order by position asc limit (select $2::int8) offset (select 0::int8)`;

const TOKEN_BALANCE = `
  select included, token_balance, token_count, grant_balance, grant_count
  from (select ${GRANTS_INCLUDED} as included) as grants left join balances on coin_type = $1 and owner = $2`;

const TOKEN_OBJECTS = `
  select object_id, owner, balance, version, checkpoint
  from shared_token_objects where coin_type = $1 and owner = $2 order by object_id limit (select $3::int8)`;

const TOKEN_HOLDERS = `
  (select owner, total, grant_balance, true as included from balances
   where ${GRANTS_INCLUDED} and coin_type = $1 and total > 0 order by (- total), owner limit (select $2::int8))
  union all
  (select owner, token_balance, 0::numeric, false from balances
   where not ${GRANTS_INCLUDED} and coin_type = $1 and token_balance > 0
   order by (- token_balance), owner limit (select $2::int8))`;

const TOKEN_TIMELOCKS = `
  select included, page.* from (select ${GRANTS_INCLUDED} as included) as grants left join lateral (
    select object_id, owner, funder, release_schedule_id, release_count, delay_until_first_release_ms,
           period_between_releases_ms, initial_release_portion_bps, commencement_timestamp_ms,
           total_amount, tokens_transferred, left_balance
    from timelock_objects where grants.included and coin_type = $1
    order by commencement_timestamp_ms, object_id limit (select $2::int8)
  ) page on true`;

const HOLDER_EVENTS = `
  select position, event_type, tx_digest, holder_id, address, group_id, is_frozen, timestamp_ms
  from holder_events where coin_type = $1 order by position limit (select $2::int8)`;

const WALLET_ROLES = `
  select owner, role from wallet_roles where coin_type = $1 order by owner, role`;

const ROLE_EVENTS = `
  select position, tx_digest, owner, role, granted, signer, timestamp_ms
  from role_events where coin_type = $1 order by position limit (select $2::int8)`;

const PIPELINES = [
  "token_activity",
  "shared_token_objects",
  "timelock_objects",
  "holder_lifecycle",
  "role_changes",
];

const INDEXER_STATUS = [
  `select '' as name, next_checkpoint as next, last_checkpoint as checkpoint, last_timestamp_ms as ms
   from log_high_water`,
  ...PIPELINES.map(
    (name) =>
      `select '${name}', next_checkpoint, last_checkpoint, last_timestamp_ms
       from ${name}_watermark`,
  ),
].join(" union all ");

const ROLE_BITS = new Map(
  ["ContractAdmin", "ReserveAdmin", "WalletsAdmin", "TransferAdmin", "TimelockCanceler"].map(
    (name, bit) => [`${log?.package}::roles::${name}`, 2 ** bit],
  ),
);

const bitOf = (role: string): number => ROLE_BITS.get(role) ?? 0;

/** A position ends in nine digits of index, the last four for the event. */
const eventSeqOf = ({ position = "" }: Row): number => Number(position.slice(-4));

const eventIdOf = (row: Row): string => `${row.tx_digest}-${eventSeqOf(row)}`;

const secondsOf = (milliseconds = ""): string => milliseconds.slice(0, -3);

const QUERIES: Readonly<Record<string, (asked: Variables) => unknown>> = {
  __typename: () => "Query",
  tokenActivity: async ({ coinType, limit }) =>
    (await run(TOKEN_ACTIVITY, [coinType, limit])).map((row) => ({
      activityType: row.activity_type,
      txDigest: row.tx_digest,
      eventSeq: eventSeqOf(row),
      eventId: eventIdOf(row),
      position: row.position,
      checkpoint: row.position?.slice(0, -9),
      checkpointTimestamp: secondsOf(row.timestamp_ms),
      amount: row.amount,
      coinType: row.coin_type,
      decimals: decimals.get(coinType),
      fromAddress: row.from_address,
      toAddress: row.to_address,
      signer: row.signer,
      tokenObjectId: row.token_object_id,
    })),
  tokenBalance: async ({ coinType, owner }) => {
    const [row] = await run(TOKEN_BALANCE, [coinType, owner]);
    const [tokens = "0", grants = "0"] = [row?.token_balance, row?.grant_balance];
    return {
      owner,
      balance: String(BigInt(tokens) + BigInt(grants)),
      objectCount: row?.token_count,
      timelockBalance: grants,
      timelockCount: row?.grant_count,
      timelocksIncluded: row?.included,
      decimals: decimals.get(coinType),
    };
  },
  tokenObjects: async ({ coinType, owner, limit }) =>
    (await run(TOKEN_OBJECTS, [coinType, owner, limit])).map((row) => ({
      objectId: row.object_id,
      owner: row.owner,
      balance: row.balance,
      version: row.version,
      checkpoint: row.checkpoint,
    })),
  tokenHolders: async ({ coinType, limit }) =>
    (await run(TOKEN_HOLDERS, [coinType, limit])).map((row) => ({
      owner: row.owner,
      balance: row.total,
      timelockBalance: row.grant_balance,
      timelocksIncluded: row.included,
    })),
  tokenTimelocks: async ({ coinType, limit }) =>
    (await run(TOKEN_TIMELOCKS, [coinType, limit])).map((row) => ({
      objectId: row.object_id,
      owner: row.owner,
      funder: row.funder,
      releaseScheduleId: row.release_schedule_id,
      releaseCount: row.release_count,
      delayUntilFirstReleaseMs: row.delay_until_first_release_ms,
      periodBetweenReleasesMs: row.period_between_releases_ms,
      initialReleasePortionBps: row.initial_release_portion_bps,
      commencementTimestampMs: row.commencement_timestamp_ms,
      totalAmount: row.total_amount,
      tokensTransferred: row.tokens_transferred,
      leftBalance: row.left_balance,
      decimals: decimals.get(coinType),
    })),
  holderEvents: async ({ coinType, limit }) =>
    (await run(HOLDER_EVENTS, [coinType, limit])).map((row) => ({
      eventType: row.event_type,
      eventId: eventIdOf(row),
      position: row.position,
      holderId: row.holder_id,
      address: row.address,
      groupId: row.group_id,
      isFrozen: row.is_frozen,
      checkpointTimestamp: secondsOf(row.timestamp_ms),
    })),
  walletRoles: async ({ coinType }) => {
    const owners: { owner: string; roleBits: number; roles: string[] }[] = [];
    for (const { owner = "", role = "" } of await run(WALLET_ROLES, [coinType])) {
      let last = owners.at(-1);
      if (last?.owner !== owner) {
        last = { owner, roleBits: 0, roles: [] };
        owners.push(last);
      }
      last.roleBits |= bitOf(role);
      last.roles.push(role);
    }
    return owners;
  },
  roleEvents: async ({ coinType, limit }) =>
    (await run(ROLE_EVENTS, [coinType, limit])).map((row) => ({
      eventId: eventIdOf(row),
      position: row.position,
      owner: row.owner,
      role: row.role,
      roleBit: bitOf(row.role ?? ""),
      granted: row.granted,
      signer: row.signer,
      checkpointTimestamp: secondsOf(row.timestamp_ms),
    })),
  indexerStatus: async () =>
    (await run(INDEXER_STATUS, [])).slice(1).map(({ name, checkpoint, ms }) => ({
      pipeline: name,
      checkpoint,
      checkpointTimestamp: secondsOf(ms),
      ageSeconds: Math.max(0, Math.floor((Date.now() - Number(ms)) / 1_000)),
    })),
};

const server = fastify();
for (const [name, answer] of Object.entries(QUERIES)) {
  server.post<{ Body: { variables: Variables } }>(`/${name}`, async ({ body }) => ({
    data: { [name]: await answer(body.variables) },
  }));
}
// The channel closes when the launcher dies, however it dies.
process.on("disconnect", () => process.exit());
process.channel?.unref();
const url = await server.listen({ port: 0, host: "127.0.0.1" });
process.stdout.write(`${new URL(url).port}\n`);
